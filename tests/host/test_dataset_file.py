"""The data file of a node: byte by byte, there and back, and no changed byte goes unseen."""

import hashlib
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dcka.inject import data_file
from dcka.inject.errors import DataError
from dcka.inject.quantise import bits_for

points = st.tuples(st.integers(0, 20), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.uint16, shape, elements=st.integers(0, 2 ** bits_for(shape[1]) - 1))
)
NAME = bytes(range(8))


def full(found):
    """The widest extents that points of that many dimensions may have."""
    return [2 ** bits_for(found.shape[1]) - 1] * found.shape[1]


@given(points)
@settings(deadline=None)
def test_decode_is_the_inverse_of_encode(found):
    bits = bits_for(found.shape[1])
    data = data_file.encode(found, bits, full(found), NAME)
    back = data_file.decode(data)
    assert (back.bits, back.extents, back.dataset_id) == (bits, tuple(full(found)), NAME)
    assert back.points.dtype == np.uint16 and back.points.tolist() == found.tolist()
    assert data_file.verify(data) == data_file.checksum(data) == back.checksum


def test_a_file_by_hand():
    data = data_file.encode(np.array([[1, 258], [3, 4]], dtype=np.uint16), 15, [9, 300], NAME)
    points = bytes.fromhex("0100 0201 0300 0400")
    body = bytes.fromhex("44434b64 02 0f 0200 02000000 0001020304050607 0900 2c01") + points
    body += zlib.crc32(points).to_bytes(4, "little")
    assert data == body + hashlib.sha256(body).digest()


def test_a_node_without_points_has_a_file_too():
    data = data_file.encode(np.zeros((0, 2), dtype=np.uint16), 15, [9, 9], NAME)
    assert len(data) == 20 + 4 + 32 == data_file.file_bytes(15, 2, 0)
    assert data_file.decode(data).points.shape == (0, 2)


@given(points, st.data())
@settings(deadline=None)
def test_any_changed_byte_is_detected(found, draw):
    data = bytearray(data_file.encode(found, bits_for(found.shape[1]), full(found), NAME))
    place = draw.draw(st.integers(0, len(data) - 1))
    data[place] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(DataError):
        data_file.decode(bytes(data))


@given(points, st.data())
@settings(deadline=None)
def test_any_cut_and_any_tail_is_detected(found, draw):
    data = data_file.encode(found, bits_for(found.shape[1]), full(found), NAME)
    with pytest.raises(DataError, match="bytes"):
        data_file.decode(data[: draw.draw(st.integers(0, len(data) - 1))])
    with pytest.raises(DataError, match="bytes"):
        data_file.decode(data + draw.draw(st.binary(min_size=1, max_size=9)))


def of_one(bits, extent, point):
    """The body of a file of one point."""
    head = struct.pack("<4sBBHI8sH", b"DCKd", 2, bits, 1, 1, NAME, extent)
    return head + struct.pack("<HI", point, zlib.crc32(struct.pack("<H", point)))


def sealed(body):
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"DCKe" + struct.pack("<BBHI8sHH", 2, 15, 1, 1, NAME, 9, 9), "begins with"),
        (b"DCKd" + struct.pack("<BBHI8sHH", 1, 15, 1, 1, NAME, 9, 9), "version 1, .*inject the data again"),
        (b"DCKd" + struct.pack("<BBHI8sHH", 2, 15, 0, 1, NAME, 9, 9), "0 dimensions"),
        (of_one(14, 9, 9), "14 bits for 1 dimension:"),
        (of_one(15, 32768, 9), "extent of 32768"),
        (of_one(15, 9, 32768), "a point at 32768"),
        (of_one(15, 9, 9)[:-4] + bytes(4), "block 0 of a data file has a wrong CRC-32"),
        (
            struct.pack("<4sBBHI8sBiI", b"DCKd", 2, 32, 1, 1, NAME, 10, 0, zlib.crc32(bytes(4))),
            "of 10 decimals",
        ),
    ],
)
def test_a_sealed_file_that_breaks_a_rule_is_refused(body, words):
    with pytest.raises(DataError, match=words):
        data_file.decode(sealed(body))


def test_what_is_not_of_the_grid_is_not_encoded():
    with pytest.raises(DataError, match="need rows of that many uint16"):
        data_file.encode(np.zeros((2, 2)), 15, [9, 9], NAME)
    with pytest.raises(DataError, match="a point at 32768 does not fit 15 bits"):
        data_file.encode(np.full((1, 1), 32768, dtype=np.uint16), 15, [9], NAME)
    with pytest.raises(DataError, match="id of 3 bytes"):
        data_file.encode(np.zeros((1, 1), dtype=np.uint16), 15, [9], b"abc")


def test_verify_tells_a_whole_file_that_is_another():
    data = data_file.encode(np.zeros((1, 1), dtype=np.uint16), 15, [9], NAME)
    assert data_file.verify(data, data_file.checksum(data)) == data_file.checksum(data)
    with pytest.raises(DataError, match="the data set has 0000"):
        data_file.verify(data, "0" * 64)


def test_the_id_is_by_node_id_and_depends_on_every_part():
    one, two = np.array([[1], [2]], dtype=np.uint16), np.array([[3]], dtype=np.uint16)
    body = struct.pack("<IBHIH2H", 1, 15, 1, 2, 9, 1, 2) + struct.pack("<IBHIHH", 2, 15, 1, 1, 9, 3)
    expected = hashlib.sha256(body).digest()[:8]
    assert data_file.dataset_id({1: one, 2: two}, 15, [9]) == expected
    assert data_file.dataset_id({2: two, 1: one}, 15, [9]) == expected
    others = [
        data_file.dataset_id({1: two, 2: one}, 15, [9]),
        data_file.dataset_id({1: one, 3: two}, 15, [9]),
        data_file.dataset_id({1: one, 2: two}, 15, [10]),
        data_file.dataset_id({1: one[::-1], 2: two}, 15, [9]),
    ]
    assert len({expected, *others}) == 5


# ---- readings, and the vectors ----

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "data_files.json").read_text())


@given(
    st.tuples(st.integers(0, 9), st.integers(1, 5)).flatmap(lambda shape: arrays(np.int32, shape)),
    st.integers(0, 9),
)
@settings(deadline=None)
def test_readings_come_back_as_they_were(found, decimals):
    back = data_file.decode(data_file.encode_readings(found, decimals, NAME))
    assert (back.bits, back.extents, back.decimals, back.dataset_id) == (32, (), decimals, NAME)
    assert back.points.dtype == np.int32 and back.points.tolist() == found.tolist()


def test_what_are_no_readings_is_not_encoded():
    with pytest.raises(DataError, match="need rows of int32"):
        data_file.encode_readings(np.zeros((2, 2)), 0, NAME)
    with pytest.raises(DataError, match="of 10 decimals"):
        data_file.encode_readings(np.zeros((1, 1), np.int32), 10, NAME)


def encoded(vector, numbers):
    """The file and the id of a vector's numbers."""
    node, bits, extents = vector["node"], vector["bits"], vector.get("extents")
    if bits == 32:
        name = data_file.readings_id({node: numbers}, vector.get("decimals", 0))
        return data_file.encode_readings(numbers, vector.get("decimals", 0), name), name
    extents = extents or [2**bits - 1] * vector["n"]
    name = data_file.dataset_id({node: numbers}, bits, extents)
    return data_file.encode(numbers, bits, extents, name), name


@pytest.mark.parametrize("vector", VECTORS["files"], ids=lambda vector: vector["name"])
def test_the_vectors(vector):
    form = np.int32 if vector["bits"] == 32 else np.uint16
    numbers = np.array(vector["points"], dtype=form).reshape(-1, vector["n"])
    file, name = encoded(vector, numbers)
    assert (file.hex(), name.hex()) == (vector["hex"], vector["dataset"])
    assert len(file) == data_file.file_bytes(vector["bits"], *numbers.shape[::-1])


@pytest.mark.parametrize("vector", VECTORS["long"], ids=lambda vector: vector["name"])
def test_the_long_vectors(vector):
    rows, dimensions = vector["count"], vector["n"]
    numbers = (
        vector["multiply"] * np.arange(rows * dimensions, dtype=np.int64) % vector["modulo"] + vector["add"]
    )
    form = np.int32 if vector["bits"] == 32 else np.uint16
    file, name = encoded(vector, numbers.reshape(rows, dimensions).astype(form))
    assert (len(file), file[-32:].hex(), name.hex()) == (vector["size"], vector["sha256"], vector["dataset"])
    assert len(file) == data_file.file_bytes(vector["bits"], dimensions, rows)
    assert data_file.decode(file).points.tolist() == numbers.reshape(rows, dimensions).tolist()
