"""`gossip` without loss: every node, every step, against the reference, bit for bit."""

import numpy as np
import pytest
from agreement_data import CORNERS, Case, Inner, cases, corner, inner_stops, laws, many
from core_network import CoreNetwork, CoreRun
from hypothesis import given
from hypothesis import strategies as st

from dcka.datasets import gaussians, suthaharan
from dcka.reference import GossipRules, GossipRun, gossip_run, put_hash
from dcka.topology import Graph, Shape, named, window_slots
from dcka_core.messages import CONVERGED, FINAL, GOSSIP, KEPT


def run_both(case: Case, inner: Inner) -> tuple[CoreRun, GossipRun]:
    window = window_slots(case.graph) * inner.windows
    settings = {
        "window": window,
        "tolerance": inner.tolerance,
        "slots": inner.slots,
        "max_slots": inner.max_slots,
    }
    outcome = CoreNetwork(case.points, case.extents).run(case.graph, "gossip", **case.settings, **settings)
    rules = GossipRules(phases=case.graph.phases, **settings)
    return outcome, gossip_run(**case.for_reference(case.graph.ids), rules=rules)


def assert_same(outcome: CoreRun, reference: GossipRun) -> None:
    """What every node put in, came to, and how long it took, step by step; and what it ends with."""
    assert outcome.finished
    for place, node in enumerate(outcome.record["members"]):
        told = outcome.steps[node]
        assert [report["step"] for report in told] == list(range(len(reference.steps)))
        for report, step in zip(told, reference.steps, strict=True):
            where = (node, report["step"])
            assert report["put"] == put_hash(step.inputs[place]), where
            assert report["ssd"] == step.ssd[place], where
            assert report["slots"] == step.slots, where
            assert np.array_equal(outcome.centres(report["centres"]), step.centres[place]), where
        commits = outcome.decoded(node)
        assert [commit.step for commit in commits] == list(range(1, len(reference.steps) + 1))
        for commit, step in zip(commits, reference.steps, strict=True):
            where = (node, commit.step)
            assert commit.flags & GOSSIP, where
            assert np.array_equal(outcome.centres(commit.centres), step.centres[place]), where
            assert np.array_equal(commit.counts, step.counts[place]), where
            assert bool(commit.flags & KEPT) == bool(step.kept[place].any()), where
        for later, report in zip(reference.steps[1:], told, strict=False):
            assert report["moved"] == later.moved[place], (node, report["step"])
        assert commits[-1].flags & FINAL
        assert bool(commits[-1].flags & CONVERGED) == reference.converged
        assert commits[-1].ssd == reference.ssd[place]
        assert outcome.results[node]["ssd"] == reference.ssd[place]
        assert outcome.results[node]["slots"] == sum(step.slots for step in reference.steps)


@laws
@given(cases(), st.data())
def test_every_step_of_every_node_is_the_references(case, data):
    assert_same(*run_both(case, data.draw(inner_stops(window_slots(case.graph)))))


@laws
@given(cases(most=1), st.data())
def test_one_node_alone_is_the_references(case, data):
    assert_same(*run_both(case, data.draw(inner_stops(window_slots(case.graph)))))


TIGHT = Inner(tolerance=0, slots=0, max_slots=120, windows=1)
PAPER = Inner(tolerance=838, slots=0, max_slots=200, windows=1)


@pytest.mark.parametrize("inner", [TIGHT, PAPER], ids=["tight", "as the paper's experiment"])
@pytest.mark.parametrize("case", CORNERS.values(), ids=CORNERS)
def test_the_corners(case, inner):
    assert_same(*run_both(case._replace(max_steps=12), inner))


def test_experiment_1():
    dataset = gaussians(1, per_gaussian=30)
    graph = named(dataset.node_ids, Shape("experiment1"))
    case = Case(graph, dataset.points, list(dataset.grid.extents), 9, "local", 4, None, 100)
    outcome, reference = run_both(case, PAPER)
    assert_same(outcome, reference)
    assert reference.converged


def test_the_motes():
    dataset = suthaharan()
    points = {node: table[::20] for node, table in dataset.points.items()}
    graph = Graph.build(dataset.node_ids, [[(1, 2), (3, 4)], [(2, 3), (1, 4)]])
    case = Case(graph, points, list(dataset.grid.extents), 4, "shared", 1, None, 100)
    outcome, reference = run_both(case, PAPER)
    assert_same(outcome, reference)
    assert reference.converged


def test_fixed_slots_end_each_step_at_once():
    case = corner({1: many(1, 50), 2: many(2, 50), 3: many(3, 50)})
    window = window_slots(case.graph)
    assert_same(*run_both(case, Inner(838, 2 * window, 100, 1)))
