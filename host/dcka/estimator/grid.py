"""Readings as a node sees them, whole levels of the shared grid, and how far they are from centres on it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcka.inject.quantise import Grid

Floats = NDArray[np.float64]

_CELLS = 1 << 15
"""Numbers of an intermediate table: it stays in the processor's cache."""
_FARTHEST = 1e150
"""Levels beyond which a squared distance would leave float64."""


def levels_of(grid: Grid, readings: Floats) -> Floats:
    """(M, n) whole levels. A reading beyond the grid keeps its place, where a node would bring it to the edge: a
    stranger far outside then goes to the centre that is nearest to it, and not to its shadow.
    """
    with np.errstate(over="ignore"):
        levels = np.floor((readings - np.array(grid.offset)) / np.array(grid.steps) + 0.5)
    within: Floats = np.clip(levels, -_FARTHEST, _FARTHEST)
    return within


def nearest(levels: Floats, centres: NDArray[np.int64]) -> tuple[NDArray[np.int32], Floats]:
    """(labels (M,), squared distances (M,)) in levels; the lowest index wins a tie.

    Of levels on the grid these are whole numbers below 2^31, so that they are a node's bit for bit.
    """
    labels = np.empty(len(levels), dtype=np.int32)
    best = np.empty(len(levels))
    for part, distances in _parts(levels, centres):
        labels[part] = distances.argmin(axis=1)  # the first of equals
        best[part] = distances.min(axis=1)
    return labels, best


def distances(grid: Grid, levels: Floats, centres: NDArray[np.int64]) -> Floats:
    """(M, K) Euclidean distances, in the user's units."""
    found = np.empty((len(levels), len(centres)))
    for part, squared in _parts(levels, centres):
        np.sqrt(squared, out=found[part])
    return found * grid.unit


def _parts(levels: Floats, centres: NDArray[np.int64]) -> Iterator[tuple[slice, Floats]]:
    """Squared distances to all centres, some rows at a time."""
    places = centres.astype(np.float64)
    step = max(1, _CELLS // len(places))
    for begin in range(0, len(levels), step):
        part = slice(begin, begin + step)
        squared = np.zeros((len(levels[part]), len(places)))
        for j in range(places.shape[1]):
            difference = levels[part, j, None] - places[:, j]
            squared += difference * difference
        yield part, squared
