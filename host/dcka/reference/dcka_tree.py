"""DCKA on the grid, consensus `tree`: what every node must end with, bit for bit (protocol, section 5)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import BoolArray, IntArray
from dcka.reference.lloyd import updated_grid
from dcka.reference.members import OWN, Members, contribution, first_contribution, prepare


@dataclass(frozen=True, eq=False)
class TreeStep:
    """One commit.

    `before`: (K, n), the centres that were used; None in step 0 of a start without common ones.
    `centres`: (K, n), those committed. `counts`: (K,) and `ssd`: sums over the contributors, for `before`.
    `empty`: (K,), True where a cluster had no points. `contributors`: ids.
    """

    before: IntArray | None
    centres: IntArray
    counts: IntArray
    ssd: int
    empty: BoolArray
    contributors: frozenset[int]


@dataclass(frozen=True, eq=False)
class TreeRun:
    """A run, and what its last commit carries: `centres` (K, n), and `counts` (K,) and `ssd` of its step.

    Where the run converged these belong to `centres` too. `starts`: each node's centres of step 0, None where
    it drew nothing. `final`: converged, or at the last step allowed; False only in a replay that stops early.
    `missing`: ids that were out of any step.
    """

    starts: tuple[IntArray | None, ...]
    steps: tuple[TreeStep, ...]
    centres: IntArray
    counts: IntArray
    ssd: int
    converged: bool
    final: bool
    missing: frozenset[int]


def tree_run(
    node_points: Sequence[Any],
    node_ids: Sequence[int],
    k: int,
    init: str,
    seed: int,
    extents: Any,
    max_steps: int,
    given: Any | None = None,
    contributors: Sequence[Collection[int]] | None = None,
    prior: Sequence[int] | None = None,
) -> TreeRun:
    """Run `tree`: node_points[i] (m_i, n), grid coordinates of node node_ids[i]; extents (n,).

    `init`: one of `members.INITS`, "given" with `given`, (K, n). In step 0 of `local`, `sorted` and `snake` each
    node assigns with its own draw, a node with fewer than K points adds zeros; in `partition` it sums by labels. A
    cluster that is empty everywhere then takes its shared centre. As no centres are common before it, step 0 of
    these four never counts as converged.
    `contributors` replays a partial run: the ids whose sums are in each step. The replay ends where the list
    does, or earlier where the run is final. `prior`: K whole numbers, of "given" alone: each step's update takes in as
    many points more at the given centres ("Forgetting"); counts and SSD are the nodes' own points'. Raises ValueError
    for input that does not fit.
    """
    members = prepare(node_points, node_ids, k, init, seed, extents, given)
    weights = _weights(prior, init, k)
    plan = _plan(members.ids, max_steps, contributors)
    common = None if init in OWN else members.starts[0]
    steps: list[TreeStep] = []
    converged = False
    for present in plan:
        step = _step(members, common, present, weights)
        steps.append(step)
        converged = common is not None and np.array_equal(step.centres, common)
        common = step.centres
        if converged:
            break
    last = steps[-1]
    missing = frozenset(members.ids) - frozenset.intersection(*(step.contributors for step in steps))
    final = converged or len(steps) == max_steps
    return TreeRun(
        members.starts, tuple(steps), last.centres, last.counts, last.ssd, converged, final, missing
    )


def _plan(
    ids: tuple[int, ...], max_steps: int, contributors: Sequence[Collection[int]] | None
) -> list[frozenset[int]]:
    """Who is in, step by step."""
    if max_steps < 1:
        raise ValueError(f"max_steps is {max_steps}; at least one step is needed.")
    if contributors is None:
        return [frozenset(ids)] * max_steps
    plan = [frozenset(present) for present in contributors][:max_steps]
    if not plan or not all(plan):
        raise ValueError("A replay needs at least one step, and at least one contributor in each.")
    strangers = frozenset.union(*plan) - frozenset(ids)
    if strangers:
        raise ValueError(f"The contributors {sorted(strangers)} are not nodes of this run.")
    return plan


def _weights(prior: Sequence[int] | None, init: str, k: int) -> IntArray:
    """(K,): as how many points each given centre counts."""
    if prior is None:
        return np.zeros(k, dtype=np.int64)
    weights = np.array(prior, dtype=np.int64)
    if init != "given" or weights.shape != (k,) or weights.min() < 0:
        raise ValueError(f"The prior {list(prior)} needs {k} whole numbers and given centres.")
    return weights


def _step(members: Members, common: IntArray | None, present: frozenset[int], weights: IntArray) -> TreeStep:
    """One step with the sums of those present; integers, so their order is irrelevant."""
    total = np.zeros((members.k, members.n + 1), dtype=np.int64)
    ssd = 0
    for i, node in enumerate(members.ids):
        if node in present:
            sums, part = (
                first_contribution(members, i)
                if common is None
                else contribution(members.points[i], common, members.k)
            )
            total += sums
            ssd += part
    basis = members.basis if common is None else common
    counts = total[:, 0]
    # Below 2^63: a weight of 2^40 at most, and 15 bits of a centre. In "given" the basis is the start.
    mass = counts + weights
    after = updated_grid(basis, total[:, 1:] + weights[:, None] * members.basis, mass)
    return TreeStep(common, after, counts, ssd, counts == 0, present)
