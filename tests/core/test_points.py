"""The data file: read into blocks, and refused where one byte is wrong."""

from io import BytesIO
from json import load as load_json

from data_files import block, data_file, finished, little
from support import raises, vector_path

from dcka_core.errors import CoreError, DataError
from dcka_core.points import load, new_points


def vectors(kind="files"):
    with open(vector_path("data_files.json")) as file:
        return load_json(file)[kind]


def file_of(n, bits, readings, **parts):
    return data_file(readings, n, bits, **parts)


def flat_points(points):
    return [value for block, _ in points.blocks for value in block]


def refusal(payload):
    return str(raises(CoreError, load, BytesIO(payload)))


def test_the_hand_made_files():
    for vector in vectors():
        payload = bytes.fromhex(vector["hex"])
        points = load(BytesIO(payload))
        assert points.n == vector["n"] and points.bits == vector["bits"], vector["name"]
        assert points.dataset.hex() == vector["dataset"], vector["name"]
        assert points.extents == vector["extents"], vector["name"]
        assert points.count == len(vector["points"]), vector["name"]
        assert flat_points(points) == [value for point in vector["points"] for value in point], vector["name"]
        assert points.digest == payload[-32:], vector["name"]
        assert points.decimals == vector["decimals"], vector["name"]
        made = {"dataset": points.dataset, "extents": points.extents, "decimals": points.decimals}
        assert file_of(points.n, points.bits, flat_points(points), **made) == payload


def test_the_long_files():
    for vector in vectors("long"):
        n, bits = vector["n"], vector["bits"]
        numbers = [
            (vector["multiply"] * i) % vector["modulo"] + vector["add"] for i in range(vector["count"] * n)
        ]
        extents = [] if bits == 32 else [(1 << bits) - 1] * n
        payload = file_of(n, bits, numbers, dataset=bytes.fromhex(vector["dataset"]), extents=extents)
        assert len(payload) == vector["size"] and payload[-32:].hex() == vector["sha256"], vector["name"]
        for points in (load(BytesIO(payload)), load(BytesIO(payload), lambda file=payload: BytesIO(file))):
            assert points.digest == payload[-32:] and points.count == vector["count"], vector["name"]
            assert [number for held, count in points.blocks for number in held[: count * n]] == numbers
        width = 4 if bits == 32 else 2
        per_block = points.per_block * n
        for number in range(len(vector["crcs"])):
            crc = block(numbers[number * per_block : (number + 1) * per_block], number, width)[-4:]
            assert crc == little([int(vector["crcs"][number], 16)], 4), vector["name"]


def test_a_file_of_version_1_is_refused():
    text = refusal(bytes.fromhex(vectors("version 1")))
    assert text == "a data file of version 1, and this firmware reads version 2: inject the data again"


def test_a_file_cut_at_any_byte_is_refused():
    for vector in vectors():
        payload = bytes.fromhex(vector["hex"])
        for size in range(len(payload)):
            refusal(payload[:size])


def test_a_file_with_any_byte_flipped_is_refused():
    for vector in vectors():
        payload = bytes.fromhex(vector["hex"])
        for place in range(len(payload)):
            for flip in (0x01, 0x80, 0xFF):
                damaged = bytearray(payload)
                damaged[place] ^= flip
                refusal(bytes(damaged))


def test_a_file_with_anything_behind_it_is_refused():
    for vector in vectors():
        assert "SHA-256" in refusal(bytes.fromhex(vector["hex"]) + b"\x00")


def test_a_foreign_file_is_refused():
    assert "not a data file" in refusal(file_of(1, 15, [1], magic=b"DCKe"))
    assert "version 3" in refusal(file_of(1, 15, [1], version=3))
    assert "cut" in refusal(b"")


def test_a_reading_beyond_the_bits_is_refused():
    for bits in (1, 13, 15):
        top = (1 << bits) - 1
        assert flat_points(load(BytesIO(file_of(1, bits, [0, top])))) == [0, top]
        text = refusal(file_of(1, bits, [0, top + 1]))
        assert str(top + 1) in text and str(bits) in text, text


def test_impossible_dimensions_and_bits_are_refused():
    assert "0 bits" in refusal(file_of(1, 0, [0]))
    assert "16 bits" in refusal(file_of(1, 16, [0]))
    assert "513 dimensions" in refusal(file_of(513, 11, [0] * 513))
    head = b"DCKd\x02\x0f" + little([0]) + bytes(4) + bytes(8)
    assert "0 dimensions" in refusal(finished(head))
    assert "31 bits" in refusal(file_of(1, 31, [0]))
    assert "10 decimals" in refusal(file_of(1, 32, [0], decimals=10))


def test_more_bits_than_a_distance_has_room_for_are_refused():
    """n·(2^b − 1)² < 2^31: beyond, a kernel's 32-bit distance wraps without a word."""
    for n, bits in ((3, 15), (9, 14), (33, 13), (129, 12), (512, 15)):
        assert load(BytesIO(file_of(n, bits - (4 if n == 512 else 1), [0] * n))).n == n
        assert str(bits) in refusal(file_of(n, bits, [0] * n)), (n, bits)


def test_blocks_stay_small():
    for n in (1, 3, 512):
        count = 4096 // n * 2 + 1
        points = load(BytesIO(file_of(n, 11, [number & 2047 for number in range(count * n)])))
        assert points.per_block == 4096 // n
        assert [held for _, held in points.blocks] == [4096 // n, 4096 // n, 1], n
        assert [len(block) for block, _ in points.blocks] == [held * n for _, held in points.blocks], n
        assert flat_points(points) == [number & 2047 for number in range(count * n)], n
        assert max([2 * len(block) for block, _ in points.blocks]) <= 8192


def test_a_count_that_the_file_does_not_hold_is_refused():
    assert "cut" in refusal(file_of(2, 15, [1, 2], count=4096 * 3))
    assert "cut" in refusal(file_of(2, 15, [1, 2], count=(1 << 32) - 1))
    assert "block 0 of data.bin is damaged (its CRC-32 is wrong)" in refusal(
        file_of(2, 15, [1, 2] * 40, count=20)
    )
    assert "SHA-256" in refusal(file_of(2, 15, [], count=0) + bytes(4))


def test_readings_are_whole_numbers_of_32_bits():
    numbers = [-(1 << 31), (1 << 31) - 1, 0, -1, 5, 6]
    points = load(BytesIO(file_of(3, 32, numbers, decimals=9)))
    assert (points.bits, points.decimals, points.extents) == (32, 9, []) and flat_points(points) == numbers
    assert new_points(3, 32, 0, b"", []).per_block == 2048 // 3
    damaged = bytearray(file_of(1, 32, list(range(2049))))
    damaged[-33] ^= 1
    assert "block 1 of readings.bin is damaged" in str(raises(DataError, load, BytesIO(bytes(damaged))))
