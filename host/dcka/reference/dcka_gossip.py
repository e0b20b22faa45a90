"""DCKA on the grid, consensus `gossip`: what nodes must do that lose nothing, bit for bit (protocol, 5).

Slots are synchronous here. Real nodes run ahead of each other, but a message for a later slot waits until the
node is there, so without loss each ends every slot with the same mass.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import BoolArray, IntArray
from dcka.reference.graphs import Link, flood_slots
from dcka.reference.mass import (
    PARTS,
    Send,
    centres_of,
    estimated_counts,
    exchange,
    fraction_bits,
    groups,
    window_spread,
)
from dcka.reference.members import Members, contribution, first_contribution, prepare


@dataclass(frozen=True, eq=False)
class GossipRules:
    """The schedule and the inner stop, as the run record has them.

    `phases`: the links of each phase, by node id. `window`: slots of a window, a multiple of the phases.
    `tolerance`: in 1/256 of a grid step. `slots`: a fixed S, a multiple of the window, or 0 to stop by
    tolerance. `max_slots`: the most that a step may take.
    """

    phases: Sequence[Sequence[Link]]
    window: int
    tolerance: int
    max_slots: int
    slots: int = 0

    def __post_init__(self) -> None:
        """Raises ValueError for a rule that cannot be kept."""
        if not self.phases:
            raise ValueError("A schedule needs at least one phase.")
        if self.window < 1 or self.window % len(self.phases):
            raise ValueError(
                f"A window of {self.window} slots is no multiple of the {len(self.phases)} phases."
            )
        if self.max_slots < 1 or not 0 <= self.slots <= self.max_slots:
            raise ValueError(
                f"slots = {self.slots} is not within 0 and max_slots = {self.max_slots}, at least 1."
            )
        if self.slots % self.window:
            raise ValueError(f"slots = {self.slots} is no multiple of the window, {self.window}.")
        if self.tolerance < 0:
            raise ValueError(f"The tolerance {self.tolerance} is negative.")


@dataclass(frozen=True, eq=False)
class GossipStep:
    """One outer step, node by node.

    `before`: for each node the centres (K, n) it used, None where it had none. `inputs`: (N, K, n + 1), its
    sums, [..., 0] counts m, [..., 1:] sums u. `ssd`: (N,), its own part for `before`. `moved`: (N,). `slots`:
    S. `decided`: False where max_slots ended the step. `window_spread`: that of the last whole window,
    taken at its first slot; None without one, or where a cluster had mass at some node and none at another.
    `spread`: the same measure after the last slot. `centres`: (N, K, n). `counts`: (N, K), as estimated.
    `kept`: (N, K), clusters without mass. `x`: (S + 1, N, K, n + 1), the mass before the first slot and after
    each, if asked for.
    """

    before: tuple[IntArray | None, ...]
    inputs: IntArray
    ssd: IntArray
    moved: BoolArray
    slots: int
    decided: bool
    window_spread: int | None
    spread: int | None
    centres: IntArray
    counts: IntArray
    kept: BoolArray
    x: IntArray | None


@dataclass(frozen=True, eq=False)
class GossipRun:
    """`centres` (N, K, n) final; `ssd` (N,), each node's own part for *them*; `f` fraction bits of mass."""

    f: int
    steps: tuple[GossipStep, ...]
    centres: IntArray
    ssd: IntArray
    converged: bool


@dataclass(frozen=True, eq=False)
class _Plan:
    """The rules, what is sent in each phase, and the fraction bits."""

    rules: GossipRules
    sends: tuple[list[Send], ...]
    f: int
    keep_slots: bool


@dataclass(frozen=True, eq=False)
class _Inner:
    """How the slots of a step ended; `states`: x after the last, or all from before the first on."""

    states: list[IntArray]
    slots: int
    decided: bool
    window_spread: int | None


def gossip_run(
    node_points: Sequence[Any],
    node_ids: Sequence[int],
    k: int,
    init: str,
    seed: int,
    extents: Any,
    max_steps: int,
    rules: GossipRules,
    given: Any | None = None,
    keep_slots: bool = False,
) -> GossipRun:
    """Run `gossip` without loss; the arguments are those of `tree_run`, and the rules of the inner clock.

    In step 0 of a start without common centres a cluster without mass takes its shared one, later it keeps the one
    it had. The run has converged with a decided step into which no node came moved. Raises ValueError for input that
    does not fit, phases that are not connected together, or a window in which word does not reach every node.
    """
    members = prepare(node_points, node_ids, k, init, seed, extents, given)
    plan = _plan(members, max_steps, rules, keep_slots)
    before = members.starts
    moved = np.ones(len(members.ids), dtype=np.bool_)
    steps: list[GossipStep] = []
    converged = False
    while len(steps) < max_steps and not converged:
        step = _outer(members, plan, before, moved, first=not steps)
        steps.append(step)
        converged = step.decided and not moved.any()
        pairs = zip(before, step.centres, strict=True)
        moved = np.array([_has_moved(old, new, rules.tolerance) for old, new in pairs])
        before = tuple(step.centres)
    return GossipRun(plan.f, tuple(steps), steps[-1].centres, _contributions(members, before)[1], converged)


def put_hash(inputs: Any) -> str:
    """16 hex digits for what a node put into a step, (K, n + 1): of SHA-256 over the sums, 8 bytes each."""
    return hashlib.sha256(np.asarray(inputs, dtype=np.int64).astype("<i8").tobytes()).hexdigest()[:16]


def _plan(members: Members, max_steps: int, rules: GossipRules, keep_slots: bool) -> _Plan:
    if max_steps < 1:
        raise ValueError(f"max_steps is {max_steps}; at least one step is needed.")
    flood = flood_slots(rules.phases, members.ids)
    if rules.window < flood:
        raise ValueError(f"Word needs {flood} slots to reach every node; the window has {rules.window}.")
    sends = tuple(groups(phase, members.ids) for phase in rules.phases)
    f = fraction_bits(len(members.ids), sum(map(len, members.points)), members.bits)
    return _Plan(rules, sends, f, keep_slots)


def _contributions(members: Members, centres: Sequence[IntArray | None]) -> tuple[IntArray, IntArray]:
    """(inputs (N, K, n + 1), SSD parts (N,))."""
    own = [contribution(table, c, members.k) for table, c in zip(members.points, centres, strict=True)]
    return np.stack([sums for sums, _ in own]), np.array([part for _, part in own], dtype=np.int64)


def _first(members: Members) -> tuple[IntArray, IntArray]:
    """As `_contributions`, of step 0."""
    own = [first_contribution(members, place) for place in range(len(members.ids))]
    return np.stack([sums for sums, _ in own]), np.array([part for _, part in own], dtype=np.int64)


def _outer(
    members: Members, plan: _Plan, before: tuple[IntArray | None, ...], moved: BoolArray, first: bool
) -> GossipStep:
    """One outer step; in step 0 of `local` not even a node that drew its own centres keeps one."""
    inputs, ssd = _first(members) if first else _contributions(members, before)
    inner = _slots(inputs << plan.f, plan)
    x = inner.states[-1]
    basis = [members.basis if first or centres is None else centres for centres in before]
    centres, kept = centres_of(x, np.stack(basis), members.bits)
    return GossipStep(
        before=before,
        inputs=inputs,
        ssd=ssd,
        moved=moved,
        slots=inner.slots,
        decided=inner.decided,
        window_spread=inner.window_spread,
        spread=window_spread(x),
        centres=centres,
        counts=estimated_counts(x, plan.f),
        kept=kept,
        x=np.stack(inner.states) if plan.keep_slots else None,
    )


def _slots(x: IntArray, plan: _Plan) -> _Inner:
    """The slots of one step.

    A window opens before the shares of its first slot are taken. As it reaches every node, all know the same
    when it ends: the extremes over all nodes, and who is ready; without loss nobody in the first window of a
    step, and everybody in the later ones.
    """
    rules, sends = plan.rules, plan.sends
    states, opened, measured = [x], x, None
    slots, decided = 0, False
    while slots < (rules.slots or rules.max_slots) and not decided:
        if slots % rules.window == 0:
            opened = x
        x = exchange(x, sends[slots % len(sends)])
        states = [*states, x] if plan.keep_slots else [x]
        slots += 1
        if slots % rules.window == 0:
            measured = window_spread(opened)
            agreed = measured is not None and measured <= rules.tolerance
            decided = agreed and slots > rules.window and not rules.slots
    return _Inner(states, slots, decided or rules.slots > 0, measured)


def _has_moved(old: IntArray | None, new: IntArray, tolerance: int) -> bool:
    """A coordinate differs by more than the tolerance, or there was nothing to move from."""
    return old is None or bool(PARTS * np.abs(new - old).max() > tolerance)
