"""A node's data set: the data file of the protocol's section 6, checked, and kept in memory or read block by block."""

from array import array
from binascii import crc32
from hashlib import sha256

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedIOBase
    from typing import Any

    from dcka_core.blocks import FileBlocks
    from dcka_core.lloyd import Kernel, Plan

    Blocks = list[tuple[array[int], int]] | FileBlocks

_HEADER = 20
_TRAILER = 32
# What is asked for in one piece: a fragmented heap refuses more.
_BLOCK_BYTES = 8192
# In the place of the bits: readings that are not on a grid.
READINGS = 32


class Points:
    """Readings in blocks of at most 8 KB: on the grid, or (`bits` 32) as they were read.

    n, bits, count (points), dataset (8 bytes), digest (SHA-256 of the file), per_block (points in a full block).
    extents: n integers; none for readings, which have decimals instead (a reading is a number times 10^-decimals).
    blocks: for each block (array, count), the array 'H' (readings: 'i') with at least count·n numbers: a list, or a
    `FileBlocks`, whose arrays are one and the same. kernel: what works on them, where that is not left to the node;
    plan: what the node chose at its first step (kernels.plan). No methods, so that a node can drop this file once it
    has loaded its data.
    """

    n: int
    bits: int
    count: int
    dataset: bytes
    extents: "list[int]"
    decimals: int
    digest: bytes
    per_block: int
    blocks: "Blocks"
    kernel: "Kernel | None"
    plan: "Plan | None"


def new_points(
    n: int, bits: int, count: int, dataset: bytes, extents: "list[int]", decimals: int = 0
) -> Points:
    """Points without their blocks."""
    points = Points()
    points.n = n
    points.bits = bits
    points.count = count
    points.dataset = dataset
    points.extents = extents
    points.decimals = decimals
    points.digest = b""
    points.per_block = _BLOCK_BYTES // (n * (4 if bits == READINGS else 2))
    points.blocks = []
    points.kernel = None
    points.plan = None
    return points


def load(
    stream: "BufferedIOBase", again: "Callable[[], BufferedIOBase] | None" = None, room: int = 0
) -> Points:
    """Read a data file from its first byte to its last.

    again: opens the same file at its first byte. With it, points that take more than `room` bytes and more than one
    block stay in the file. Raises CoreError where the file is cut, damaged, of another version, or holds a reading
    beyond its bits; DataError where that is told of a block.
    """
    digest = sha256()
    points, start = _head(stream, digest)
    width = 4 if points.bits == READINGS else 2
    if again and points.count > points.per_block and points.count * points.n * width > room:
        from dcka_core.blocks import FileBlocks

        blocks = FileBlocks(again, start, points.n, width, points.count, points.per_block)
        points.blocks = blocks
        for number in range(len(blocks)):
            block, here = blocks.read(stream, number)
            digest.update(blocks.view(number))
            _require_bits(memoryview(block)[: here * points.n], points.bits, number)
    else:
        points.blocks = _all(stream, points, width, digest)
    total: bytes = digest.digest()
    points.digest = total
    if stream.read(_TRAILER + 1) != total:
        raise CoreError("the data file is damaged: its SHA-256 is not the one at its end")
    return points


def _head(stream: "BufferedIOBase", digest: "Any") -> "tuple[Points, int]":
    """The points without their blocks, and where the first block begins."""
    head = _exactly(stream, _HEADER, digest)
    if head[:4] != b"DCKd":
        raise CoreError("not a data file")
    if head[4] != 2:
        raise CoreError(
            "a data file of version %d, and this firmware reads version 2: inject the data again" % head[4]
        )
    bits = head[5]
    n = int.from_bytes(head[6:8], "little")
    count = int.from_bytes(head[8:12], "little")
    sound = bits == READINGS or (1 <= bits <= 15 and n * ((1 << bits) - 1) ** 2 < 1 << 31)
    if not 1 <= n <= 512 or not sound:
        raise CoreError("%d dimensions of %d bits" % (n, bits))
    size = 1 if bits == READINGS else 2 * n
    raw = _exactly(stream, size, digest)
    extents: list[int] = []
    decimals = 0
    if bits != READINGS:
        extents = [int.from_bytes(raw[2 * j : 2 * j + 2], "little") for j in range(n)]
    elif raw[0] > 9:
        raise CoreError("%d decimals: 0 to 9 are possible" % raw[0])
    else:
        decimals = raw[0]
    return new_points(n, bits, count, bytes(head[12:20]), extents, decimals), _HEADER + size


def _all(
    stream: "BufferedIOBase", points: Points, width: int, digest: "Any"
) -> "list[tuple[array[int], int]]":
    """Every block in an array of its own: every board and desktop here is little-endian."""
    blocks: list[tuple[array[int], int]] = []
    left = points.count
    while left:
        here = min(left, points.per_block)
        block = array("i" if width == 4 else "H", bytes(width * here * points.n))
        if stream.readinto(block) != width * here * points.n:
            raise CoreError("the data file is cut short")
        digest.update(block)
        number = len(blocks)
        if int.from_bytes(_exactly(stream, 4, digest), "little") != crc32(block, number):
            from dcka_core.blocks import WRONG, damaged

            raise damaged(width, number, WRONG)
        _require_bits(block, points.bits, number)
        blocks.append((block, here))
        left -= here
    return blocks


def _exactly(stream: "BufferedIOBase", size: int, digest: "Any") -> bytes:
    piece: bytes = stream.read(size)
    if len(piece) != size:
        raise CoreError("the data file is cut short")
    digest.update(piece)
    return piece


def _require_bits(block: "Any", bits: int, number: int) -> None:
    if bits != READINGS and max(block) >> bits:
        from dcka_core.blocks import damaged

        raise damaged(2, number, "a reading of %d is beyond %d bits" % (max(block), bits))
