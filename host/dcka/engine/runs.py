"""K-means for many runs on one set of points: the same steps as `dcka.reference.cka`, and many times as fast."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from dcka.engine.blocks import BLOCK, boxes_of, order_of, slack_of
from dcka.engine.compiled import Floats, Ints, ssd_of
from dcka.engine.work import Work, assign_alone, run_alone, run_threads
from dcka.errors import DckaError

FEW_DIMENSIONS = 3
MANY_POINTS = 20_000
"""Blocks from so many points in so few dimensions on; below, putting them into order costs more than it saves."""


PAIRS_A_THREAD = 1_000_000
"""Of a point and a centre: with fewer a sweep, threads cost more than they save."""


class EngineError(DckaError):
    """Points or centres that cannot be clustered: which, and why."""


@dataclass(frozen=True, eq=False)
class Points:
    """Points, prepared for any number of runs. Make it with `prepare`.

    `table` (M, n): as they were given. `ordered` (M, n): as they are worked on, row i being row order[i] of the table;
    in blocks where `columns` (n, M) is not empty, with their boxes `low`, `high` (blocks, n) and `radius`.
    """

    table: Floats
    ordered: Floats
    order: Ints
    columns: Floats
    low: Floats
    high: Floats
    radius: Floats

    @property
    def blocky(self) -> bool:
        return bool(self.columns.size)


@dataclass(frozen=True, eq=False)
class Result:
    """Final `centres` (K, n) with the `counts` (K,), `labels` (M,) and `ssd` of the points assigned to *them*.

    `steps`: assignments until nothing changed, or as many as were allowed. `ssds`: of each step, for the centres before
    its update; empty where they were not asked for.
    """

    centres: Floats
    counts: Ints
    labels: Ints
    ssd: float
    converged: bool
    steps: int
    ssds: Floats


def prepare(points: Any, blocky: bool | None = None) -> Points:
    """`points` (M, n) for runs. `blocky`: which sweep; None: by their number and dimensions.

    Raises EngineError where they are no table, empty, or not finite.
    """
    table = table_of(points, "the points")
    if not table.size:
        raise EngineError(f"the points: a table of shape {table.shape} holds none; give at least one point")
    if blocky is None:
        blocky = table.shape[1] <= FEW_DIMENSIONS and len(table) >= MANY_POINTS
    if not blocky:
        none = np.empty((0, 0))
        return Points(table, table, np.arange(len(table)), none, none, none, np.empty(0))
    order = order_of(np.ascontiguousarray(table.T))
    ordered = np.ascontiguousarray(table[order])
    columns = np.ascontiguousarray(ordered.T)
    count = (len(table) + BLOCK - 1) // BLOCK
    low, high, radius = np.empty((count, table.shape[1])), np.empty((count, table.shape[1])), np.empty(count)
    boxes_of(columns, low, high, radius)
    return Points(table, ordered, order, columns, low, high, radius)


def lloyd(
    points: Points | Any, start: Any, max_steps: int = 1000, threads: int = 1, keep_ssd: bool = False
) -> Result:
    """K-means of `points` (M, n) from centres `start` (K, n).

    Ties go to the lowest index, an empty cluster keeps its centre; converged when a step moves no point, or changes no
    centre in a bit. Centres are means of sums without rounding, so they, and a run, do not depend on the order of the
    points or on `threads`, of which small tasks take fewer. `keep_ssd` costs about one more pass a step. Raises
    EngineError for tables that do not fit.
    """
    ready = points if isinstance(points, Points) else prepare(points)
    centres = table_of(start, "the starting centres")
    if centres.shape[1] != ready.table.shape[1] or not len(centres):
        raise EngineError(
            f"the starting centres are of shape {centres.shape}; points of {ready.table.shape[1]} dimensions need "
            f"at least one centre of as many"
        )
    if threads < 1 or max_steps < 1:
        raise EngineError(f"{threads} threads and {max_steps} steps: at least 1 of both")
    work = _work(ready, centres, _threads(threads, ready, centres))
    steps, converged, ssds = _steps(work, centres, max_steps, keep_ssd)
    if not converged:  # the labels are those of the centres before
        assign_alone(work, centres)
    labels = np.empty(len(work.labels), np.int64)
    labels[ready.order] = work.labels
    counts = np.bincount(labels, minlength=len(centres)).astype(np.int64)
    return Result(
        centres, counts, labels, ssd_of(work.points, work.labels, centres), converged, steps, np.array(ssds)
    )


def _steps(work: Work, centres: Floats, max_steps: int, keep_ssd: bool) -> tuple[int, bool, list[float]]:
    """(steps, converged, SSD of each step where it is kept)."""
    threads = len(work.totals)
    run = run_alone if threads == 1 else run_threads
    if threads > 1:
        numba.set_num_threads(threads)
    if not keep_ssd:
        return (*run(work, centres, max_steps), [])
    ssds: list[float] = []
    converged = False
    while len(ssds) < max_steps and not converged:
        before = centres.copy()
        converged = run(work, centres, 1)[1]
        ssds.append(ssd_of(work.points, work.labels, before))
    return len(ssds), converged, ssds


def _threads(most: int, points: Points, centres: Floats) -> int:
    pairs = len(points.table) * len(centres)
    return max(1, min(most, int(vars(numba.config)["NUMBA_NUM_THREADS"]), pairs // PAIRS_A_THREAD))


def _work(points: Points, centres: Floats, threads: int) -> Work:
    k, dimensions = centres.shape
    both = (np.minimum(points.table.min(axis=0), centres.min(axis=0)),
            np.maximum(points.table.max(axis=0), centres.max(axis=0)))  # fmt: skip
    scale = float(np.sqrt(np.square(both[1] - both[0]).sum()))
    offset = float(np.abs(both).max())
    return Work(
        blocky=points.blocky,
        points=points.ordered,
        labels=np.full(len(points.table), -1, np.int32),
        across=np.empty((dimensions, k)),
        spent=np.zeros(k),
        drift=np.zeros(k),
        deadline=np.empty(0 if points.blocky else len(points.table)),
        columns=points.columns,
        low=points.low,
        high=points.high,
        radius=points.radius,
        sole=np.full(len(points.radius), -1, np.int64),
        slack=slack_of(dimensions, scale, offset),
        scale=scale,
        totals=np.zeros((threads, k, dimensions)),
        rests=np.zeros((threads, k, dimensions)),
        tallies=np.zeros((threads, k), np.int64),
    )


def table_of(values: Any, what: str) -> Floats:
    """A fresh float64 table (rows, n), row by row in memory."""
    try:
        table = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise EngineError(f"{what} are no table of numbers: {error}") from None
    if table.ndim != 2:
        raise EngineError(f"{what} must be a table of rows and dimensions, not of shape {table.shape}")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise EngineError(
            f"{what}: {table[row, column]} in row {row + 1}, column {column + 1}; leave such rows out"
        )
    return table
