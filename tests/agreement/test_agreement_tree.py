"""`tree`: what the core's nodes commit, against the reference, bit for bit."""

import numpy as np
import pytest
from agreement_data import CORNERS, Case, cases, laws
from core_network import CoreNetwork, CoreRun
from hypothesis import given

from dcka.datasets import gaussians, suthaharan
from dcka.reference import TreeRun, tree_run
from dcka.topology import Graph, Shape, named
from dcka_core.messages import CONVERGED, FINAL, KEPT


def run_both(case: Case) -> tuple[CoreRun, TreeRun]:
    outcome = CoreNetwork(case.points, case.extents).run(case.graph, "tree", **case.settings)
    return outcome, tree_run(**case.for_reference(tuple(outcome.record["members"])))


def assert_same(outcome: CoreRun, reference: TreeRun) -> None:
    """Every commit of every node, in order, is the reference's step."""
    assert outcome.finished
    for node in outcome.record["members"]:
        commits = outcome.decoded(node)
        assert [commit.step for commit in commits] == list(range(1, len(reference.steps) + 1))
        for commit, step in zip(commits, reference.steps, strict=True):
            assert np.array_equal(outcome.centres(commit.centres), step.centres), (node, commit.step)
            assert np.array_equal(commit.counts, step.counts), (node, commit.step)
            assert commit.ssd == step.ssd, (node, commit.step)
            assert bool(commit.flags & KEPT) == bool(step.empty.any()), (node, commit.step)
        last = commits[-1]
        assert last.flags & FINAL
        assert bool(last.flags & CONVERGED) == reference.converged
        assert last.missing == 0
        assert outcome.results[node]["ssd"] == reference.ssd
        assert outcome.results[node]["converged"] == reference.converged
        assert outcome.results[node]["steps"] == len(reference.steps)


@laws
@given(cases())
def test_every_commit_of_every_node_is_the_references(case):
    assert_same(*run_both(case))


@laws
@given(cases(most=1))
def test_one_node_alone_is_the_references(case):
    assert_same(*run_both(case))


@laws
@given(cases())
def test_the_root_tells_of_every_step_once(case):
    outcome, reference = run_both(case)
    told = outcome.steps[outcome.record["root"]]
    assert [(report["step"], report["ssd"]) for report in told] == [
        (number, step.ssd) for number, step in enumerate(reference.steps)
    ]
    assert set(outcome.steps) == {outcome.record["root"]}


@pytest.mark.parametrize("case", CORNERS.values(), ids=CORNERS)
def test_the_corners(case):
    assert_same(*run_both(case))


def test_experiment_1():
    dataset = gaussians(1, per_gaussian=30)
    graph = named(dataset.node_ids, Shape("experiment1"))
    assert_same(*run_both(Case(graph, dataset.points, list(dataset.grid.extents), 9, "local", 4, None, 100)))


def test_the_motes():
    dataset = suthaharan()
    points = {node: table[::20] for node, table in dataset.points.items()}
    graph = Graph.build(dataset.node_ids, [[(1, 2), (3, 4)], [(2, 3), (1, 4)]])
    assert_same(*run_both(Case(graph, points, list(dataset.grid.extents), 4, "shared", 1, None, 100)))
