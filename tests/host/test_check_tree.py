"""`check` of `tree`: PASS for what the nodes do, FAIL with the place for whatever is changed in it."""

from dataclasses import replace

import numpy as np
import pytest
from checked_runs import failing, run, with_commit, without

from dcka.check import check
from dcka.datasets import gaussians
from dcka.inject.dataset import from_values
from dcka.runs.outcome import decode_commit
from dcka.topology import Shape, named
from dcka_core.messages import CONVERGED


@pytest.fixture(scope="module")
def dataset():
    return gaussians(1, per_gaussian=20)


@pytest.fixture(scope="module")
def graph(dataset):
    return named(dataset.node_ids, Shape("experiment1"))


@pytest.fixture(scope="module")
def outcome(dataset, graph):
    return run(dataset, graph, "tree")


def test_what_the_nodes_do_passes(outcome, dataset):
    verdict = check(outcome, dataset)
    assert verdict.passed, verdict.reasons
    assert verdict.word == "PASS"
    assert verdict.reasons[0] == "5 of 5 nodes hold the reference's centres, counts and SSD, bit for bit"
    assert verdict.figures["bit_identical"] is True
    assert verdict.figures["converged"] is True
    assert verdict.figures["ssd"] == verdict.figures["reference_ssd"]
    assert verdict.figures["float_ssd_rel_diff"] <= 1e-5


def test_the_ssd_is_that_of_the_readings_in_their_units(outcome, dataset):
    verdict = check(outcome, dataset)
    own = sum(
        ((dataset.values[node][:, None] - verdict.centres[node]) ** 2).sum(axis=2).min(axis=1).sum()
        for node in dataset.node_ids
    )
    assert verdict.figures["ssd"] == pytest.approx(own, rel=1e-5)
    assert verdict.reference.shape == (9, 2)
    assert all(np.array_equal(centres, verdict.reference) for centres in verdict.centres.values())


def test_one_coordinate_of_one_node_is_named_with_both_values(outcome, dataset):
    centres = list(decode_commit(outcome, 3).centres)
    centres[7] += 1
    words = failing(with_commit(outcome, 3, centres=centres), dataset)
    assert "node 3: cluster 3, y" in words
    assert str(centres[7]) in words and str(centres[7] - 1) in words
    assert check(with_commit(outcome, 3, centres=centres), dataset).figures["bit_identical"] is False


def test_a_count_is_named(outcome, dataset):
    counts = list(decode_commit(outcome, 2).counts)
    counts[5] -= 1
    words = failing(with_commit(outcome, 2, counts=counts), dataset)
    assert f"node 2: cluster 5 has {counts[5]} points, and {counts[5] + 1}" in words


def test_an_ssd_is_named(outcome, dataset):
    ssd = decode_commit(outcome, 5).ssd
    assert f"node 5: its SSD is {ssd + 1}" in failing(with_commit(outcome, 5, ssd=ssd + 1), dataset)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"flags": 0}, "node 4: its last commit, of step"),
        ({"flags": 1}, "node 4: it says converged = False"),
        (
            {"missing": 0b100},
            "node 4: it says that node 3 was missing in the run, and by the steps nobody was",
        ),
        ({"step": 3}, "node 4: it ended after 3 outer steps, the reference after"),
        ({"step": 2**60}, "the run has 100"),
        ({"sender": 1}, "node 4: its commit was made by node 1"),
    ],
)
def test_a_commit_that_is_not_the_run_s_last_is_named(outcome, dataset, changes, words):
    assert words in failing(with_commit(outcome, 4, **changes), dataset)


def test_what_is_missing_is_named(outcome, dataset):
    assert "node 2 has made no commit" in failing(without(outcome, "commits", 2), dataset)
    assert "no result came from node 3" in failing(without(outcome, "results", 3), dataset)


def test_a_broken_commit_is_a_failure_not_an_exception(outcome, dataset):
    for payload in ("", "zz", "12", outcome.commits[1][:-2], outcome.commits[1] + "00", "ff" * 40):
        words = failing(replace(outcome, commits={**outcome.commits, 1: payload}), dataset)
        assert "node 1" in words


def test_many_failures_of_a_kind_are_counted(outcome, dataset):
    spoilt = outcome
    for node in outcome.members:
        spoilt = with_commit(spoilt, node, ssd=1)
    assert "and 1 more of that kind" in failing(spoilt, dataset)


def test_another_data_set_fails_with_both_names(outcome):
    other = gaussians(2, per_gaussian=20)
    words = failing(outcome, other)
    assert outcome.dataset in words and other.id.hex() in words


def test_a_run_that_did_not_finish_fails_with_its_reason(outcome, dataset):
    words = failing(replace(outcome, finished=False, waiting=[2, 4], reason="nothing came for 10 s"), dataset)
    assert "did not finish: nothing came for 10 s (waiting for nodes 2 and 4)" in words


@pytest.mark.parametrize(
    "changes",
    [
        {"k": 0},
        {"k": "nine"},
        {"kind": "idle"},
        {"members": [1, 2, 3]},
        {"members": [1, 1, 2, 3, 4]},
        {"points": 7},
        {"n": 3},
        {"bits": 14},
        {"init": "given", "centres": [1]},
    ],
)
def test_a_record_that_cannot_be_is_a_failure(outcome, dataset, changes):
    assert "record" in failing(replace(outcome, record={**outcome.record, **changes}), dataset)


def test_a_run_that_ends_at_max_steps_is_set_beside_as_many_steps(dataset, graph):
    for init, steps in (("local", 1), ("local", 4), ("shared", 1), ("shared", 3)):
        verdict = check(run(dataset, graph, "tree", init=init, max_steps=steps), dataset)
        assert verdict.passed, verdict.reasons
        assert verdict.figures["converged"] is False
        assert verdict.figures["outer_steps"] == steps
        assert "not converged" in verdict.reasons[1]
        assert verdict.figures["float_ssd_rel_diff"] <= 1e-3


def test_shared_and_given_starts_pass(dataset, graph):
    start = np.concatenate(list(dataset.points.values()))[:9].ravel().tolist()
    for settings in ({"init": "shared"}, {"init": "given", "centres": start}):
        verdict = check(run(dataset, graph, "tree", **settings), dataset)
        assert verdict.passed, verdict.reasons


def test_nodes_without_points_and_with_few_pass(dataset, graph):
    values = {**dataset.values, 2: dataset.values[2][:0], 4: dataset.values[4][:5]}
    thin = from_values("thin", dataset.columns, values)
    verdict = check(run(thin, graph, "tree"), thin)
    assert verdict.passed, verdict.reasons


def test_as_many_clusters_as_points_pass_though_the_ssd_is_nothing():
    values = {1: np.array([[0.0, 1.0], [5.0, 5.0]]), 2: np.array([[9.0, 2.0]])}
    tiny = from_values("tiny", ("x", "y"), values)
    start = np.concatenate(list(tiny.points.values())).ravel().tolist()
    outcome = run(tiny, named((1, 2), Shape("line")), "tree", k=3, init="given", centres=start)
    verdict = check(outcome, tiny)
    assert verdict.passed, verdict.reasons
    assert verdict.figures["ssd"] == 0
    assert verdict.figures["float_ssd_rel_diff"] is None or verdict.figures["float_ssd_rel_diff"] < 1


def test_clipped_readings_are_said(dataset, graph):
    clipped = from_values("clipped", dataset.columns, dataset.values, range=[(-2, 2), (-2, 2)])
    verdict = check(run(clipped, graph, "tree"), clipped)
    assert verdict.passed, verdict.reasons
    assert "were clipped" in verdict.reasons[-1]


def test_the_converged_flag_alone_is_compared(outcome, dataset):
    flags = decode_commit(outcome, 1).flags
    assert flags & CONVERGED
    assert "converged" in failing(with_commit(outcome, 1, flags=flags & ~CONVERGED), dataset)
