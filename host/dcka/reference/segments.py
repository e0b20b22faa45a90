"""The readings in a node's segment files, by the format alone (docs/sensors.md), with nothing of the node's code.

What a power cut has left behind is passed over: a segment ends at the first frame that is not whole.
"""

import struct
import zlib
from collections.abc import Iterable

import numpy as np

from dcka.reference.arrays import IntArray

_HEAD = struct.Struct("<4sBBHIIIi")
_FRAME = struct.Struct("<HHi")
_CRC = 4


def segment_readings(segments: Iterable[bytes], columns: str) -> IntArray:
    """(m, 1 + n): time and values of each reading of these columns ("temperature/2 humidity/1"), as they were taken.

    `segments`: the files' content, in any order.
    """
    found: dict[int, list[list[int]]] = {}
    n = len(columns.split())
    for content in segments:
        head = _head(content)
        if head is not None and head[2] == columns:
            found[head[0]] = _rows(content, head[1], n)
    rows = [row for number in sorted(found) for row in found[number]]
    return np.array(rows, dtype=np.int64).reshape(-1, 1 + n)


def _head(content: bytes) -> tuple[int, int, str] | None:
    """(number, where the first frame begins, columns); None for what is no segment."""
    if len(content) < _HEAD.size:
        return None
    magic, version, _, text, number, *_ = _HEAD.unpack_from(content)
    end = _HEAD.size + text
    if magic != b"DCKs" or version != 1 or len(content) < end + _CRC:
        return None
    if zlib.crc32(content[:end]) != int.from_bytes(content[end : end + _CRC], "little"):
        return None
    return number, end + _CRC, content[_HEAD.size : end].decode()


def _rows(content: bytes, at: int, n: int) -> list[list[int]]:
    rows: list[list[int]] = []
    while at + _FRAME.size <= len(content):
        size, count, _ = _FRAME.unpack_from(content, at)
        end = at + _FRAME.size + size
        # The checksum begins with the place: a frame is good nowhere else.
        if not size or zlib.crc32(content[at:end], at) != int.from_bytes(content[end : end + _CRC], "little"):
            break
        rows += _body(content[at + _FRAME.size : end], count, n)
        at = end + _CRC
    return rows


def _body(body: bytes, count: int, n: int) -> list[list[int]]:
    """Differences of a reading to the one before, of the first to 0: zigzag, in seven bits a byte, the lowest first."""
    words: list[int] = []
    word = shift = 0
    for byte in body:
        word |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            words.append(word // 2 if word % 2 == 0 else -(word + 1) // 2)
            word = shift = 0
    table = np.array(words, dtype=np.int64).reshape(count, 1 + n)
    rows: list[list[int]] = np.cumsum(table, axis=0).tolist()
    return rows
