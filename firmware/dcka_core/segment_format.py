"""The bytes of a segment, read: its head, its frames, the readings in a frame. docs/sensors.md has the table."""

from binascii import crc32
from struct import unpack_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator
    from typing import Any

MAGIC = b"DCKs"
VERSION = 1
# magic, version, columns, bytes of their text, number, readings and syncs before it, greatest time before it
HEAD = "<4sBBHIIIi"
HEAD_BYTES = 24
# bytes of the readings, their number, the greatest time so far in all segments
FRAME = "<HHi"
FRAME_BYTES = 8
CRC_BYTES = 4
# The readings of one frame: some 100 of two columns. The largest reading, of 32 columns, has 165.
BODY_BYTES = 512
# What CRC-32 gives over anything with its own CRC-32 behind it, whatever the start value.
SOUND = 0x2144DF1C


def read_head(stream: "Any") -> "tuple[Any, ...] | None":
    """(magic, version, n, bytes of text, number, readings and syncs before, greatest time before, text) of a segment
    at whose first byte the stream is, which stands behind its head then; None where it has no sound head.
    """
    head = bytearray(HEAD_BYTES)
    if stream.readinto(head) != HEAD_BYTES:
        return None
    told = unpack_from(HEAD, head, 0)
    if told[0] != MAGIC or told[1] != VERSION:
        return None
    rest = bytearray(told[3] + CRC_BYTES)
    if stream.readinto(rest) != len(rest) or crc32(rest, crc32(head)) != SOUND:
        return None
    return told + (bytes(rest[:-CRC_BYTES]),)


def next_frame(stream: "Any", frame: bytearray, at: int) -> int:
    """Read the frame at which the stream is, at byte `at` of its segment: its bytes, 0 where there is no sound one."""
    view = memoryview(frame)
    try:
        if stream.readinto(view[:FRAME_BYTES]) != FRAME_BYTES:
            return 0
        body = frame[0] | frame[1] << 8
        size = FRAME_BYTES + body + CRC_BYTES
        if not 0 < body <= BODY_BYTES or stream.readinto(view[FRAME_BYTES:size]) != body + CRC_BYTES:
            return 0
    except OSError:
        return 0
    return size if crc32(view[:size], at) == SOUND else 0


def rows(
    body: "bytes | bytearray", at: int, end: int, row: "array[int]", since_s: int, until_s: int
) -> "Iterator[array[int]]":
    """The readings of a frame's body, in `row`, one after the other."""
    width = len(row)
    for index in range(width):
        row[index] = 0
    while at < end:
        for index in range(width):
            # Most differences have one byte.
            byte = body[at]
            at += 1
            word = byte & 0x7F
            shift = 7
            while byte >= 0x80:
                byte = body[at]
                at += 1
                word |= (byte & 0x7F) << shift
                shift += 7
            row[index] += -(word + 1 >> 1) if word & 1 else word >> 1
        if since_s <= row[0] < until_s:
            yield row
