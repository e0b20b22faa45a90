"""Readings to the data file of their points, piece by piece: neither of them has to fit into memory."""

from array import array
from binascii import crc32
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcka_core.points import Points
    from dcka_core.survey_grid import SurveyGrid

# Of a data file (protocol, section 6): bytes of a block, all but its CRC-32.
_BLOCK_BYTES = 8192
# Numbers that are quantised at a time.
_PIECE_NUMBERS = 256


def data_file(readings: "Points", grid: "SurveyGrid") -> "Iterator[bytes | memoryview[int]]":
    """The pieces of the data file of these readings' points; each is good until the next is asked for.

    Raises DataError where a block of the readings is damaged.
    """
    n = readings.n
    digest = sha256()
    head = bytearray(b"DCKd\x02")
    head.append(grid.bits)
    for number, size in ((n, 2), (readings.count, 4)):
        head.extend(number.to_bytes(size, "little"))
    head.extend(grid.dataset(readings.dataset))
    for extent in grid.extents:
        head.extend(extent.to_bytes(2, "little"))
    digest.update(head)
    yield bytes(head)
    out = array("H", bytes(2 * max(n, _PIECE_NUMBERS)))
    per_block = left = _BLOCK_BYTES // (2 * n)
    number = check = 0
    for block, count in readings.blocks:
        first = 0
        while first < count:
            size = min(count - first, left, len(out) // n)
            grid.quantise(block, first, size, out)
            piece = memoryview(out)[: size * n]
            check = crc32(piece, check)
            digest.update(piece)
            yield piece
            first += size
            left -= size
            if not left:
                yield _closed(check, digest)
                number += 1
                left, check = per_block, number
    if left < per_block:
        yield _closed(check, digest)
    yield digest.digest()


def _closed(check: int, digest: "object") -> bytes:
    """The CRC-32 that ends a block."""
    end = check.to_bytes(4, "little")
    digest.update(end)  # type: ignore[attr-defined]
    return end
