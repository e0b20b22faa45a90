"""The tail: the squared distance that only a part of all readings exceeds, and who exceeds it (protocol, section 5).

From the definition: all distances are sorted. Where nodes were missing, the search digit by digit is made with those
who were in each of its steps.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import IntArray, grid_table
from dcka.reference.grid import bits_for
from dcka.reference.lloyd import nearest
from dcka.reference.survey import MILLION, STEPS


@dataclass(frozen=True, eq=False)
class TailRun:
    """`threshold`: a squared distance on the grid. `distances`, `labels`: by node, (m_i,) each. `total`: readings in
    the last step. `steps`: of the run.
    """

    threshold: int
    distances: tuple[IntArray, ...]
    labels: tuple[IntArray, ...]
    total: int
    steps: int

    def beyond(self, node: int) -> IntArray:
        """The places of the readings beyond of the node at this place, the farthest first, of equals the first."""
        own = self.distances[node]
        if not self.total:
            return np.empty(0, dtype=np.int64)
        places = np.flatnonzero(own > self.threshold)
        return np.asarray(places[np.argsort(-own[places], kind="stable")], dtype=np.int64)


def tail_run(
    node_points: Sequence[Any],
    centres: Any,
    tail_ppm: int,
    *,
    bins: int = 16,
    present: Sequence[Collection[int]] | None = None,
) -> TailRun:
    """The tail of nodes with these points (m_i, n) on the grid, about centres (K, n).

    `present`: for each step the places of the nodes that are in its commit; None where all were in all. Then the
    threshold is the distance of rank M − 1 − t of all M, t = ⌊tail_ppm · M / 10^6⌋, or 0 without readings.
    Raises ValueError.
    """
    table = np.asarray(centres)
    if table.ndim != 2 or not len(table):
        raise ValueError(f"The centres are a table of K rows, not of shape {table.shape}.")
    if bins not in STEPS or not 0 <= tail_ppm < MILLION // 2:
        raise ValueError(f"{bins} bins and a tail of {tail_ppm} ppm: one of the two can't be.")
    bits = bits_for(table.shape[1])
    table = grid_table(table, "the centres", bits)
    found = [
        nearest(grid_table(points, f"the points of node {i}", bits), table)
        for i, points in enumerate(node_points)
    ]
    if not found:
        raise ValueError("There are no nodes.")
    labels, distances = tuple(one[0] for one in found), tuple(one[1] for one in found)
    steps = STEPS[bins]
    if present is None:
        every = np.sort(np.concatenate(distances))
        threshold = int(every[_rank(len(every), tail_ppm)]) if len(every) else 0
        return TailRun(threshold, distances, labels, len(every), steps)
    if len(present) != steps:
        raise ValueError(f"{len(present)} steps are given and the run has {steps}.")
    shares = [np.sort(np.concatenate([distances[0][:0], *(distances[i] for i in who)])) for who in present]
    return TailRun(_searched(shares, tail_ppm, bins), distances, labels, len(shares[-1]), steps)


def _rank(total: int, tail_ppm: int) -> int:
    return total - 1 - tail_ppm * total // MILLION


def _searched(shares: Sequence[IntArray], tail_ppm: int, bins: int) -> int:
    """The search, each step over the distances of those who are in it, sorted."""
    found, size = 0, 2**32
    for distances in shares:
        size //= bins
        if len(distances):
            inner = found + size * np.arange(1, bins)
            below = np.searchsorted(distances, inner, side="left")
            found += size * int((below <= _rank(len(distances), tail_ppm)).sum())
    return found
