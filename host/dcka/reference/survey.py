"""The survey: order statistics of the readings, deviations, and the grid that follows (protocol, section 5).

Readings are whole numbers of signed 32 bits. Every result is a whole number, and exact.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.reference.arrays import FloatArray, IntArray
from dcka.reference.grid import MOST_BITS

SCALES = ("one", "minmax", "std")
STEPS = {2: 32, 4: 16, 16: 8}
"""Steps of the search for each number of bins."""
LOWEST, HIGHEST = -(2**31), 2**31 - 1
MILLION = 10**6
COARSE = 4095
"""Levels of the grid that deviations are reckoned on."""


@dataclass(frozen=True)
class ReadingsGrid:
    """Level q of dimension j stands for the reading low_j + width_j · q / (2^bits − 1).

    `low`, `width` (1 or more), `extents` (the level of the range's upper end): n whole numbers each.
    """

    low: tuple[int, ...]
    width: tuple[int, ...]
    extents: tuple[int, ...]
    bits: int

    @property
    def levels(self) -> int:
        """The highest level, 2^bits − 1."""
        return int(2**self.bits - 1)

    def quantise(self, readings: Any) -> tuple[NDArray[np.uint16], IntArray]:
        """(levels (m, n), readings clipped in each dimension (n,)) of readings (m, n).

        q = ⌊(x − low_j)·L / width_j + ½⌋, clipped to 0 … L; a reading counts as clipped where that changes q.
        Raises ValueError for readings that are none, or of another number of dimensions.
        """
        table = readings_table(readings, "the readings")
        if table.shape[1] != len(self.low):
            raise ValueError(f"The readings have {table.shape[1]} dimensions, the grid {len(self.low)}.")
        raw = np.stack(
            [
                _rounded(table[:, j] - low, self.levels, width)
                for j, (low, width) in enumerate(zip(self.low, self.width, strict=True))
            ],
            axis=1,
        )
        inside = np.clip(raw, 0, self.levels)
        return inside.astype(np.uint16), (raw != inside).sum(axis=0, dtype=np.int64)

    def dataset(self, readings_id: bytes) -> bytes:
        """The 8 bytes that name the points which the readings of this id become."""
        words = [readings_id, bytes([self.bits])]
        for low, width in zip(self.low, self.width, strict=True):
            words += [low.to_bytes(4, "little", signed=True), width.to_bytes(8, "little")]
        return sha256(b"".join(words)).digest()[:8]

    def exact(self, levels: Sequence[int | Fraction], decimals: int) -> list[Fraction]:
        """A point of n levels in the user's units: (low_j + width_j · q / L) · 10^−decimals."""
        return [
            (low + width * Fraction(level) / self.levels) / 10**decimals
            for low, width, level in zip(self.low, self.width, levels, strict=True)
        ]

    def to_units(self, levels: Any, decimals: int) -> FloatArray:
        """Levels (…, n), whole or not, in the user's units; float64, so to its precision."""
        table = np.asarray(levels, dtype=np.float64)
        value = (
            np.array(self.low) + np.array(self.width, dtype=np.float64) * table / self.levels
        ) / 10.0**decimals
        return np.asarray(value, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SurveyRun:
    """`low`, `high`: (n,), readings. `sigma`: n whole numbers, of `std` alone. `steps`: of the run."""

    low: IntArray
    high: IntArray
    sigma: tuple[int, ...] | None
    grid: ReadingsGrid
    steps: int


def readings_table(values: Any, what: str) -> IntArray:
    """`values` as an int64 table (m, n). Raises ValueError where it is none, or a number beyond 32 bits."""
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] < 1:
        raise ValueError(f"{what} must be a table of rows and dimensions, not of shape {table.shape}.")
    if table.size and table.dtype.kind not in "iu":
        raise ValueError(
            f"{what} must be whole numbers, not {table.dtype}; take them as fixed-point integers."
        )
    if table.size and (int(table.min()) < LOWEST or int(table.max()) > HIGHEST):
        raise ValueError(
            f"{what} run from {table.min()} to {table.max()}; they must fit 32 bits with a sign."
        )
    return table.astype(np.int64)


def survey_run(
    node_readings: Sequence[Any],
    bits: int,
    *,
    tail_ppm: int = 0,
    scale: str = "minmax",
    bins: int = 16,
    present: Sequence[Collection[int]] | None = None,
) -> SurveyRun:
    """The survey of nodes with these readings, (m_i, n) each.

    `present`: for each step the indices of the nodes that are in its commit; None where all were in all. Then low
    and high are those of rank t and M − 1 − t of all M readings, t = ⌊tail_ppm · M / 10^6⌋. Raises ValueError.
    """
    tables = [readings_table(table, f"readings of node {i}") for i, table in enumerate(node_readings)]
    if not tables:
        raise ValueError("There are no nodes.")
    if bins not in STEPS:
        raise ValueError(f"{bins} bins: 2, 4 or 16 are possible.")
    if not 0 <= tail_ppm < MILLION // 2:
        raise ValueError(f"A tail of {tail_ppm} ppm: 0 to {MILLION // 2 - 1} are possible.")
    steps = STEPS[bins] + (scale == "std")
    if present is None:
        everything = np.concatenate(tables)
        low, high = _sorted_ends(everything, tail_ppm)
        last = everything
    else:
        if len(present) != steps:
            raise ValueError(f"{len(present)} steps are given and the survey has {steps}.")
        shares = [np.concatenate([tables[0][:0], *(tables[i] for i in who)]) for who in present]
        low, high = _searched_ends(shares[: STEPS[bins]], tail_ppm, bins)
        last = shares[-1]
    sigma = deviations(last, low, high) if scale == "std" else None
    return SurveyRun(low, high, sigma, readings_grid(low, high, scale, bits, sigma), steps)


def _sorted_ends(readings: IntArray, tail_ppm: int) -> tuple[IntArray, IntArray]:
    """Without readings nothing is ever found: both ends stay at the lowest number."""
    total = len(readings)
    if total == 0:
        nothing = np.full(readings.shape[1], LOWEST, dtype=np.int64)
        return nothing, nothing.copy()
    ordered = np.sort(readings, axis=0)
    tail = tail_ppm * total // MILLION
    return ordered[tail], ordered[total - 1 - tail]


def _searched_ends(shares: Sequence[IntArray], tail_ppm: int, bins: int) -> tuple[IntArray, IntArray]:
    """The search digit by digit, each step over the readings of those who are in it."""
    n = shares[0].shape[1]
    found = np.full((2, n), LOWEST, dtype=np.int64)
    size = 2**32
    for readings in shares:
        size //= bins
        total = len(readings)
        tail = tail_ppm * total // MILLION
        if total == 0:
            continue
        for end, rank in enumerate((tail, total - 1 - tail)):
            for j in range(n):
                inner = found[end, j] + size * np.arange(1, bins)
                below = np.searchsorted(np.sort(readings[:, j]), inner, side="left")
                found[end, j] += size * int((below <= rank).sum())
    return found[0], found[1]


def deviations(readings: Any, low: Any, high: Any) -> tuple[int, ...]:
    """Each dimension's standard deviation as a part of its range, in units of 2^−32, rounded down.

    It is that of q = ⌊(x − low_j)·4095 / (high_j − low_j) + ½⌋, clipped to 0 … 4095: what lies outside the range
    counts as its end. 0 without readings or range.
    """
    table = readings_table(readings, "the readings")
    found = []
    for j, (bottom, top) in enumerate(zip(_whole(low), _whole(high), strict=True)):
        if len(table) == 0 or top == bottom:
            found.append(0)
            continue
        levels = np.clip(_rounded(table[:, j] - bottom, COARSE, top - bottom), 0, COARSE)
        total, linear, square = len(table), int(levels.sum()), int((levels * levels).sum())
        spread = total * square - linear**2
        found.append(isqrt(spread * 2**64) // (COARSE * total))
    return tuple(found)


def readings_grid(
    low: Any, high: Any, scale: str, bits: int, sigma: Sequence[int] | None = None
) -> ReadingsGrid:
    """The grid of readings from `low` to `high`, n whole numbers each.

    `scale`: "one", the widest range for every dimension; "minmax", each its own; "std", as many deviations
    (`sigma`, parts of the range) for each, and none less than its range. Raises ValueError.
    """
    if not 1 <= bits <= MOST_BITS:
        raise ValueError(f"{bits} bits: 1 to {MOST_BITS} are possible.")
    bottom = _whole(low)
    ranges = [top - one for one, top in zip(bottom, _whole(high), strict=True)]
    if min(ranges) < 0:
        raise ValueError("A range ends below its beginning.")
    if scale == "one":
        width = [max(ranges)] * len(ranges)
    elif scale == "minmax":
        width = ranges
    elif scale == "std":
        if sigma is None or len(sigma) != len(ranges):
            raise ValueError("The scale std needs a deviation for each dimension.")
        least = min((one for one in sigma if one > 0), default=1)
        width = [-(-span * one // least) if one else span for span, one in zip(ranges, sigma, strict=True)]
    else:
        raise ValueError(f"The scale {scale!r} is none of {', '.join(SCALES)}.")
    width = [max(1, one) for one in width]
    levels = 2**bits - 1
    extents = [min(levels, (2 * d * levels + w) // (2 * w)) for d, w in zip(ranges, width, strict=True)]
    return ReadingsGrid(tuple(bottom), tuple(width), tuple(extents), bits)


def _rounded(above: IntArray, levels: int, width: int) -> IntArray:
    """⌊above · levels / width + ½⌋, exactly: |above| < 2^33 and levels < 2^15 stay within int64."""
    if width >= 2**52:  # twice the width, and what is added to it, would not fit
        return np.array([(2 * int(one) * levels + width) // (2 * width) for one in above], dtype=np.int64)
    return (2 * levels * above + width) // (2 * width)


def _whole(values: Any) -> list[int]:
    return [int(value) for value in np.asarray(values).tolist()]
