"""The integer grid that all nodes share: an offset per dimension, one step for all (protocol, section 1)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.reference.arrays import FloatArray, IntArray, finite_table, float_table

MOST_BITS = 15
MOST_DIMENSIONS = 512


def bits_for(n: int) -> int:
    """Bits of a reading for n dimensions: the largest b ≤ 15 with n·(2^b − 1)² < 2^31.

    So every squared distance on the grid stays below 2^31. Raises ValueError outside 1 … 512 dimensions.
    """
    if not 1 <= n <= MOST_DIMENSIONS:
        raise ValueError(f"{n} dimensions are not within 1 and {MOST_DIMENSIONS}; choose fewer columns.")
    return max(b for b in range(1, MOST_BITS + 1) if n * (2**b - 1) ** 2 < 2**31)


def round_half_up(sums: IntArray, counts: IntArray) -> IntArray:
    """⌊u/m + ½⌋ = (2u + m) // (2m), coordinate by coordinate: the exact minimiser of the SSD on the grid.

    `sums` (…, n) and `counts` (…) are not negative, each count is positive; any int64 will do, because
    the remainder is compared with what it lacks to m and nothing is doubled.
    Raises ValueError for a count below 1.
    """
    if counts.size and int(counts.min()) < 1:
        raise ValueError("A cluster without points has no mean; keep its centre.")
    whole, rest = np.divmod(sums, counts[..., None])
    return whole + (rest >= counts[..., None] - rest)


@dataclass(frozen=True, eq=False)
class Grid:
    """value ≈ offset_j + step · q, with q = 0 … 2^bits − 1.

    `offset`: (n,), user's units. `step`: user's units, one for all dimensions, so that Euclid's distances
    keep their order. `extents`: (n,), the largest q that the fitted range allows in each dimension.
    """

    offset: FloatArray
    step: float
    extents: IntArray
    bits: int

    def quantise(self, values: Any) -> tuple[NDArray[np.uint16], IntArray]:
        """(points (M, n), readings clipped in each dimension (n,)) of `values` (M, n).

        q = ⌊(v − offset_j) / step + ½⌋, clipped to 0 … 2^bits − 1. Raises ValueError for a value
        that is not finite, or another number of dimensions.
        """
        table = finite_table(values, "the readings")
        if table.shape[1] != len(self.offset):
            raise ValueError(
                f"The readings have {table.shape[1]} dimensions and the grid {len(self.offset)}."
            )
        with np.errstate(over="ignore"):  # far outside the grid is infinitely far: it is clipped either way
            raw = np.floor((table - self.offset) / self.step + 0.5)
        inside = np.clip(raw, 0, 2**self.bits - 1)
        return inside.astype(np.uint16), (raw != inside).sum(axis=0, dtype=np.int64)

    def to_units(self, points: Any) -> FloatArray:
        """Grid coordinates (…, n) in the user's units: offset_j + step · q."""
        return np.asarray(self.offset + self.step * np.asarray(points, dtype=np.float64), dtype=np.float64)


def fit_grid(values: Any) -> Grid:
    """The grid of readings (M, n), of all nodes together.

    offset_j is the smallest, step = widest range / (2^b − 1). The step is 1 where every dimension is
    constant. Raises ValueError without readings, for a value that is not finite, or a range that float64
    cannot divide into 2^b − 1 steps.
    """
    table = float_table(values, "the readings")
    if len(table) == 0:
        raise ValueError("There are no readings to fit a grid to.")
    bits = bits_for(table.shape[1])
    offset = table.min(axis=0)
    ranges = table.max(axis=0) - offset
    step = float(ranges.max()) / (2**bits - 1) if ranges.any() else 1.0
    if step < np.finfo(np.float64).tiny:
        raise ValueError(
            f"The widest range, {float(ranges.max())}, is too small for float64; scale the values."
        )
    extents = np.clip(np.floor(ranges / step + 0.5), 0, 2**bits - 1).astype(np.int64)
    return Grid(offset, step, extents, bits)
