"""A node's data set: the data file of the protocol's section 6, read into blocks that a fragmented heap can hold."""

from array import array
from hashlib import sha256

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedIOBase

    from dcka_core.lloyd import Kernel, Plan

_MAGIC = b"DCKd"
_HEADER = 20
_TRAILER = 32
# Numbers in a block: 8 KB, the most that is asked for in one piece (a fragmented heap refuses more).
_BLOCK_NUMBERS = 4096


class Points:
    """Readings on the grid, in blocks of at most 8 KB.

    n, bits, count (points), dataset (8 bytes), extents (n integers), digest (SHA-256 of the file), per_block (points in
    a full block), blocks: list of (array('H') of count·n numbers, count). kernel: what works on them, where that is not
    left to the node; plan: what the node chose at its first step (kernels.plan). No methods, so that a node can drop
    this file once it has loaded its data.
    """

    n: int
    bits: int
    count: int
    dataset: bytes
    extents: "list[int]"
    digest: bytes
    per_block: int
    blocks: "list[tuple[array[int], int]]"
    kernel: "Kernel | None"
    plan: "Plan | None"


def new_points(n: int, bits: int, count: int, dataset: bytes, extents: "list[int]") -> Points:
    """Points without their blocks."""
    points = Points()
    points.n = n
    points.bits = bits
    points.count = count
    points.dataset = dataset
    points.extents = extents
    points.digest = b""
    points.per_block = _BLOCK_NUMBERS // n
    points.blocks = []
    points.kernel = None
    points.plan = None
    return points


def load(stream: "BufferedIOBase") -> Points:
    """Read a data file from its first byte to its last.

    Raises CoreError where it is cut, damaged, of another version, or holds a reading beyond its bits.
    """
    digest = sha256()
    head = _exactly(stream, _HEADER, digest)
    if head[:4] != _MAGIC or head[4] != 1:
        raise CoreError("not a data file of version 1")
    bits = head[5]
    n = int.from_bytes(head[6:8], "little")
    count = int.from_bytes(head[8:12], "little")
    if not 1 <= n <= 512 or not 1 <= bits <= 15 or n * ((1 << bits) - 1) ** 2 >= 1 << 31:
        raise CoreError("%d dimensions of %d bits" % (n, bits))
    raw = _exactly(stream, 2 * n, digest)
    extents = [int.from_bytes(raw[2 * j : 2 * j + 2], "little") for j in range(n)]
    points = new_points(n, bits, count, bytes(head[12:20]), extents)
    left = count
    while left:
        here = min(left, points.per_block)
        points.blocks.append((_block(stream, here * n, bits, digest), here))
        left -= here
    total: bytes = digest.digest()
    points.digest = total
    if stream.read(_TRAILER + 1) != total:
        raise CoreError("the data file is damaged: its SHA-256 is not the one at its end")
    return points


def _exactly(stream: "BufferedIOBase", size: int, digest: "object") -> bytes:
    piece: bytes = stream.read(size)
    if len(piece) != size:
        raise CoreError("the data file is cut short")
    digest.update(piece)  # type: ignore[attr-defined]
    return piece


def _block(stream: "BufferedIOBase", numbers: int, bits: int, digest: "object") -> "array[int]":
    """`numbers` little-endian u16, read straight into place: every board and desktop here is little-endian."""
    block = array("H", bytes(2 * numbers))
    if stream.readinto(block) != 2 * numbers:
        raise CoreError("the data file is cut short")
    digest.update(block)  # type: ignore[attr-defined]
    if max(block) >> bits:
        raise CoreError("a reading of %d is beyond %d bits" % (max(block), bits))
    return block
