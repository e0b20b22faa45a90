"""The data file: read into blocks, and refused where one byte is wrong."""

from hashlib import sha256
from io import BytesIO
from json import load as load_json

from support import raises, vector_path

from dcka_core.errors import CoreError
from dcka_core.points import load


def vectors():
    with open(vector_path("data_files.json")) as file:
        return load_json(file)["files"]


def two_bytes(values):
    return b"".join([value.to_bytes(2, "little") for value in values])


def file_of(n, bits, readings, extents=None, magic=b"DCKd", version=1, count=None):
    """A data file with its digest right."""
    body = magic + bytes([version, bits]) + two_bytes([n])
    body += (len(readings) // n if count is None else count).to_bytes(4, "little") + bytes(8)
    body += two_bytes(extents or [0] * n) + two_bytes(readings)
    return body + sha256(body).digest()


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
        assert file_of(points.n, points.bits, flat_points(points), points.extents)[:12] == payload[:12]


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
    assert "version" in refusal(file_of(1, 15, [1], version=2))
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
    head = b"DCKd\x01\x0f" + two_bytes([0]) + bytes(4) + bytes(8)
    assert "0 dimensions" in refusal(head + sha256(head).digest())


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
    assert "SHA-256" in refusal(file_of(2, 15, [1, 2] * 40, count=20))
