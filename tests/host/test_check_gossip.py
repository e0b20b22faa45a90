"""`check` of `gossip`: PASS for what the nodes do, also under loss; FAIL with the place for what is changed."""

import functools
import json
from dataclasses import replace

import numpy as np
import pytest
from checked_runs import failing, run, with_commit, with_report, without
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.check import check
from dcka.datasets import gaussians
from dcka.inject.dataset import Dataset, from_values
from dcka.reference import put_hash
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka.topology import Graph, Shape, named


@pytest.fixture(scope="module")
def dataset():
    return gaussians(1, per_gaussian=20)


@pytest.fixture(scope="module")
def graph(dataset):
    return named(dataset.node_ids, Shape("experiment1"))


@pytest.fixture(scope="module")
def outcome(dataset, graph):
    return run(dataset, graph, "gossip")


def test_what_the_nodes_do_passes_and_is_the_reference(outcome, dataset):
    verdict = check(outcome, dataset)
    assert verdict.passed, verdict.reasons
    figures = verdict.figures
    assert figures["matches_reference"] is True
    assert figures["converged"] is True
    assert 0 < figures["max_error"] <= figures["tolerance"]
    assert figures["max_error"] == pytest.approx(figures["max_error_grid"] * dataset.grid.step)
    assert figures["slots"] == sum(report["slots"] for report in outcome.steps[1])
    assert figures["ssd_rel_diff"] <= 1e-3
    assert figures["float_ssd_rel_diff"] <= 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_loss_delay_and_doubles_pass_within_the_tolerance_with_other_bits(dataset, graph, seed):
    lossy = run(dataset, graph, "gossip", faults={"seed": seed, "loss": 20, "double": 10, "delay": 20})
    assert lossy.finished
    verdict = check(lossy, dataset)
    assert verdict.passed, verdict.reasons
    assert verdict.figures["matches_reference"] is False
    assert verdict.figures["max_error"] <= verdict.figures["tolerance"]


def test_other_sums_than_a_node_s_own_are_named(outcome, dataset):
    words = failing(with_report(outcome, 4, 2, put="0123456789abcdef"), dataset)
    assert words == "node 4 put into step 2 what are not the sums of its readings"


def test_a_node_that_put_in_nothing_is_named(outcome, dataset):
    nothing = put_hash(np.zeros((9, 3), dtype=np.int64))
    assert "node 2 put nothing into step 3" in failing(with_report(outcome, 2, 3, put=nothing), dataset)


def test_centres_beyond_the_tolerance_are_named(outcome, dataset):
    last = len(outcome.steps[3]) - 1
    centres = list(outcome.steps[3][last]["centres"])
    centres[5] += 10 if centres[5] < 30_000 else -10
    spoilt = with_commit(with_report(outcome, 3, last, centres=centres), 3, centres=centres)
    words = failing(spoilt, dataset)
    assert f"node 3, cluster 2, y, step {last}: " in words
    assert "grid steps from Σu/Σm, and 3.78 are allowed" in words


def test_too_few_slots_fail(dataset, graph):
    hasty = run(dataset, graph, "gossip", slots=2, max_steps=6)
    assert "are allowed" in failing(hasty, dataset)


def test_enough_fixed_slots_pass(dataset, graph):
    verdict = check(run(dataset, graph, "gossip", slots=16), dataset)
    assert verdict.passed, verdict.reasons


def test_missing_reports_are_named(outcome, dataset):
    steps = {node: list(told) for node, told in outcome.steps.items()}
    del steps[2][4], steps[2][6]
    words = failing(replace(outcome, steps=steps), dataset)
    assert f"node 2: no report came of steps 4, 7 (of {len(outcome.steps[2])})" in words
    assert "node 5: no report of any of the" in failing(without(outcome, "steps", 5), dataset)


@pytest.mark.parametrize(
    "changes",
    [
        {"centres": None},
        {"centres": [1, 2]},
        {"centres": "none"},
        {"centres": [1.5] * 18},
        {"centres": [-1] * 18},
        {"centres": [10**30] * 18},
        {"put": 7},
        {"ssd": "much"},
        {"slots": None},
    ],
)
def test_a_broken_report_is_a_failure_not_an_exception(outcome, dataset, changes):
    assert "node 1: a report of a step is broken" in failing(with_report(outcome, 1, 3, **changes), dataset)


def test_a_wrong_ssd_is_named(outcome, dataset):
    ssd = outcome.steps[1][2]["ssd"]
    assert f"its SSD of step 2 is {ssd + 1}" in failing(with_report(outcome, 1, 2, ssd=ssd + 1), dataset)
    final = decode_commit(outcome, 1).ssd
    assert f"its final SSD is {final + 1}" in failing(with_commit(outcome, 1, ssd=final + 1), dataset)


def test_a_final_commit_that_is_not_the_last_report_is_named(outcome, dataset):
    centres = [value ^ 1 for value in decode_commit(outcome, 2).centres]
    words = failing(with_commit(outcome, 2, centres=centres), dataset)
    assert "node 2: its final commit has other centres than its report of the last step" in words


def test_nodes_that_end_at_different_steps_are_named(outcome, dataset):
    step = decode_commit(outcome, 2).step
    words = failing(with_commit(outcome, 2, step=step - 1), dataset)
    assert f"node 2: it ended after {step - 1} outer steps, others after {step}" in words


def test_another_local_optimum_fails():
    """Every step is within a coarse tolerance, and one point goes to another cluster than in CKA."""
    points = {
        1: [8800, 1440, 16800, 15520],
        2: [27840, 960, 14720, 2400],
        3: [26720, 31840, 21120, 25280],
    }
    values = {node: np.array(own, dtype=float)[:, None] for node, own in points.items()}
    line = from_values("line", ("x",), values, range=[(0, 32767)])
    graph = Graph.build(points, [[(1, 2)], [(2, 3)]])
    coarse = run(line, graph, "gossip", k=3, seed=1, tolerance=300 * 256, window=4)
    verdict = check(coarse, line)
    assert len(verdict.reasons) == 1
    assert "the run came to another local optimum" in verdict.reasons[0]
    assert verdict.figures["max_error"] <= verdict.figures["tolerance"]


def test_empty_clusters_keep_their_centres(graph):
    values = {node: np.full((3, 2), float(node)) for node in graph.ids}
    few = from_values("few", ("x", "y"), values)
    outcome = run(few, graph, "gossip", init="shared", max_steps=20)
    verdict = check(outcome, few)
    assert verdict.passed, verdict.reasons
    last = len(outcome.steps[1]) - 1
    inputs = [decode_commit(outcome, node).counts for node in graph.ids]
    empty = int(np.flatnonzero(np.array(inputs).sum(axis=0) == 0)[0])
    centres = list(outcome.steps[1][last]["centres"])
    centres[2 * empty] ^= 1
    spoilt = with_commit(with_report(outcome, 1, last, centres=centres), 1, centres=centres)
    assert f"node 1: cluster {empty} has no points" in failing(spoilt, few)


def test_rows_that_are_no_schedule_only_leave_the_comparison_out(outcome, dataset):
    verdict = check(replace(outcome, rows={}), dataset)
    assert verdict.passed, verdict.reasons
    assert verdict.figures["matches_reference"] is False


@functools.cache
def kept_run() -> tuple[Dataset, str]:
    """A data set, and the file of a run of it."""
    dataset = gaussians(1, per_gaussian=5)
    graph = named(dataset.node_ids, Shape("experiment1"))
    return dataset, json.dumps(run(dataset, graph, "gossip", k=4).to_json())


PLACES = ("rows", "results", "commits", "steps", "statuses")
junk = st.one_of(st.none(), st.integers(-5, 2**70), st.text(max_size=5), st.lists(st.integers(), max_size=3))


@settings(derandomize=True, deadline=None, max_examples=80)
@given(st.sampled_from(PLACES), st.lists(st.integers(0, 2**31), min_size=1, max_size=4), junk)
def test_whatever_came_from_the_nodes_is_judged_and_never_raises(part, path, value):
    """An outcome's file with junk in one place either is none, or gets a verdict."""
    dataset, text = kept_run()
    kept = json.loads(text)
    place, key = kept, part
    for turn in path:
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = keys[turn % len(keys)]
    place[key] = str(value) if part == "commits" else value
    try:
        spoilt = Outcome.from_json(kept)
    except OutcomeError:
        return
    assert check(spoilt, dataset).reasons
