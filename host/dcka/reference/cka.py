"""CKA, the central baseline: Lloyd's K-means with all points in one place, in float64 and on the grid."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import FloatArray, IntArray, float_table, grid_table, same_width
from dcka.reference.grid import bits_for
from dcka.reference.lloyd import nearest, tally, updated_float, updated_grid


@dataclass(frozen=True, eq=False)
class FloatStep:
    """One step: the centres (K, n) before the update, and the counts (K,) and SSD that belong to them."""

    centres: FloatArray
    counts: IntArray
    ssd: float


@dataclass(frozen=True, eq=False)
class GridStep:
    """One step: the centres (K, n) before the update, and the counts (K,) and SSD that belong to them."""

    centres: IntArray
    counts: IntArray
    ssd: int


@dataclass(frozen=True, eq=False)
class FloatResult:
    """Final centres (K, n) with the counts (K,), labels (M,) and SSD of the points assigned to *them*."""

    centres: FloatArray
    counts: IntArray
    labels: IntArray
    ssd: float
    converged: bool
    steps: tuple[FloatStep, ...]


@dataclass(frozen=True, eq=False)
class GridResult:
    """On the grid: final centres (K, n); counts (K,), labels (M,), SSD of the points assigned to *them*."""

    centres: IntArray
    counts: IntArray
    labels: IntArray
    ssd: int
    converged: bool
    steps: tuple[GridStep, ...]


def cka(points: Any, start: Any, max_steps: int = 300) -> FloatResult:
    """K-means in float64 of points (M, n) from centres (K, n).

    Ties go to the lowest index, an empty cluster keeps its centre; the run has converged when a step
    leaves the centres bit for bit. Raises ValueError for tables that do not fit or are not finite.
    """
    data = float_table(points, "the points")
    centres = float_table(start, "the starting centres")
    same_width(data, centres)
    float_table(np.concatenate([data, centres]), "points and centres together")
    steps: list[FloatStep] = []
    converged = False
    while len(steps) < max_steps and not converged:
        now = tally(data, centres)
        steps.append(FloatStep(centres, now.counts, float(now.ssd)))
        after = updated_float(centres, now.sums, now.counts)
        converged = np.array_equal(after, centres)
        centres = after
    last = tally(data, centres)
    return FloatResult(centres, last.counts, last.labels, float(last.ssd), converged, tuple(steps))


def cka_grid(points: Any, start: Any, max_steps: int = 300) -> GridResult:
    """K-means on the integer grid of points (M, n) from centres (K, n), both within 0 … 2^bits_for(n) − 1.

    As `cka`, with centres rounded half up, so the SSD never rises and the centres cannot cycle.
    Raises ValueError for tables that do not fit, or hold anything but grid coordinates.
    """
    bits = bits_for(np.asarray(points).shape[-1])
    data = grid_table(points, "the points", bits)
    centres = grid_table(start, "the starting centres", bits)
    same_width(data, centres)
    steps: list[GridStep] = []
    converged = False
    while len(steps) < max_steps and not converged:
        now = tally(data, centres)
        steps.append(GridStep(centres, now.counts, int(now.ssd)))
        after = updated_grid(centres, now.sums, now.counts)
        converged = np.array_equal(after, centres)
        centres = after
    last = tally(data, centres)
    return GridResult(centres, last.counts, last.labels, int(last.ssd), converged, tuple(steps))


def assign(points: Any, centres: Any) -> IntArray:
    """Labels (M,): the nearest centre of each point; the lowest index wins a tie.

    Whole numbers are compared exactly where all of them are within the grid's 15 bits; anything else is
    compared in float64. Raises ValueError for tables that do not fit or are not finite.
    """
    tables = [np.asarray(points), np.asarray(centres)]
    if all(t.dtype.kind in "iu" and (not t.size or 0 <= t.min() <= t.max() < 1 << 15) for t in tables):
        whole = [np.array(t, dtype=np.int64) for t in tables]
        same_width(*whole)
        return nearest(whole[0], whole[1])[0]
    real = [float_table(tables[0], "the points"), float_table(tables[1], "the centres")]
    same_width(*real)
    return nearest(real[0], real[1])[0]


def ssd(points: Any, centres: Any) -> float:
    """Σ of squared distances in float64 of points (M, n) to their nearest centres (K, n)."""
    data = float_table(points, "the points")
    table = float_table(centres, "the centres")
    same_width(data, table)
    return float(nearest(data, table)[1].sum())
