"""A seeding: what the core's nodes draw, against the reference, bit for bit."""

import json
from typing import Any, NamedTuple

import numpy as np
import pytest
from agreement_data import graphs, laws, tables
from bus import Bus, make_points
from core_network import DATASET, PREFIX
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcka.reference import bits_for, distributed_plus_plus
from dcka.topology import Graph, Shape, named, schedule
from dcka_core.actions import SAVE
from dcka_core.messages import CONVERGED, FINAL, Commit, read_commit
from dcka_core.record import Run, read_run
from dcka_core.session import COMMIT_FILE

Drawn = list[tuple[int, tuple[int, ...]]]


class Seeding(NamedTuple):
    """Points (m_i, n) by node, and what the run record says."""

    graph: Graph
    points: dict[int, NDArray[np.int64]]
    k: int
    seed: int


class Outcome(NamedTuple):
    """`commits`: the steps of the chain that ended it, in order. `run`: as the core reads it."""

    run: Run
    k: int
    commits: list[Commit]

    def drawn(self) -> Drawn:
        """(whose, point) of each centre."""
        n, flat = self.run.n, self.commits[-1].centres
        owners = flat[self.k * n : self.k * n + self.k]
        return [(who, tuple(flat[r * n : r * n + n])) for r, who in enumerate(owners) if who]

    def present(self) -> list[list[int]]:
        """By round the ids of who offered."""
        members = self.run.members
        return [
            [node for index, node in enumerate(members) if commit.contributors >> index & 1]
            for commit in self.commits
        ]


@st.composite
def seedings(draw: Any, most: int = 6) -> Seeding:
    graph = draw(graphs(most))
    n = draw(st.sampled_from([1, 2, 2, 3, 9]))
    top = 2 ** bits_for(n) - 1
    return Seeding(
        graph,
        {node: draw(tables(n, top)) for node in graph.ids},
        draw(st.integers(1, 12)),
        draw(st.one_of(st.integers(0, 3), st.integers(0, 2**63 - 1))),
    )


def play(seeding: Seeding, loss: int = 0, seed: int = 0, silent: int = 0, victim: int = -1) -> Outcome:
    """The seeding on a bus. loss: percent of the deliveries that are lost, doubled and delayed. silent: after so many
    events the member at place `victim` of the tree's order is off."""
    bus = Bus()
    n = next(iter(seeding.points.values())).shape[1]
    for node, table in seeding.points.items():
        flat = [int(value) for value in table.ravel()]
        bus.add(node, make_points(n, bits_for(n), DATASET, [2 ** bits_for(n) - 1] * n, flat))
    bus.settle()
    plan = schedule(seeding.graph, "tree")
    record = {
        "v": 1,
        "run": 1,
        "kind": "seeding",
        "members": list(plan.members),
        "root": plan.root,
        "depth": plan.depth,
        "dataset": DATASET.hex(),
        "points": sum(map(len, seeding.points.values())),
        "n": n,
        "bits": bits_for(n),
        "k": seeding.k,
        "seed": seeding.seed,
        "patience_ms": 500,
    }
    bus.trace = []
    if loss:
        bus.faults(seed, loss, loss, loss, True)
    for node, row in plan.row_records(1).items():
        bus.publish(f"{PREFIX}rows/{node}", json.dumps(row), True)
    bus.settle()
    bus.publish(f"{PREFIX}run", json.dumps(record), True)
    if silent:
        for _ in range(silent):
            bus.step()
        if not bus.all_done():
            bus.kill(plan.members[victim])
    assert bus.run(bus.all_done)
    bus.settle()
    run = read_run(record)
    return Outcome(run, seeding.k, _chain(bus, run))


def _chain(bus: Bus, run: Run) -> list[Commit]:
    """The commits behind the final that all nodes hold: of each step the one whose state leads to the next."""
    finals = [node.session.held for node in bus.nodes.values()]
    final = finals[0]
    assert all(one.centres == final.centres and one.flags == final.flags for one in finals)
    saved: dict[int, Commit] = {}
    for _, action in bus.trace:
        if action[0] == SAVE and action[1] == COMMIT_FILE:
            commit = read_commit(action[2], run)
            if commit.centres[: commit.step * run.n] == final.centres[: commit.step * run.n]:
                saved.setdefault(commit.step, commit)
    return [saved[step] for step in range(1, final.step)] + [final]


def assert_same(seeding: Seeding, outcome: Outcome, everybody: bool = True) -> None:
    ids = sorted(seeding.points)
    points = [seeding.points[node] for node in ids]
    final = outcome.commits[-1]
    drawn = outcome.drawn()
    distinct = len(np.unique(np.concatenate(points), axis=0))
    present = None if everybody else outcome.present()
    if len(drawn) < seeding.k:
        # Nobody had anything to offer, and so the reference says.
        assert final.flags == FINAL | CONVERGED and final.step == len(drawn) + 1
        assert not everybody or len(drawn) == distinct
        with pytest.raises(ValueError, match=f"Only {len(drawn)} of the points are distinct"):
            distributed_plus_plus(points, ids, seeding.k, seeding.seed, present)
    else:
        assert (final.flags, final.step) == (FINAL, seeding.k)
    picks = distributed_plus_plus(points, ids, len(drawn), seeding.seed, present)
    assert drawn == [(ids[place], tuple(points[place][row].tolist())) for place, row in picks]
    assert (final.ssd, set(final.counts)) == (0, {0})


@settings(laws, max_examples=60)
@given(seedings())
def test_the_network_draws_what_the_reference_draws(seeding):
    assert_same(seeding, play(seeding))


@pytest.mark.parametrize("seed", range(8))
def test_with_losses(seed):
    seeding = sample(seed)
    outcome = play(seeding, loss=20, seed=seed)
    assert_same(seeding, outcome, everybody=not outcome.commits[-1].missing)


@pytest.mark.parametrize("victim", [-1, 0])
def test_without_a_node_that_leaves_in_between(victim):
    """The last of the tree's order, and the root: the rounds before it left were drawn from its points, too."""
    partial = kept = 0
    for events in (40, 60, 80, 100):
        seeding = sample(events)
        outcome = play(seeding, silent=events, victim=victim)
        gone = outcome.run.members[victim]
        partial += outcome.commits[-1].missing != 0 and outcome.commits[0].missing == 0
        kept += gone in [owner for owner, _ in outcome.drawn()]
        assert_same(seeding, outcome, everybody=False)
    assert partial >= 2 and kept


def sample(seed: int) -> Seeding:
    """Five nodes on a ring, whose points lie in a square, those of odd ids in a corner of it."""
    draw = np.random.default_rng(seed)
    points = {
        node: draw.integers(0, 32768, (int(draw.integers(5, 40)), 2)) // (1 + 2 * (node % 2))
        for node in range(1, 6)
    }
    return Seeding(named(points, Shape("ring")), points, 9, seed)
