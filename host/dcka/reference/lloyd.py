"""The kernels of K-means: distances, assignment, sums, update. They assume clean int64 or float64 tables."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dcka.reference.arrays import FloatArray, IntArray
from dcka.reference.grid import round_half_up

Number = TypeVar("Number", np.int64, np.float64)
Table: TypeAlias = NDArray[Number]

BLOCK_CELLS = 1 << 16  # distances at a time: half a megabyte, which stays in the processor's cache


@dataclass(frozen=True, eq=False)
class Tally(Generic[Number]):
    """What an assignment adds up to: labels (M,), counts (K,), sums (K, n), SSD for the centres used."""

    labels: IntArray
    counts: IntArray
    sums: NDArray[Number]
    ssd: Number


def squared_distances(points: Table[Number], centres: Table[Number]) -> Table[Number]:
    """(M, K) squared Euclidean distances, from differences.

    |x|² − 2xc + |c|² would lose all digits where the values share a large offset. On the grid every
    distance is below 2^31 (`bits_for`), so int64 is exact.
    """
    total = np.zeros((len(points), len(centres)), dtype=points.dtype)
    for j in range(points.shape[1]):
        difference = points[:, j, None] - centres[:, j]
        total += difference * difference
    return total


def nearest(points: Table[Number], centres: Table[Number]) -> tuple[IntArray, Table[Number]]:
    """(label, squared distance) of each point: (M,), (M,). The lowest index wins a tie."""
    labels = np.empty(len(points), dtype=np.int64)
    squared = np.empty(len(points), dtype=points.dtype)
    rows = max(1, BLOCK_CELLS // len(centres))
    for first in range(0, len(points), rows):
        block = slice(first, first + rows)
        distances = squared_distances(points[block], centres)
        labels[block] = distances.argmin(axis=1)  # argmin returns the first of equals
        squared[block] = np.take_along_axis(distances, labels[block, None], axis=1)[:, 0]
    return labels, squared


def tally(points: Table[Number], centres: Table[Number]) -> Tally[Number]:
    """Assign every point and add up. On the grid the sums are exact: below 2^15·M, the SSD below 2^31·M."""
    labels, squared = nearest(points, centres)
    counts = np.bincount(labels, minlength=len(centres)).astype(np.int64)
    sums = np.zeros(centres.shape, dtype=points.dtype)
    for j in range(points.shape[1]):
        np.add.at(sums[:, j], labels, points[:, j])
    return Tally(labels, counts, sums, squared.sum())


def updated_grid(centres: IntArray, sums: IntArray, counts: IntArray) -> IntArray:
    """New grid centres (K, n): half up; an empty cluster keeps its centre."""
    after = centres.copy()
    full = counts > 0
    after[full] = round_half_up(sums[full], counts[full])
    return after


def updated_float(centres: FloatArray, sums: FloatArray, counts: FloatArray | IntArray) -> FloatArray:
    """New float centres (K, n): sums / counts; an empty cluster keeps its centre."""
    after = centres.copy()
    full = counts > 0
    after[full] = sums[full] / counts[full, None]
    return after
