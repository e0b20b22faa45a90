"""Readings in the user's units to the grid of unsigned integers that all nodes share, and back.

The definition is docs/protocol.md, section 1: an offset per dimension, and one step for all dimensions, so that
Euclid's distances keep their order; or, where a scale is asked for, a step for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcka.inject.errors import DataError, shown
from dcka.inject.number_text import LARGEST
from dcka.inject.report import counted
from dcka.inject.whole_grid import WholeGrid, fit_whole

MAX_DIMENSIONS = 512  # beyond, not even 11 bits pass the rule
MOST_BITS = 15  # a difference of two coordinates fits 16 bits with its sign
FEW_LEVELS = 16  # a column that keeps fewer while it has more distinct readings has lost its shape

_SMALLEST_STEP = float(np.finfo(np.float64).tiny)  # a spread below it would give a step of 0

Range = Sequence[tuple[float, float]]
Scale = Literal["one", "minmax", "std"]
Values = NDArray[np.float64]


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

    `offset`: n floats in the user's units, the smallest reading that each dimension allows; `steps`: n floats, the
    user's units a level; `extents`: n integers, the largest level that each dimension allows; `constant`: the names
    of the columns whose readings are all equal. `scale`: "one" = the same step in every dimension. `whole`: the grid
    in whole numbers, where it is one of those; offset and steps are then the nearest floats.
    """

    offset: tuple[float, ...]
    steps: tuple[float, ...]
    bits: int
    extents: tuple[int, ...]
    constant: tuple[str, ...] = ()
    scale: Scale = "one"
    whole: WholeGrid | None = None

    @classmethod
    def fit(
        cls, values: Values, names: Sequence[str], range: Range | None = None, scale: Scale = "one"
    ) -> "Grid":
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
        ends = None if range is None else _ends(range, names)
        constant = constant_columns(values, names)
        if scale != "one":
            return cls.of_whole(fit_whole(values, ends, scale, bits), scale, constant)
        low, high = (values.min(axis=0), values.max(axis=0)) if ends is None else ends
        levels = 2**bits - 1
        spread = float((high - low).max())
        step = max(spread / levels, _SMALLEST_STEP) if spread > 0.0 else 1.0
        extents = np.minimum(np.floor((high - low) / step + 0.5), levels)
        offset, kept = (tuple(float(end) for end in low), tuple(int(extent) for extent in extents))
        return cls(offset, (step,) * len(names), bits, kept, constant)

    @classmethod
    def of_whole(cls, whole: WholeGrid, scale: Scale, constant: tuple[str, ...]) -> "Grid":
        """The grid that whole numbers state."""
        return cls(whole.offset, whole.steps, whole.bits, whole.extents, constant, scale, whole)

    @property
    def step(self) -> float:
        """The one step of all dimensions. Raises ValueError where each has its own."""
        if self.scale != "one":
            raise ValueError(f"a grid with scale {self.scale} has a step for each dimension")
        return self.steps[0]

    @property
    def unit(self) -> float:
        """What a level is in distances: the step, in the user's units. With a scale, where units are not comparable,
        it is a part of the grid's width, which is then 1 in every dimension."""
        return self.steps[0] if self.scale == "one" else 1.0 / (2**self.bits - 1)

    def quantise(self, values: Values) -> tuple[NDArray[np.uint16], tuple[int, ...]]:
        """M×n readings to M×n levels, and how many were clipped in each dimension.

        q = ⌊(value − offset) / step + ½⌋, clipped to 0 … 2^bits − 1; a reading counts as clipped where that
        changes q. A reading above the range of its own dimension that the grid holds is no such case.
        """
        if self.whole is not None:
            return self.whole.quantise(values)
        with np.errstate(over="ignore"):  # far beyond the grid: inf, which the clip takes as it should
            levels = np.floor((values - np.array(self.offset)) / np.array(self.steps) + 0.5)
        within = np.clip(levels, 0.0, 2.0**self.bits - 1.0)
        clipped = np.count_nonzero(within != levels, axis=0)
        return within.astype(np.uint16), tuple(int(count) for count in clipped)

    def to_units(self, levels: ArrayLike) -> Values:
        """Levels (… × n, whole or not, such as a centre) to the user's units: offset + step · q.

        On a grid of whole numbers each is the float nearest to the exact value.
        """
        table = np.asarray(levels, dtype=np.float64)
        if self.whole is not None:
            return self.whole.to_units(table)
        return np.array(self.offset) + np.array(self.steps) * table

    def within(self, values: Values) -> Values:
        """M×n readings, those beyond the grid brought to its ends, in the user's units."""
        top = 2**self.bits - 1
        ends = self.to_units([[0] * len(self.offset), [top] * len(self.offset)])
        return np.clip(values, *ends)

    def scaled(self, values: Values) -> Values:
        """Readings or centres (… × n, user's units) such that Euclid's distances are those that the nodes see.

        With one step for all dimensions they are as they were; with a scale they are divided by the grid's widths.
        """
        return values if self.scale == "one" else values / self._widths()

    def unscaled(self, values: Values) -> Values:
        """The inverse of `scaled`."""
        return values if self.scale == "one" else values * self._widths()

    def warnings(self, values: Values, names: Sequence[str]) -> tuple[str, ...]:
        """A sentence for each column of M×n readings that keeps too few levels to keep its shape, or has
        readings above its range that the grid holds; with a scale, for each that has no spread to go by."""
        levels, _ = self.quantise(values)
        said = list(self.whole.losses(values, names)) if self.whole is not None else []
        for j, (name, column, quantised) in enumerate(zip(names, values.T, levels.T, strict=True)):
            distinct, kept = len(np.unique(column)), len(np.unique(quantised))
            if kept < FEW_LEVELS and distinct > kept:
                said.append(
                    f"column {shown(name)}: {distinct:,} distinct readings fall on "
                    f"{counted(kept, 'level')}, for one level is {self._few(j, names)}"
                )
            elif self.scale != "one" and distinct == 1:
                said.append(
                    f"column {shown(name)} is constant: there is no spread to scale it by, and it changes nothing; "
                    "leave it out with --columns"
                )
            above = int(np.count_nonzero(quantised > self.extents[j]))
            if above and self.extents[j] < 2**self.bits - 1:
                said.append(
                    f"column {shown(name)}: {counted(above, 'reading')} above the range given for it, up to "
                    f"{column.max():g}; what the grid holds is kept, the rest is clipped"
                )
        return tuple(said)

    def _few(self, j: int, names: Sequence[str]) -> str:
        if self.scale == "one":
            widest = names[int(np.argmax(self.extents))]
            return (
                f"{self.steps[j]:.3g} in every column and {shown(widest)} sets it; leave a column out, or bring "
                "them to units of like spread"
            )
        return (
            f"{self.steps[j]:.3g} there: a few readings lie far outside the others, or the range is not theirs; "
            'look at its ends, or cut them off with range = "quantile"'
        )

    def _widths(self) -> Values:
        return np.array([step * (2**self.bits - 1) for step in self.steps])


def constant_columns(values: Values, names: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns of M×n readings that are all equal."""
    least, most = values.min(axis=0), values.max(axis=0)
    return tuple(name for name, a, b in zip(names, least, most, strict=True) if a == b)


def _ends(range: Range, names: Sequence[str]) -> tuple[Values, Values]:
    if len(range) != len(names):
        raise DataError(f"{len(range)} ranges for {len(names)} columns: give a low and a high for each")
    for name, (low, high) in zip(names, range, strict=True):
        if not -LARGEST <= low <= high <= LARGEST:
            raise DataError(f"range of {shown(name)}, {low:g} to {high:g}: need two numbers, the lower first")
    ends = np.array(range, dtype=np.float64)
    return ends[:, 0], ends[:, 1]
