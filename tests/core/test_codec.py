"""Varints and sets as bytes: what is written is read, and whatever is not exact is refused."""

from support import raises

from dcka_core.codec import Reader, put_set, put_varint
from dcka_core.errors import MessageError
from dcka_core.starts import Stream

ANY = (1 << 64) - 1
# Both ends of every length, powers of two and their neighbours.
NUMBERS = [0, 1, 2, 255, 256, 300, ANY] + [
    edge for group in range(1, 10) for edge in ((1 << 7 * group) - 1, 1 << 7 * group)
]


def varint(value):
    out = bytearray()
    put_varint(out, value)
    return bytes(out)


def coded_set(members):
    out = bytearray()
    put_set(out, members)
    return bytes(out)


def reason(function, *args):
    return raises(MessageError, function, *args).reason


def test_known_varints():
    known = {0: "00", 1: "01", 127: "7f", 128: "8001", 300: "ac02", 16383: "ff7f", 16384: "808001"}
    for value in known:
        assert varint(value).hex() == known[value], value


def test_a_varint_is_read_as_it_was_written():
    for value in NUMBERS:
        reader = Reader(varint(value))
        assert reader.varint(ANY) == value
        reader.end()


def test_a_varint_cut_anywhere_is_refused():
    for value in NUMBERS:
        whole = varint(value)
        for size in range(len(whole)):
            assert reason(Reader(whole[:size]).varint, ANY) == "length", (value, size)


def test_a_varint_above_its_limit_is_refused():
    for value in NUMBERS:
        assert Reader(varint(value)).varint(value) == value
        if value:
            assert reason(Reader(varint(value)).varint, value - 1) == "value", value


def test_only_the_shortest_form_of_a_varint_is_read():
    for value in (0, 1, 127, 128, 300, 1 << 40):
        whole = bytearray(varint(value))
        whole[-1] |= 0x80
        longer = bytes(whole) + b"\x00"
        assert reason(Reader(longer).varint, ANY) == "value", value


def test_a_varint_has_ten_bytes_at_most():
    assert len(varint(ANY)) == 10
    assert reason(Reader(b"\xff" * 10 + b"\x01").varint, ANY) == "value"
    assert reason(Reader(b"\xff" * 9 + b"\x02").varint, ANY) == "value"


def test_known_sets():
    known = {
        0: "00",
        1: "010001",
        0b111: "010003",
        0b1000: "010301",
        0b1101: "0200010102",
        1 << 200: "01c80101",
    }
    for members in known:
        assert coded_set(members).hex() == known[members], members


def test_a_set_is_read_as_it_was_written():
    for size in range(1, 8):
        for members in range(1 << size):
            reader = Reader(coded_set(members))
            assert reader.set(size) == members
            reader.end()


def test_a_large_set_is_read_as_it_was_written():
    stream = Stream(1, b"sets")
    for size in (31, 64, 300):
        for _ in range(10):
            members = 0
            for index in range(size):
                members |= stream.below(2) << index
            assert Reader(coded_set(members)).set(size) == members, (size, members)


def test_a_subtree_is_one_range_and_a_missing_node_makes_two():
    everyone = (1 << 100) - 1
    assert len(coded_set(everyone)) == 3
    assert len(coded_set(everyone & ~(1 << 50))) == 5


def test_a_set_cut_anywhere_is_refused():
    for members in range(1, 64):
        whole = coded_set(members)
        for size in range(len(whole)):
            assert reason(Reader(whole[:size]).set, 6) == "length", (members, size)


def test_a_member_beyond_the_network_is_refused():
    for size in range(1, 9):
        reader = Reader(coded_set(1 << size))
        assert reason(reader.set, size) == "value", size


def test_a_set_has_one_form_only():
    # An empty range; two ranges that touch; a range of no length at the end; more ranges than nodes.
    for wrong in ("010000", "0200010001", "0200010100", "09" + "0001" * 9):
        assert reason(Reader(bytes.fromhex(wrong)).set, 8) == "value", wrong


def test_whatever_bytes_make_a_set_are_the_ones_it_is_written_as():
    stream = Stream(2, b"bytes")
    read = 0
    for _ in range(400):
        payload = bytes([stream.below(4) for _ in range(5)])
        reader = Reader(payload)
        try:
            members = reader.set(6)
        except MessageError:
            continue
        read += 1
        assert coded_set(members) == payload[: reader.position], payload
    assert read > 20, read


def test_take_and_integer_read_exactly():
    reader = Reader(b"abc\x01\x02\x03")
    assert bytes(reader.take(3)) == b"abc"
    assert reader.integer(3) == 0x030201
    reader.end()
    assert reason(reader.byte) == "length"
    assert reason(Reader(b"ab").take, 3) == "length"
    assert reason(Reader(b"ab").integer, 3) == "length"


def test_nothing_may_be_left_over():
    reader = Reader(b"ab")
    reader.byte()
    assert reason(reader.end) == "length"


def test_a_reader_goes_back_to_where_it_was():
    reader = Reader(varint(300) + varint(5))
    place = reader.position
    assert reader.varint(ANY) == 300
    reader.rewind(place)
    assert reader.varint(ANY) == 300
    assert reader.varint(ANY) == 5


def test_a_memoryview_is_read_as_bytes_are():
    reader = Reader(memoryview(varint(300) + b"xy"))
    assert reader.varint(ANY) == 300
    assert bytes(reader.take(2)) == b"xy"
    reader.end()
