"""DCKA's first step, in which every node has centres of its own, or none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.engine import tiles
from dcka.engine.blocks import slack_of
from dcka.engine.compiled import Floats, Ints, add, compiled, ssd_of, update
from dcka.engine.runs import EngineError, Points


@dataclass(frozen=True, eq=False)
class First:
    """What the network holds after step 0: `centres` (K, n), Σu/Σm over the nodes, and the `counts` (K,) behind them.
    `ssd`: of step 0, each node with its own centres."""

    centres: Floats
    counts: Ints
    ssd: float


def blend(points: Points, sizes: Sequence[int], starts: Floats, basis: Floats) -> First:
    """Step 0 from `starts` (N, K, n), node i holding the next sizes[i] rows of the points' table.

    A node whose start has a NaN adds nothing. A cluster without points anywhere gets its centre of `basis` (K, n).
    Raises EngineError for shapes that do not fit.
    """
    table = points.table
    if sum(sizes) != len(table) or len(sizes) != len(starts) or starts.shape[1:] != basis.shape:
        raise EngineError(
            f"{len(sizes)} nodes with {sum(sizes)} points, starts of shape {starts.shape} and a basis of shape "
            f"{basis.shape} do not fit {len(table)} points"
        )
    totals, rests = np.zeros((2, *basis.shape))
    counts = np.zeros(len(basis), np.int64)
    everything = np.concatenate([table, basis, *starts])
    scale = float(np.linalg.norm(np.nanmax(everything, axis=0) - np.nanmin(everything, axis=0)))
    slack = slack_of(table.shape[1], scale, float(np.nanmax(np.abs(everything))))
    ssd, begin = 0.0, 0
    for size, start in zip(sizes, starts, strict=True):
        if not np.isnan(start).any():
            ssd += _share(
                table[begin : begin + size], np.ascontiguousarray(start), slack, totals, rests, counts
            )
        begin += size
    centres = basis.copy()
    update(centres, totals, rests, counts, np.zeros(len(centres)))
    return First(centres, counts, ssd)


def _share(own: Floats, start: Floats, slack: float, totals: Floats, rests: Floats, counts: Ints) -> float:
    """Add a node's points to the sums, by its own centres; returns its SSD."""
    labels = np.full(len(own), -1, np.int32)
    deadline, spent = np.empty(len(own)), np.zeros(len(start))
    tiles.sweep(own, start, labels, deadline, spent, slack, 0, len(own), totals, rests, counts)
    return ssd_of(own, labels, start)


def means(points: Points, labels: NDArray[np.int64], basis: Floats) -> First:
    """Step 0 from labels (M,) 0 … K − 1 that the points have already; the SSD is that of their means."""
    totals, rests = np.zeros((2, *basis.shape))
    counts = np.bincount(labels, minlength=len(basis)).astype(np.int64)
    if len(labels) != len(points.table) or len(counts) != len(basis):
        raise EngineError(
            f"{len(labels)} labels up to {labels.max()} do not fit {len(points.table)} points in {len(basis)}"
        )
    _sum(points.table, labels, totals, rests)
    centres = basis.copy()
    update(centres, totals, rests, counts, np.zeros(len(centres)))
    return First(centres, counts, ssd_of(points.table, labels.astype(np.int32), centres))


@compiled
def _sum(table: Floats, labels: Ints, totals: Floats, rests: Floats) -> None:
    for i in range(len(table)):
        for j in range(table.shape[1]):
            add(totals, rests, labels[i], j, table[i, j])
