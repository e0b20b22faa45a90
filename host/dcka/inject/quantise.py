"""Readings in the user's units to the grid of unsigned integers that all nodes share, and back.

The definition is docs/protocol.md, section 1: an offset per dimension and one step for all dimensions, so
that Euclid's distances keep their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcka.inject.errors import DataError, shown
from dcka.inject.number_text import LARGEST
from dcka.inject.report import counted

MAX_DIMENSIONS = 512  # beyond, not even 11 bits pass the rule
MOST_BITS = 15  # a difference of two coordinates fits 16 bits with its sign
FEW_LEVELS = 16  # a column that keeps fewer while it has more distinct readings has lost its shape

_SMALLEST_STEP = float(np.finfo(np.float64).tiny)  # a spread below it would give a step of 0

Range = Sequence[tuple[float, float]]


def bits_for(dimensions: int) -> int:
    """The largest b ≤ 15 with n·(2^b − 1)² < 2^31. Raises DataError for n < 1 or n > 512."""
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise DataError(
            f"{dimensions} dimensions: a node takes 1 to {MAX_DIMENSIONS}, for a squared distance must fit "
            "31 bits; name fewer with --columns"
        )
    return max(b for b in range(1, MOST_BITS + 1) if dimensions * (2**b - 1) ** 2 < 2**31)


@dataclass(frozen=True)
class Grid:
    """One grid for all nodes, n dimensions.

    `offset`: n floats in the user's units, the smallest reading that each dimension allows; `step`: the
    user's units a level; `extents`: n integers, the largest level that each dimension allows;
    `constant`: the names of the columns whose readings are all equal.
    """

    offset: tuple[float, ...]
    step: float
    bits: int
    extents: tuple[int, ...]
    constant: tuple[str, ...] = ()

    @classmethod
    def fit(cls, values: NDArray[np.float64], names: Sequence[str], range: Range | None = None) -> "Grid":
        """The grid for M×n readings (M ≥ 1), or for the explicit `range`, a (low, high) a dimension.

        Raises DataError for a reading beyond single precision or not a number, or a range that is none.
        """
        bits = bits_for(len(names))
        if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] != len(names):
            raise DataError(f"readings of shape {values.shape} for {len(names)} columns: need a row or more")
        usable = (np.abs(values) <= LARGEST).all(axis=0)  # False for NaN too
        if not usable.all():
            name = names[int(np.argmin(usable))]
            raise DataError(f"column {shown(name)} holds NaN, or a number beyond ±3.4e38; drop such readings")
        least, most = values.min(axis=0), values.max(axis=0)
        low, high = (least, most) if range is None else _ends(range, names)
        levels = 2**bits - 1
        spread = float((high - low).max())
        step = max(spread / levels, _SMALLEST_STEP) if spread > 0.0 else 1.0
        extents = np.minimum(np.floor((high - low) / step + 0.5), levels)
        return cls(
            offset=tuple(float(end) for end in low),
            step=step,
            bits=bits,
            extents=tuple(int(extent) for extent in extents),
            constant=tuple(name for name, a, b in zip(names, least, most, strict=True) if a == b),
        )

    def quantise(self, values: NDArray[np.float64]) -> tuple[NDArray[np.uint16], tuple[int, ...]]:
        """M×n readings to M×n levels, and how many were clipped in each dimension.

        q = ⌊(value − offset) / step + ½⌋, clipped to 0 … 2^bits − 1; a reading counts as clipped where that
        changes q. A reading above the range of its own dimension that the grid holds is no such case.
        """
        with np.errstate(over="ignore"):  # far beyond the grid: inf, which the clip takes as it should
            levels = np.floor((values - np.array(self.offset)) / self.step + 0.5)
        within = np.clip(levels, 0.0, 2.0**self.bits - 1.0)
        clipped = np.count_nonzero(within != levels, axis=0)
        return within.astype(np.uint16), tuple(int(count) for count in clipped)

    def to_units(self, levels: ArrayLike) -> NDArray[np.float64]:
        """Levels (… × n, whole or not, such as a centre) to the user's units: offset + step · q."""
        return np.array(self.offset) + self.step * np.asarray(levels, dtype=np.float64)

    def warnings(self, values: NDArray[np.float64], names: Sequence[str]) -> tuple[str, ...]:
        """A sentence for each column of M×n readings that keeps too few levels to keep its shape, or has
        readings above its range that the grid holds."""
        widest = names[int(np.argmax(self.extents))]
        levels, _ = self.quantise(values)
        said = []
        for name, column, quantised, extent in zip(names, values.T, levels.T, self.extents, strict=True):
            distinct, kept = len(np.unique(column)), len(np.unique(quantised))
            if kept < FEW_LEVELS and distinct > kept:
                said.append(
                    f"column {shown(name)}: {distinct:,} distinct readings fall on "
                    f"{counted(kept, 'level')}, for one level is {self.step:.3g} in every column and "
                    f"{shown(widest)} sets it; leave a column out, or bring them to units of like spread"
                )
            above = int(np.count_nonzero(quantised > extent))
            if above and extent < 2**self.bits - 1:
                said.append(
                    f"column {shown(name)}: {counted(above, 'reading')} above the range given for it, up to "
                    f"{column.max():g}; what the grid holds is kept, the rest is clipped"
                )
        return tuple(said)


def _ends(range: Range, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(range) != len(names):
        raise DataError(f"{len(range)} ranges for {len(names)} columns: give a low and a high for each")
    for name, (low, high) in zip(names, range, strict=True):
        if not -LARGEST <= low <= high <= LARGEST:
            raise DataError(f"range of {shown(name)}, {low:g} to {high:g}: need two numbers, the lower first")
    ends = np.array(range, dtype=np.float64)
    return ends[:, 0], ends[:, 1]
