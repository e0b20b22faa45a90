"""The data file of a node, byte by byte as docs/protocol.md, section 6 has it."""

import binascii
import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import DataError
from dcka.inject.quantise import MAX_DIMENSIONS, bits_for
from dcka.inject.report import counted

MAGIC = b"DCKd"
VERSION = 2
ID_BYTES = 8
READINGS = 32  # in the place of the bits: a file of readings, not on any grid yet
MOST_DECIMALS = 9

_HEAD = struct.Struct("<4sBBHI8s")  # magic, version, bits, n, m, data set id
_SHA_BYTES = 32
_BLOCK_BYTES = 8192  # of points; the CRC-32 comes behind

Points = NDArray[np.uint16]
Readings = NDArray[np.int32]
Numbers = Points | Readings


@dataclass(frozen=True, eq=False)
class DataFile:
    """What a data file says: m×n `points` on a grid of `bits` bits with n `extents`.

    Where `bits` is 32 the points are readings, i32: whole numbers of 10^−`decimals`, without extents.
    """

    dataset_id: bytes
    bits: int
    extents: tuple[int, ...]
    points: Numbers
    checksum: str
    decimals: int = 0


def encode(points: Points, bits: int, extents: Sequence[int], dataset_id: bytes) -> bytes:
    """The data file of m×n points. Raises DataError where the points are not of that grid."""
    _check_points(points, bits, extents)
    return _encode(points, bits, _little(extents, "<u2"), dataset_id)


def encode_readings(readings: Readings, decimals: int, dataset_id: bytes) -> bytes:
    """The data file of m×n readings, whole numbers of 10^−decimals. Raises DataError where they are no such."""
    _check_readings(readings, decimals)
    return _encode(readings, READINGS, bytes([decimals]), dataset_id)


def _encode(numbers: Numbers, bits: int, scale: bytes, dataset_id: bytes) -> bytes:
    if len(dataset_id) != ID_BYTES:
        raise DataError(f"a data set id of {len(dataset_id)} bytes: it has {ID_BYTES}")
    rows, dimensions = numbers.shape
    head = _HEAD.pack(MAGIC, VERSION, bits, dimensions, rows, dataset_id) + scale
    body = head + b"".join(_blocks(numbers))
    return body + hashlib.sha256(body).digest()


def _blocks(numbers: Numbers) -> Iterator[bytes]:
    """Each block with the CRC-32 that starts from the block's number."""
    content = _little(numbers, _form(numbers))
    for number, start in enumerate(range(0, len(content), _block_bytes(numbers.shape[1], numbers.itemsize))):
        block = content[start : start + _block_bytes(numbers.shape[1], numbers.itemsize)]
        yield block + binascii.crc32(block, number).to_bytes(4, "little")


def file_bytes(bits: int, dimensions: int, rows: int) -> int:
    """The size of the data file of so many points; 0 where no file can have so many dimensions."""
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        return 0
    content = _width(bits) * dimensions * rows
    blocks = -(-content // _block_bytes(dimensions, _width(bits)))
    return _HEAD.size + _scale_bytes(bits, dimensions) + content + 4 * blocks + _SHA_BYTES


def _width(bits: int) -> int:
    return 4 if bits == READINGS else 2


def _scale_bytes(bits: int, dimensions: int) -> int:
    return 1 if bits == READINGS else 2 * dimensions


def _block_bytes(dimensions: int, width: int) -> int:
    """Whole points only."""
    return _BLOCK_BYTES // (width * dimensions) * width * dimensions


def decode(data: bytes) -> DataFile:
    """The inverse of `encode`. Raises DataError: cut short, too long, changed, or of another version."""
    if len(data) < _HEAD.size + _SHA_BYTES:
        raise DataError(f"a data file of {len(data)} bytes is too short; inject the data again")
    magic, version, bits, dimensions, rows, dataset_id = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise DataError(f"a data file begins with {MAGIC!r}, this with {magic!r}; inject the data again")
    if version != VERSION:
        raise DataError(
            f"a data file of version {version}, and this program reads version {VERSION}; inject the data again"
        )
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise DataError(f"a data file of {dimensions} dimensions, and there are 1 to {MAX_DIMENSIONS}")
    expected = file_bytes(bits, dimensions, rows)
    if len(data) != expected:
        raise DataError(
            f"a data file of {len(data)} bytes, and {rows} points of {dimensions} dimensions make "
            f"{expected}; inject the data again"
        )
    digest = data[-_SHA_BYTES:]
    if hashlib.sha256(data[:-_SHA_BYTES]).digest() != digest:
        raise DataError("a data file that was changed: its SHA-256 does not fit; inject the data again")
    start = _HEAD.size + _scale_bytes(bits, dimensions)
    content = _content(data[start:-_SHA_BYTES], _block_bytes(dimensions, _width(bits)))
    return _decoded(dataset_id, bits, data[_HEAD.size : start], content, dimensions, digest.hex())


def _content(blocks: bytes, size: int) -> bytes:
    """The blocks without their CRC-32s. Raises DataError, naming the block, where one is wrong."""
    pieces = []
    for number, start in enumerate(range(0, len(blocks), size + 4)):
        block = blocks[start : start + size + 4]
        if binascii.crc32(block[:-4], number) != int.from_bytes(block[-4:], "little"):
            raise DataError(f"block {number} of a data file has a wrong CRC-32; inject the data again")
        pieces.append(block[:-4])
    return b"".join(pieces)


def _decoded(
    dataset_id: bytes, bits: int, scale: bytes, content: bytes, dimensions: int, digest: str
) -> DataFile:
    if bits == READINGS:
        readings = np.frombuffer(content, "<i4").reshape(-1, dimensions).astype(np.int32)
        _check_readings(readings, scale[0])
        return DataFile(dataset_id, bits, (), readings, digest, scale[0])
    extents = tuple(int(extent) for extent in np.frombuffer(scale, "<u2"))
    points = np.frombuffer(content, "<u2").reshape(-1, dimensions).astype(np.uint16)
    _check_points(points, bits, extents)
    return DataFile(dataset_id, bits, extents, points, digest)


def checksum(data: bytes) -> str:
    """The SHA-256 that ends a data file, in hex: what the record of the data set states for each node."""
    return data[-_SHA_BYTES:].hex()


def verify(data: bytes, expected: str | None = None) -> str:
    """The checksum of a data file that is whole. Raises DataError where it is not, or is not `expected`."""
    found = decode(data).checksum
    if expected is not None and found != expected:
        raise DataError(
            f"a data file with SHA-256 {found[:16]}…, and the data set has {expected[:16]}…; "
            "inject the data again"
        )
    return found


def dataset_id(points: Mapping[int, Points], bits: int, extents: Sequence[int]) -> bytes:
    """The 8 bytes that name a data set: by its grid, and the points of every node, in the order of ids."""
    return _id(points, bits, _little(extents, "<u2"))


def readings_id(readings: Mapping[int, Readings], decimals: int) -> bytes:
    """The 8 bytes that name a data set of readings: by its decimals, and the readings of every node."""
    return _id(readings, READINGS, bytes([decimals]))


def _id(numbers: Mapping[int, Points] | Mapping[int, Readings], bits: int, scale: bytes) -> bytes:
    digest = hashlib.sha256()
    for node in sorted(numbers):
        rows, dimensions = numbers[node].shape
        digest.update(struct.pack("<IBHI", node, bits, dimensions, rows) + scale)
        digest.update(_little(numbers[node], _form(numbers[node])))
    return digest.digest()[:ID_BYTES]


def _form(numbers: Numbers) -> str:
    return "<u2" if numbers.dtype == np.uint16 else "<i4"


def _little(numbers: Numbers | Sequence[int], form: str) -> bytes:
    return np.ascontiguousarray(numbers, dtype=form).tobytes()


def _check_points(points: Points, bits: int, extents: Sequence[int]) -> None:
    if points.ndim != 2 or points.dtype != np.uint16 or points.shape[1] != len(extents):
        what = f"points of shape {points.shape} and type {points.dtype}"
        raise DataError(f"{what} for {len(extents)} dimensions: need rows of that many uint16")
    if bits != bits_for(len(extents)):
        dimensions = counted(len(extents), "dimension")
        raise DataError(f"{bits} bits for {dimensions}: the rule gives {bits_for(len(extents))}")
    if max(extents) > 2**bits - 1:
        raise DataError(f"an extent of {max(extents)} does not fit {bits} bits")
    if points.size and int(points.max()) > 2**bits - 1:
        raise DataError(f"a point at {points.max()} does not fit {bits} bits")


def _check_readings(readings: Readings, decimals: int) -> None:
    if readings.ndim != 2 or readings.dtype != np.int32 or not 1 <= readings.shape[1] <= MAX_DIMENSIONS:
        raise DataError(f"readings of shape {readings.shape} and type {readings.dtype}: need rows of int32")
    if not 0 <= decimals <= MOST_DECIMALS:
        raise DataError(f"readings of {decimals} decimals: 0 to {MOST_DECIMALS} are possible")
