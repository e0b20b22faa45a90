"""A grid in whole numbers, as a survey agrees on it: every node and the host come to the same integers.

The formulas are docs/protocol.md, section 5, "Survey": low_j and width W_j in readings of d_j decimals, and
L = 2^b − 1. A level q is (low_j + W_j·q / L) · 10^−d_j in the user's units, an exact rational.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import DataError, shown
from dcka.inject.fixed_point import LARGEST_EXPONENT, Numbers, decimals_for, exact_value, is_exact, to_fixed

SPREAD_LEVELS = 4095
"""Of the 12-bit grid on which a standard deviation is measured."""

# Above the 31 bits of a node's readings, and such that 2·(x − low)·L + W stays within 63 for any W of `std`.
MAGNITUDE = 2.0**36
LEAST_DECIMALS, MOST_DECIMALS = -30, 30

Values = NDArray[np.float64]


@dataclass(frozen=True)
class WholeGrid:
    """`low`, `width` (at least 1): n whole numbers, in readings of `decimals` each; `extents`: the largest levels that
    the ranges allow; `bits`: of a level.

    Raises ValueError for a grid that is none.
    """

    low: tuple[int, ...]
    width: tuple[int, ...]
    extents: tuple[int, ...]
    decimals: tuple[int, ...]
    bits: int

    def __post_init__(self) -> None:
        parts = (self.low, self.width, self.extents, self.decimals)
        if len({len(part) for part in parts}) != 1 or not self.low:
            raise ValueError("low, width, extents and decimals are of different dimensions")
        if min(self.width) < 1 or max(map(abs, self.decimals)) > LARGEST_EXPONENT:
            raise ValueError("a width below 1, or decimals out of bounds")

    @property
    def levels(self) -> int:
        """L, the largest level."""
        return (1 << self.bits) - 1

    @property
    def offset(self) -> tuple[float, ...]:
        """Level 0 in the user's units: the nearest floats."""
        return tuple(float(exact_value(a, d)) for a, d in zip(self.low, self.decimals, strict=True))

    @property
    def steps(self) -> tuple[float, ...]:
        """A level in the user's units: the nearest floats."""
        pairs = zip(self.width, self.decimals, strict=True)
        return tuple(float(exact_value(Fraction(w, self.levels), d)) for w, d in pairs)

    def fixed(self, values: Values) -> Numbers:
        """M×n values as whole numbers of each dimension's decimals, and what is far beyond them brought near."""
        far = 4 * MAGNITUDE  # any such number is clipped, and the arithmetic has room for it
        columns = zip(values.T, self.decimals, strict=True)
        bounded = [
            (np.clip(column, float(exact_value(int(-far), d)), float(exact_value(int(far), d))), d)
            for column, d in columns
        ]
        return np.stack([to_fixed(column, d) for column, d in bounded], axis=1)

    def quantise(self, values: Values) -> tuple[NDArray[np.uint16], tuple[int, ...]]:
        """As `Grid.quantise`."""
        return self.quantise_fixed(self.fixed(values))

    def quantise_fixed(self, numbers: Numbers) -> tuple[NDArray[np.uint16], tuple[int, ...]]:
        """M×n whole numbers to levels: (2·(x − low)·L + W) // (2·W), clipped to 0 … L; and how many were clipped."""
        width = np.array(self.width, dtype=np.int64)
        raw = (2 * (numbers - np.array(self.low, dtype=np.int64)) * self.levels + width) // (2 * width)
        within = np.clip(raw, 0, self.levels)
        clipped = np.count_nonzero(within != raw, axis=0)
        return within.astype(np.uint16), tuple(int(count) for count in clipped)

    def to_units(self, levels: Values) -> Values:
        """Levels (… × n, whole or not) to the user's units: each the float nearest to the exact value."""
        columns = [
            [float(self.exact(j, level)) for level in column]
            for j, column in enumerate(levels.reshape(-1, len(self.low)).T.tolist())
        ]
        return np.array(columns, dtype=np.float64).T.reshape(levels.shape)

    def exact(self, j: int, level: float) -> Fraction:
        """The exact value of a level of dimension j in the user's units."""
        return exact_value(self.low[j] + self.width[j] * Fraction(level) / self.levels, self.decimals[j])

    def losses(self, values: Values, names: Sequence[str]) -> list[str]:
        """A sentence for each column that the decimal places cost more than rounding to the grid does."""
        said = []
        for name, column, d, step in zip(names, values.T, self.decimals, self.steps, strict=True):
            place = float(exact_value(1, d))
            if place > step / 2 and not is_exact(column, d):
                said.append(
                    f"column {shown(name)}: its readings are kept to {place:g}, and one level of the grid is "
                    f"{step:.3g}; a constant far away from 0 takes the room, so take it off"
                )
        return said


def fit_whole(values: Values, ends: tuple[Values, Values] | None, scale: str, bits: int) -> WholeGrid:
    """The grid for M×n readings (or the explicit `ends`, low and high) with the scale "minmax" or "std".

    Each dimension has as many decimals as it takes. Raises DataError where its numbers are of no size that fits.
    """
    low, high = (values.min(axis=0), values.max(axis=0)) if ends is None else ends
    table = np.vstack([np.clip(values, low, high), low, high])
    decimals = []
    for column in table.T:
        room = (
            MAGNITUDE if scale == "std" else 0.0
        )  # a width is rounded up to a whole number: to a small part of it
        found = decimals_for(column[:, None], MAGNITUDE, LEAST_DECIMALS, MOST_DECIMALS, room)
        if found is None:
            raise DataError(f"a column goes up to {np.abs(column).max():g}, which is too large to be scaled")
        decimals.append(found[0])
    fixed = np.stack([to_fixed(column, d) for column, d in zip(table.T, decimals, strict=True)], axis=1)
    least, most = fixed[-2], fixed[-1]
    sigma = deviations(fixed[:-2], least, most) if scale == "std" else None
    spans = [int(span) for span in most - least]
    width = widths(spans, scale, sigma)
    top = 2**bits - 1
    extents = (min(top, (2 * span * top + w) // (2 * w)) for span, w in zip(spans, width, strict=True))
    return WholeGrid(tuple(int(end) for end in least), width, tuple(extents), tuple(decimals), bits)


def deviations(numbers: Numbers, low: Numbers, high: Numbers) -> list[int]:
    """The standard deviation of each dimension of M×n numbers, as a part of its range, in 2^−32.

    By the levels that the numbers have on a grid of 12 bits over the range: ⌊√(V·2^64)⌋ // (4095·M), with
    V = M·Σq² − (Σq)².
    """
    span = np.maximum(high - low, 1)
    levels = np.clip((2 * (numbers - low) * SPREAD_LEVELS + span) // (2 * span), 0, SPREAD_LEVELS)
    count = len(numbers)
    sums, squares = levels.sum(axis=0).tolist(), (levels * levels).sum(axis=0).tolist()
    variances = [count * square - total * total for total, square in zip(sums, squares, strict=True)]
    return [math.isqrt(variance << 64) // (SPREAD_LEVELS * count) for variance in variances]


def widths(spans: Sequence[int], scale: str, sigma: Sequence[int] | None) -> tuple[int, ...]:
    """W_j of each dimension with a range of `spans`, at least 1.

    The widest range for all ("one"); its own ("minmax"); or ("std"), with the deviations `sigma`, such that all have
    the same deviation on the grid, and the one whose range is the widest for its deviation fills it.
    """
    if scale == "one":
        return (max(1, *spans),) * len(spans)
    if sigma is None or not any(sigma):
        return tuple(max(1, span) for span in spans)
    least = min(own for own in sigma if own)
    return tuple(
        max(1, -(-span * own // least) if own else span) for span, own in zip(spans, sigma, strict=True)
    )
