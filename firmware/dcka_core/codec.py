"""Bytes of the binary messages: varints, sets as ranges, a reader that refuses whatever is not exact."""

from dcka_core.errors import MessageError


def put_varint(out: bytearray, value: int) -> None:
    """Append `value` >= 0 as unsigned LEB128."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def put_signed(out: bytearray, value: int) -> None:
    """Append a whole number of either sign: zigzag, then as a varint."""
    put_varint(out, 2 * value if value >= 0 else -2 * value - 1)


def put_set(out: bytearray, members: int) -> None:
    """Append a set of indices, given as a bit mask, as ranges (protocol, section 4)."""
    lengths = []
    while members:
        for bit in (0, 1):
            length = 0
            # Sixteen at a time: a shift of a thousand nodes' mask copies it.
            for width in (16, 1):
                ones = (1 << width) - 1
                while members and members & ones == ones * bit:
                    members >>= width
                    length += width
            lengths.append(length)
    put_varint(out, len(lengths) // 2)
    for length in lengths:
        put_varint(out, length)


class Reader:
    """Reads a message from its first byte to its last; every fault is a MessageError."""

    def __init__(self, payload: "bytes | memoryview") -> None:
        self._payload = payload
        self._at = 0

    @property
    def position(self) -> int:
        """How many bytes have been read."""
        return self._at

    def rewind(self, position: int) -> None:
        """Go back to `position`."""
        self._at = position

    def byte(self) -> int:
        if self._at >= len(self._payload):
            raise MessageError("length")
        value = self._payload[self._at]
        self._at += 1
        return value

    def varint(self, limit: int) -> int:
        """The next varint; 'value' where it is above `limit` or not in shortest form."""
        payload = self._payload
        at = self._at
        value = shift = 0
        while True:
            if at >= len(payload):
                raise MessageError("length")
            digit = payload[at]
            at += 1
            value |= (digit & 0x7F) << shift
            if digit < 0x80:
                break
            shift += 7
            if shift > 63:
                raise MessageError("value")
        self._at = at
        if value > limit or (shift and not digit):
            raise MessageError("value")
        return value

    def signed(self) -> int:
        """The next number that `put_signed` wrote."""
        value = self.varint((1 << 64) - 1)
        return -(value + 1 >> 1) if value & 1 else value >> 1

    def take(self, count: int) -> "bytes | memoryview":
        """The next `count` bytes."""
        end = self._at + count
        if end > len(self._payload):
            raise MessageError("length")
        piece = self._payload[self._at : end]
        self._at = end
        return piece

    def integer(self, width: int) -> int:
        """The next little-endian integer of `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def set(self, size: int) -> int:
        """The next set of indices below `size`, as a bit mask."""
        members = position = 0
        for nth in range(self.varint(size)):
            gap = self.varint(size)
            length = self.varint(size)
            if length == 0 or (nth and gap == 0) or position + gap + length > size:
                raise MessageError("value")
            position += gap
            members |= ((1 << length) - 1) << position
            position += length
        return members

    def end(self) -> None:
        """Nothing may be left over."""
        if self._at != len(self._payload):
            raise MessageError("length")
