"""The data file of a node, byte by byte as docs/protocol.md, section 6 has it."""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import DataError
from dcka.inject.quantise import MAX_DIMENSIONS, bits_for
from dcka.inject.report import counted

MAGIC = b"DCKd"
VERSION = 1
ID_BYTES = 8

_HEAD = struct.Struct("<4sBBHI8s")  # magic, version, bits, n, m, data set id
_SHA_BYTES = 32

Points = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class DataFile:
    """What a data file says: m×n `points` on a grid of `bits` bits with n `extents`."""

    dataset_id: bytes
    bits: int
    extents: tuple[int, ...]
    points: Points
    checksum: str


def encode(points: Points, bits: int, extents: Sequence[int], dataset_id: bytes) -> bytes:
    """The data file of m×n points. Raises DataError where the points are not of that grid."""
    _check_points(points, bits, extents)
    if len(dataset_id) != ID_BYTES:
        raise DataError(f"a data set id of {len(dataset_id)} bytes: it has {ID_BYTES}")
    rows, dimensions = points.shape
    body = _HEAD.pack(MAGIC, VERSION, bits, dimensions, rows, dataset_id) + _u16(extents) + _u16(points)
    return body + hashlib.sha256(body).digest()


def decode(data: bytes) -> DataFile:
    """The inverse of `encode`. Raises DataError: cut short, too long, changed, or of another version."""
    if len(data) < _HEAD.size + _SHA_BYTES:
        raise DataError(f"a data file of {len(data)} bytes is too short; inject the data again")
    magic, version, bits, dimensions, rows, dataset_id = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise DataError(f"a data file begins with {MAGIC!r}, this with {magic!r}; inject the data again")
    if version != VERSION:
        raise DataError(f"a data file of version {version}, and this program reads version {VERSION}")
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise DataError(f"a data file of {dimensions} dimensions, and there are 1 to {MAX_DIMENSIONS}")
    expected = _HEAD.size + 2 * dimensions * (1 + rows) + _SHA_BYTES
    if len(data) != expected:
        raise DataError(
            f"a data file of {len(data)} bytes, and {rows} points of {dimensions} dimensions make "
            f"{expected}; inject the data again"
        )
    digest = data[-_SHA_BYTES:]
    if hashlib.sha256(data[:-_SHA_BYTES]).digest() != digest:
        raise DataError("a data file that was changed: its SHA-256 does not fit; inject the data again")
    words = np.frombuffer(data, dtype="<u2", count=dimensions * (1 + rows), offset=_HEAD.size)
    extents = tuple(int(extent) for extent in words[:dimensions])
    points = words[dimensions:].reshape(rows, dimensions).astype(np.uint16)
    _check_points(points, bits, extents)
    return DataFile(dataset_id, bits, extents, points, digest.hex())


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
    digest = hashlib.sha256()
    for node in sorted(points):
        rows, dimensions = points[node].shape
        digest.update(struct.pack("<IBHI", node, bits, dimensions, rows))
        digest.update(_u16(extents))
        digest.update(_u16(points[node]))
    return digest.digest()[:ID_BYTES]


def _u16(numbers: Points | Sequence[int]) -> bytes:
    return np.ascontiguousarray(numbers, dtype="<u2").tobytes()


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
