"""Laws of the core's codecs, records and data files on inputs drawn by hypothesis: tests/core's loops, wider."""

import json
from fractions import Fraction
from io import BytesIO
from typing import Any

from data_files import data_file
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dcka_core import ticks
from dcka_core.actions import APPEND
from dcka_core.codec import Reader, put_set, put_varint
from dcka_core.errors import CoreError, MessageError
from dcka_core.grid import bits_for
from dcka_core.intake import Intake
from dcka_core.lloyd import assign, update_centres
from dcka_core.messages import read_commit
from dcka_core.points import load
from dcka_core.record import Run, read_rows, read_run
from dcka_core.tree_messages import read_up

laws = settings(derandomize=True, deadline=None, max_examples=200)
ANY = 2**64 - 1

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


# ---- codec and clock ----


@laws
@given(st.integers(0, ANY))
def test_a_varint_is_read_as_it_was_written(value: int) -> None:
    out = bytearray()
    put_varint(out, value)
    reader = Reader(bytes(out))
    assert reader.varint(ANY) == value
    reader.end()


@laws
@given(st.sets(st.integers(0, 400), max_size=40))
def test_a_set_is_read_as_it_was_written(members: set[int]) -> None:
    mask = sum(1 << index for index in members)
    out = bytearray()
    put_set(out, mask)
    reader = Reader(bytes(out))
    assert reader.set(401) == mask
    reader.end()


@laws
@given(st.binary(max_size=20), st.integers(1, 30))
def test_bytes_that_make_a_set_or_a_number_are_the_ones_it_is_written_as(payload: bytes, size: int) -> None:
    for read, put in (
        (lambda reader: reader.set(size), put_set),
        (lambda reader: reader.varint(ANY), put_varint),
    ):
        reader = Reader(payload)
        try:
            value = read(reader)
        except MessageError:
            continue
        out = bytearray()
        put(out, value)
        assert bytes(out) == payload[: reader.position]


@laws
@given(st.integers(0, ticks.PERIOD - 1), st.integers(1 - 2**29, 2**29 - 1), st.integers(1 - 2**29, 2**29 - 1))
def test_moments_move_on_as_whole_numbers_do(start: int, first: int, second: int) -> None:
    end = ticks.add(start, first)
    assert ticks.diff(end, start) == first
    assert ticks.add(end, second) == (start + first + second) % ticks.PERIOD
    assert ticks.earliest(start, end) == (start if first >= 0 else end)


# ---- messages ----


def a_run(kind: str = "tree", n: int = 2, k: int = 3) -> dict[str, Any]:
    return {
        "v": 1,
        "run": 7,
        "kind": kind,
        "members": [3, 1, 2],
        "root": 3,
        "depth": 2,
        "dataset": bytes(8).hex(),
        "points": 90,
        "n": n,
        "bits": 13,
        "k": k,
        "init": "shared",
        "seed": 1,
        "max_steps": 9,
        "patience_ms": 100,
        "slots": 0,
        "max_slots": 9,
        "window": 1,
        "tolerance": 0,
    }


@laws
@given(st.sampled_from(["tree", "gossip"]), st.integers(0, 3), st.binary(max_size=60))
def test_noise_is_no_message_or_exactly_one(kind: str, sender: int, body: bytes) -> None:
    run = read_run(a_run(kind, n=1, k=1))
    for first, read in ((0x11, read_up), (0x12, read_commit)):
        payload = bytes([first, 7, sender]) + body
        try:
            message: Any = read(payload, run)
        except MessageError:
            continue
        assert bytes(message.encode(run)) == payload


# ---- records ----


@laws
@given(st.sampled_from(["tree", "gossip"]), st.sampled_from(sorted(a_run())), json_values)
def test_a_record_with_anything_in_one_place_is_read_or_refused(kind: str, key: str, value: Any) -> None:
    record = a_run(kind)
    record[key] = value
    try:
        run = read_run(json.loads(json.dumps(record)))
    except CoreError as error:
        assert "\n" not in str(error)
        return
    assert isinstance(run, Run)


@laws
@given(
    st.sampled_from(["v", "run", "near", "parent", "children", "phases"]),
    json_values | st.lists(st.fixed_dictionaries({"share": json_values, "hear": json_values}), max_size=3),
)
def test_rows_with_anything_in_one_place_are_read_or_refused(key: str, value: Any) -> None:
    rows: dict[str, Any] = {"v": 1, "run": 7, "near": [1], "parent": 1, "children": []}
    rows[key] = value
    try:
        read = read_rows(json.loads(json.dumps(rows)))
    except CoreError as error:
        assert "\n" not in str(error)
        return
    for shares, _ in read.phases:
        assert sum(Fraction(count, divisor) for divisor, count in shares) < 1


# ---- data ----


@st.composite
def data_files(draw: Any) -> tuple[bytes, int, list[int]]:
    """(file, n, readings)."""
    n = draw(st.sampled_from([1, 2, 3, 9, 600 // 2]))
    bits = bits_for(n)
    count = draw(st.integers(0, 3 if n > 9 else 20))
    readings = draw(st.lists(st.integers(0, 2**bits - 1), min_size=count * n, max_size=count * n))
    return data_file(readings, n, bits), n, readings


@laws
@given(data_files(), st.data())
def test_a_data_file_is_read_whole_or_refused(made: tuple[bytes, int, list[int]], data: Any) -> None:
    file, n, readings = made
    points = load(BytesIO(file))
    assert (points.n, points.count) == (n, len(readings) // n)
    assert [value for block, _ in points.blocks for value in block] == readings
    place = data.draw(st.integers(0, len(file) - 1))
    damaged = bytearray(file)
    damaged[place] ^= data.draw(st.integers(1, 255))
    for wrong in (bytes(damaged), file[:place], file + b"\0"):
        try:
            load(BytesIO(wrong))
        except CoreError:
            continue
        raise AssertionError(f"a damaged file was read: {place}")


@laws
@given(data_files(), st.integers(1, 4), st.data())
def test_a_step_is_the_sum_over_the_points(made: tuple[bytes, int, list[int]], k: int, data: Any) -> None:
    file, n, readings = made
    assume(n <= 9)
    top = 2 ** bits_for(n) - 1
    centres = data.draw(st.lists(st.integers(0, top), min_size=k * n, max_size=k * n))
    sums, ssd = assign(load(BytesIO(file)), centres, k)
    rows = [sums[start : start + n + 1] for start in range(0, len(sums), n + 1)]
    assert sum(row[0] for row in rows) == len(readings) // n
    for j in range(n):
        assert sum(row[1 + j] for row in rows) == sum(readings[j::n])
    after = update_centres(sums, k, n, centres)
    assert all(0 <= value <= top for value in after)
    assert assign(load(BytesIO(file)), after, k)[1] <= ssd


# ---- transfer ----


@laws
@given(st.integers(0, 40), st.integers(1, 70), st.lists(st.integers(0, 200), max_size=40), st.randoms())
def test_chunks_in_any_order_make_the_whole_file_or_none(
    points: int, size: int, order: list[int], chance: Any
) -> None:
    file = data_file([chance.randrange(1 << 15) for _ in range(points)], 1)
    offsets = list(range(0, len(file), size))
    intake = Intake()
    aside = b""
    for place in [index % len(offsets) for index in order] + list(range(len(offsets))):
        chunk = bytearray(b"\x15\x01\x00\x00\x00")
        put_varint(chunk, len(file))
        put_varint(chunk, offsets[place])
        actions, _ = intake.take(bytes(chunk) + file[offsets[place] : offsets[place] + size])
        for action in actions:
            if action[0] == APPEND:
                aside = (aside if action[3] else b"") + action[2]
            else:
                assert aside == file
                assert intake.finish("")["done"]
    assert aside == file
