"""What the sweeps work on, and the loop around them."""

from typing import NamedTuple

import numba
import numpy as np

from dcka.engine import blocks, tiles
from dcka.engine.compiled import Floats, Ints, Labels, compiled, compiled_parallel, gather, update


class Work(NamedTuple):
    """`points` (M, n), in blocks' order where `blocky`; `labels` (M,) theirs, −1 at first. `across` (n, K): room for
    the centres' other layout. `spent`, `drift` (K,). Of tiles: `deadline` (M,). Of blocks: `columns` (n, M), `low`,
    `high`, `radius`, `sole`. `slack`, `scale`: of distances, for rounding. `totals`, `rests` (threads, K, n), `tallies`
    (threads, K): sums and counts, and row 0 of them the network's after a step."""

    blocky: bool
    points: Floats
    labels: Labels
    across: Floats
    spent: Floats
    drift: Floats
    deadline: Floats
    columns: Floats
    low: Floats
    high: Floats
    radius: Floats
    sole: Ints
    slack: float
    scale: float
    totals: Floats
    rests: Floats
    tallies: Ints


@compiled
def _part(work: Work, centres: Floats, part: int) -> int:
    """The sweep of one thread over its share; returns how many points have moved."""
    parts = len(work.totals)
    total, rest, counts = work.totals[part], work.rests[part], work.tallies[part]
    if work.blocky:
        size = len(work.radius)
        return blocks.sweep(
            work.columns, work.across, work.labels, work.sole, work.low, work.high, work.radius, work.slack, work.scale,
            size * part // parts, size * (part + 1) // parts, total, rest, counts,
        )  # fmt: skip
    size = len(work.points)
    return tiles.sweep(
        work.points, centres, work.labels, work.deadline, work.spent, work.slack,
        size * part // parts, size * (part + 1) // parts, total, rest, counts,
    )  # fmt: skip


@compiled
def _turn(work: Work, centres: Floats) -> None:
    """The centres' other layout, which blocks read."""
    for k in range(len(centres)):
        for j in range(centres.shape[1]):
            work.across[j, k] = centres[k, j]


@compiled
def _close(work: Work, centres: Floats, moved: int) -> bool:
    """End a step: sums of all threads, new centres, drifts. Says whether the run has converged."""
    gather(work.totals, work.rests, work.tallies)
    if moved == 0:
        return True
    changed = update(centres, work.totals[0], work.rests[0], work.tallies[0], work.drift)
    tiles.spend(work.spent, work.drift)
    return not changed


@compiled
def assign_alone(work: Work, centres: Floats) -> int:
    """One sweep, all by this thread; returns how many points have moved."""
    _turn(work, centres)
    moved = 0
    for part in range(len(work.totals)):
        moved += _part(work, centres, part)
    return moved


@compiled
def run_alone(work: Work, centres: Floats, max_steps: int) -> tuple[int, bool]:
    """Lloyd's steps from `centres` (K, n), which become the final ones: (steps, converged)."""
    for step in range(max_steps):
        moved = assign_alone(work, centres)
        if _close(work, centres, moved):
            return step + 1, True
    return max_steps, False


@compiled_parallel
def run_threads(work: Work, centres: Floats, max_steps: int) -> tuple[int, bool]:
    """As `run_alone`, each part of a sweep by a thread of its own."""
    parts = len(work.totals)
    moves = np.zeros(parts, np.int64)
    for step in range(max_steps):
        _turn(work, centres)
        for part in numba.prange(parts):
            moves[part] = _part(work, centres, part)
        if _close(work, centres, moves.sum()):
            return step + 1, True
    return max_steps, False
