"""DCKA in float64, with both clocks, as the paper has it (its section on the double-clock algorithm)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import BoolArray, FloatArray, IntArray, float_table, same_width
from dcka.reference.lloyd import tally, updated_float


@dataclass(frozen=True, eq=False)
class FloatOuterStep:
    """One outer step.

    `inputs`: (N, K, n + 1), what each node put in, [..., 0] the counts m, [..., 1:] the sums u.
    `x`: (S + 1, N, K, n + 1), the state before the first slot and after each, or None where not kept.
    `slots`: S. `agreed`: the tolerance was met (always so with fixed slots).
    `ssd`: (N,), each node's own part, for its centres before the update. `centres`: (N, K, n), after it.
    """

    inputs: FloatArray
    x: FloatArray | None
    slots: int
    agreed: bool
    ssd: FloatArray
    centres: FloatArray


@dataclass(frozen=True, eq=False)
class FloatDcka:
    """`centres` (N, K, n) final, node by node; `counts` (N, K) and `ssd` of the points assigned to *them*.

    `ssd` is the paper's: the sum over nodes, each with its own centres.
    """

    centres: FloatArray
    counts: IntArray
    ssd: float
    converged: bool
    steps: tuple[FloatOuterStep, ...]


@dataclass(frozen=True, eq=False)
class InnerClock:
    """The slots of an outer step: matrices (N, N) in turn, from the first in every step.

    `slots` > 0 is a fixed S. Otherwise S is the first slot at which the ratios u/m of any two nodes differ
    by at most `tolerance` (the points' units) in each coordinate, and no later than `max_slots`.
    """

    matrices: Sequence[FloatArray]
    slots: int = 0
    tolerance: float = 1e-9
    max_slots: int = 10_000


def spread(x: FloatArray) -> float:
    """The largest difference of u/m between two nodes, for x (N, K, n + 1).

    Infinite where a cluster has mass at one node and none at another; clusters without any are left out.
    """
    has = x[..., 0] > 0
    full = has.all(axis=0)
    if (has.any(axis=0) & ~full).any():
        return float("inf")
    ratios = x[:, full, 1:] / x[:, full, :1]
    return float(np.ptp(ratios, axis=0).max(initial=0.0))


def mix(inputs: FloatArray, clock: InnerClock) -> tuple[list[FloatArray], bool]:
    """The states from x(0) = inputs to x(S), and whether they agree: x(s + 1) = A(s) x(s)."""
    states = [inputs]
    limit = clock.slots or clock.max_slots
    agreed = not clock.slots and spread(inputs) <= clock.tolerance
    while len(states) <= limit and not agreed:
        matrix = clock.matrices[(len(states) - 1) % len(clock.matrices)]
        states.append(np.tensordot(matrix, states[-1], axes=1))
        agreed = not clock.slots and spread(states[-1]) <= clock.tolerance
    return states, agreed or bool(clock.slots)


def dcka(
    node_points: Sequence[Any],
    starts: Sequence[Any | None],
    clock: InnerClock,
    max_steps: int = 300,
    fallback: Any | None = None,
    keep_slots: bool = True,
) -> FloatDcka:
    """Run DCKA: `node_points` N tables (m_i, n), `starts` for each node its centres (K, n).

    A node whose start is None puts zeros into step 0. A cluster without mass keeps its centre; in step 0 it
    takes that of `fallback` (K, n), if given. The run has converged when a step leaves the centres of every
    node bit for bit. Raises ValueError for tables that do not fit, matrices of another size, or a cluster
    without mass in step 0 at a node that has no start, with no `fallback` to take it from.
    """
    points = [float_table(table, f"the points of node {i + 1}") for i, table in enumerate(node_points)]
    own, known = _starting_centres(points, starts)
    if any(matrix.shape != (len(points), len(points)) for matrix in clock.matrices) or not clock.matrices:
        raise ValueError(
            f"{len(points)} nodes need at least one matrix, of {len(points)} rows and columns each."
        )
    rescue = own if fallback is None else np.broadcast_to(float_table(fallback, "the fallback"), own.shape)
    steps: list[FloatOuterStep] = []
    centres, converged = own, False
    while len(steps) < max_steps and not converged:
        inputs, parts = _contributions(points, centres, known)
        states, agreed = mix(inputs, clock)
        after = _centres(states[-1], rescue if not steps else centres)
        slots = np.stack(states) if keep_slots else None
        steps.append(FloatOuterStep(inputs, slots, len(states) - 1, agreed, parts, after))
        converged = bool(known.all()) and np.array_equal(after, centres)
        centres, known = after, np.ones_like(known)
    last = [tally(table, centres[i]) for i, table in enumerate(points)]
    counts = np.stack([part.counts for part in last])
    return FloatDcka(centres, counts, float(sum(part.ssd for part in last)), converged, tuple(steps))


def _starting_centres(
    points: Sequence[FloatArray], starts: Sequence[Any | None]
) -> tuple[FloatArray, BoolArray]:
    """(centres (N, K, n) with NaN for a node without a start, whether it has one (N,))."""
    if len(points) != len(starts):
        raise ValueError(f"{len(points)} nodes need as many starts, not {len(starts)}.")
    tables = [
        None if start is None else float_table(start, f"the start of node {i + 1}")
        for i, start in enumerate(starts)
    ]
    given = [table for table in tables if table is not None]
    if not given:
        raise ValueError("No node has starting centres; give at least one a start.")
    for table in points:
        same_width(table, given[0])
    if any(table.shape != given[0].shape for table in given):
        raise ValueError(f"The starts differ in shape: {sorted({table.shape for table in given})}.")
    blank = np.full(given[0].shape, np.nan)
    return np.stack([blank if table is None else table for table in tables]), np.array(
        [t is not None for t in tables]
    )


def _centres(x: FloatArray, basis: FloatArray) -> FloatArray:
    """Centres (N, K, n) from x (N, K, n + 1): u/m, or those of `basis` where a cluster has no mass."""
    after = np.stack([updated_float(basis[i], own[:, 1:], own[:, 0]) for i, own in enumerate(x)])
    if np.isnan(after).any():
        raise ValueError("A node without a start has a cluster without mass in step 0; give a fallback.")
    return after


def _contributions(
    points: Sequence[FloatArray], centres: FloatArray, known: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """(inputs (N, K, n + 1), SSD parts (N,)) of the nodes' own assignments; zeros without centres."""
    inputs = np.zeros((*centres.shape[:2], centres.shape[2] + 1))
    parts = np.zeros(len(points))
    for i in range(len(points)):
        if not known[i]:
            continue
        own = tally(points[i], centres[i])
        inputs[i, :, 0], inputs[i, :, 1:], parts[i] = own.counts, own.sums, own.ssd
    return inputs, parts
