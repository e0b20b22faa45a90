"""How the engine's kernels are compiled, and the few that all of them use."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

EPS = float(np.finfo(np.float64).eps)


def compiled(function: Kernel) -> Kernel:
    """Machine code by numba, kept on disk between processes. No `fastmath`: every operation rounds as numpy's does,
    in the order in which it stands, so that distances have the reference's bits."""
    return _compiled(function, nogil=True)


def compiled_parallel(function: Kernel) -> Kernel:
    """As `compiled`; `numba.prange` in it runs on numba's threads."""
    return _compiled(function, parallel=True)


def _compiled(function: Kernel, **options: Any) -> Kernel:
    try:
        return cast(Kernel, numba.njit(cache=True, error_model="numpy", **options)(function))
    except RuntimeError:  # neither beside the sources nor in the user's cache is there a place to write
        return cast(Kernel, numba.njit(error_model="numpy", **options)(function))


@compiled
def add(total: Floats, rest: Floats, row: int, column: int, value: float) -> None:
    """total + rest ← total + rest + value at one cell: an addition without loss (D. Knuth's two-sum), its rounding
    kept in `rest`. So sums that gain and lose points a million times stay exact to some 30 digits."""
    before = total[row, column]
    after = before + value
    back = after - before
    rest[row, column] += (before - (after - back)) + (value - back)
    total[row, column] = after


@compiled
def move(total: Floats, rest: Floats, counts: Ints, point: Floats, old: int, new: int) -> None:
    """A point (n,) goes from cluster `old` (−1: from none) to `new`, in sums (K, n) and counts (K,)."""
    counts[new] += 1
    if old >= 0:
        counts[old] -= 1
    for j in range(len(point)):
        add(total, rest, new, j, point[j])
        if old >= 0:
            add(total, rest, old, j, -point[j])


@compiled
def gather(totals: Floats, rests: Floats, tallies: Ints) -> None:
    """Add up in row 0 what the threads have moved, totals and rests (threads, K, n), counts (threads, K); clear the
    others."""
    for t in range(1, len(totals)):
        for k in range(totals.shape[1]):
            tallies[0, k] += tallies[t, k]
            tallies[t, k] = 0
            for j in range(totals.shape[2]):
                add(totals[0], rests[0], k, j, totals[t, k, j])
                rests[0, k, j] += rests[t, k, j]
                totals[t, k, j] = rests[t, k, j] = 0.0


@compiled
def update(centres: Floats, total: Floats, rest: Floats, counts: Ints, drift: Floats) -> bool:
    """centres (K, n) ← means; an empty cluster keeps its centre. `drift` (K,) ← how far each went.

    Says whether any centre changed in a bit.
    """
    changed = False
    for k in range(len(centres)):
        squared = 0.0
        if counts[k] > 0:
            for j in range(centres.shape[1]):
                mean = (total[k, j] + rest[k, j]) / counts[k]
                step = mean - centres[k, j]
                changed = changed or mean != centres[k, j]
                squared += step * step
                centres[k, j] = mean
        drift[k] = np.sqrt(squared)
    return changed


@compiled
def ssd_of(points: Floats, labels: Labels, centres: Floats) -> float:
    """Σ of squared distances of points (M, n) to their own centres (K, n), summed without loss."""
    total, rest = np.zeros((1, 1)), np.zeros((1, 1))
    for i in range(len(points)):
        squared = 0.0
        for j in range(points.shape[1]):
            difference = points[i, j] - centres[labels[i], j]
            squared += difference * difference
        add(total, rest, 0, 0, squared)
    return float(total[0, 0] + rest[0, 0])
