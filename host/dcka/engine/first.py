"""DCKA's first step, in which every node has centres of its own, or none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.engine import tiles
from dcka.engine.blocks import slack_of
from dcka.engine.compiled import Floats, Ints, Labels, add, compiled, ssd_of, update
from dcka.engine.runs import EngineError, table_of


@dataclass(frozen=True, eq=False)
class First:
    """What the network holds after step 0: `centres` (K, n), Σu/Σm over the nodes, and the `counts` (K,) behind them.
    `ssd`: of step 0, each node with its own centres; of labels, with the means."""

    centres: Floats
    counts: Ints
    ssd: float


def blend(tables: Sequence[Floats], starts: Sequence[Floats | None], basis: Floats) -> First:
    """Step 0 of nodes that hold `tables` (m_i, n) and start from centres (K, n) of their own.

    A node whose start is None adds nothing. A cluster without points anywhere gets its centre of `basis` (K, n).
    Raises EngineError for tables that do not fit.
    """
    given = [table_of(start, "a start") for start in starts if start is not None]
    if len(tables) != len(starts) or any(start.shape != basis.shape for start in given):
        raise EngineError(f"{len(starts)} starts for {len(tables)} nodes, not all of shape {basis.shape}")
    totals, rests = np.zeros((2, *basis.shape))
    counts = np.zeros(len(basis), np.int64)
    ssd = 0.0
    for table, start in zip(tables, starts, strict=True):
        if start is not None and len(table):
            own, centres = table_of(table, "a node's points"), table_of(start, "a start")
            ssd += _share(own, centres, totals, rests, counts)
    centres = basis.copy()
    update(centres, totals, rests, counts, np.zeros(len(centres)))
    return First(centres, counts, ssd)


def _share(own: Floats, start: Floats, totals: Floats, rests: Floats, counts: Ints) -> float:
    """Add a node's points to the sums, by its own centres; returns its SSD."""
    both = np.concatenate([own, start])
    slack = slack_of(own.shape[1], float(np.linalg.norm(np.ptp(both, axis=0))), float(np.abs(both).max()))
    labels = np.full(len(own), -1, np.int32)
    deadline, spent = np.empty(len(own)), np.zeros(len(start))
    tiles.sweep(own, start, labels, deadline, spent, slack, 0, len(own), totals, rests, counts)
    return ssd_of(own, labels, start)


def means(tables: Sequence[Floats], labels: Sequence[NDArray[np.int64]], basis: Floats) -> First:
    """Step 0 of nodes whose points (m_i, n) have labels (m_i,) 0 … K − 1 already. Raises EngineError as `blend`."""
    table = table_of(np.concatenate(tables), "the points")
    who = np.concatenate(labels).astype(np.int32)
    if len(who) != len(table) or (len(who) and not 0 <= who.min() <= who.max() < len(basis)):
        raise EngineError(f"{len(who)} labels do not fit {len(table)} points in {len(basis)} clusters")
    totals, rests = np.zeros((2, *basis.shape))
    _sum(table, who, totals, rests)
    counts = np.bincount(who, minlength=len(basis)).astype(np.int64)
    centres = basis.copy()
    update(centres, totals, rests, counts, np.zeros(len(centres)))
    return First(centres, counts, ssd_of(table, who, centres))


@compiled
def _sum(table: Floats, labels: Labels, totals: Floats, rests: Floats) -> None:
    for i in range(len(table)):
        for j in range(table.shape[1]):
            add(totals, rests, labels[i], j, table[i, j])
