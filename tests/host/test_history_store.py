"""What is read from a history is what the network has said, whoever has stored it, and however often."""

from datetime import UTC, datetime

import numpy as np
import pytest
from history_scene import T0, Heard, Writer, hand_over, recorded, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcka.check import check
from dcka.history import Checked, NoSuchRun, Recorder, open_history, record_outcome
from dcka.history.stored import iso
from dcka.runs.outcome import decode_commit
from dcka.runs.summary import summary


@pytest.fixture(scope="module", params=["tree", "gossip"])
def heard(request):
    return Heard(request.param)


def test_a_run_comes_out_as_its_host_saw_it(history, heard):
    run, outcome = recorded(history, heard.messages), heard.outcome
    figures = summary(outcome, heard.data.record())
    assert (run.network, run.number, run.kind, run.k, run.nodes) == ("lab", 1, outcome.kind, 3, 4)
    assert (run.state, run.missing, run.unseen, run.gaps, run.lost_steps) == ("finished", (), False, [], [])
    assert (run.step_count, run.converged, run.in_units) == (figures["steps"], figures["converged"], True)
    assert run.ssd == pytest.approx(figures["ssd"], rel=1e-15)
    assert run.centroids.tolist() == figures["centres"] and run.counts.tolist() == figures["counts"]
    assert (run.dataset, run.data, run.columns) == (outcome.dataset, "clouds", ["x", "y"])
    assert run.run_record == outcome.record and run.members == tuple(outcome.members)
    assert set(run.results) == set(outcome.results)
    for node, result in outcome.results.items():
        assert {**result, **run.results[node]} == result
    assert {status.node for status in run.statuses} == {1, 2, 3, 4}


def test_every_step_has_its_centres_counts_and_ssd(history, heard):
    run, outcome = recorded(history, heard.messages), heard.outcome
    unit = heard.data.grid.unit**2
    assert [step.step for step in run.steps] == list(range(run.step_count))
    for step in run.steps:
        parts = [records[step.step]["ssd"] for records in outcome.steps.values()]
        assert step.ssd == pytest.approx(sum(parts) * unit, rel=1e-15)
        assert step.centres.shape == (3, 2)
        assert sorted(step.contributors) == [1, 2, 3, 4]
        if outcome.kind == "gossip":
            for node, records in outcome.steps.items():
                levels = np.reshape(records[step.step]["centres"], (3, 2))
                assert np.array_equal(step.by_node[node], heard.data.grid.to_units(levels))
        else:
            assert (step.counts.sum(), step.root) == (heard.data.size, heard.plan.root)
    last = decode_commit(outcome, min(outcome.commits))
    assert np.array_equal(
        run.steps[-1].centres.ravel(), heard.data.grid.to_units(np.reshape(last.centres, (3, 2))).ravel()
    )
    assert run.steps[-1].final


def test_twice_is_once(history, heard):
    once = told(recorded(history, heard.messages))
    assert told(recorded(history, heard.messages, at=T0 + 1)) == once
    assert len(history.runs(limit=None)) == 1


def test_two_monitors_at_once_store_what_one_does(history, place, heard):
    with open_history(place) as other, Recorder(history, "lab") as first, Recorder(other, "lab") as second:
        hand_over(first, heard.messages)
        hand_over(second, heard.messages, at=T0 + 0.7)
        assert first.flush(60.0) and second.flush(60.0)
    run = history.run("last")
    statuses, events = len(run.statuses), len(run.events)
    assert [step.step for step in run.steps] == list(range(run.step_count)) and run.state == "finished"
    assert len({(status.node, status.state, str(status.record)) for status in run.statuses}) == statuses
    assert statuses and events


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_nor_batches_change_it(any_order, heard, seed):
    """But for commits: a change is made out of the commit before it, and comes behind it."""
    shuffled = [message for message in heard.messages if not message[0].startswith("commit/")]
    shuffled += seed.sample(shuffled, len(shuffled) // 2)
    seed.shuffle(shuffled)
    commits = [message for message in heard.messages if message[0].startswith("commit/")]
    places = sorted(seed.choices(range(len(shuffled) + 1), k=len(commits)))
    for behind, message in zip(reversed(places), reversed(commits), strict=True):
        shuffled.insert(behind, message)
    store, expected = any_order
    found = recorded(store, shuffled, each=seed.choice((1, 7, 1000)))
    assert told(found) == expected
    store.remove([found.uid])


@pytest.fixture(scope="module")
def any_order(heard, tmp_path_factory):
    """A history, and what has to be found in it."""
    with open_history(str(tmp_path_factory.mktemp("order") / "history.sqlite")) as store:
        expected = told(recorded(store, heard.messages))
        store.remove([expected["uid"]])
        yield store, expected


def test_what_the_host_stores_adds_rows_and_verdict_and_changes_nothing_else(history, heard):
    before = told(recorded(history, heard.messages))
    verdict = check(heard.outcome, heard.data)
    checked = Checked(verdict.word, verdict.reasons, verdict.figures)
    for _ in range(2):
        record_outcome(history, heard.outcome, heard.data.record(), checked)
    run = history.run("last")
    after = told(run)
    assert after.pop("verdict") == "PASS" and before.pop("verdict") is None
    assert after.pop("check")["reasons"] == verdict.reasons and before.pop("check") is None
    assert after == before
    assert run.rows == heard.plan.rows and run.wall_s == heard.outcome.wall_s


def test_the_host_alone_stores_the_whole_run(history, heard):
    record_outcome(history, heard.outcome, heard.data.record())
    run = history.run("last")
    figures = summary(heard.outcome, heard.data.record())
    assert (run.state, run.lost_steps, run.step_count) == ("finished", [], figures["steps"])
    assert run.ssd == pytest.approx(figures["ssd"], rel=1e-15)
    assert run.centroids.tolist() == figures["centres"]
    assert [step.ssd is not None for step in run.steps] == [True] * run.step_count


def test_who_comes_afterwards_has_the_end_from_what_is_retained(history, heard):
    run = recorded(history, heard.retained, retained=True)
    assert (run.state, run.unseen, run.converged) == ("finished", True, True)
    assert run.step_count == heard.outcome.results[1]["steps"]
    assert all(result["rebuilt"] for result in run.results.values())
    assert run.centroids.tolist() == summary(heard.outcome, heard.data.record())["centres"]
    assert run.lost_steps == list(range(run.step_count - 1))
    assert [gap.kind for gap in run.gaps] == ["unseen"]


def test_numbers_that_begin_anew_are_other_runs(history):
    for _ in range(2):
        recorded(history, Heard("tree").messages)
    first, second = history.runs()
    assert (first.number, second.number) == (1, 1) and first.uid != second.uid
    assert history.run("1").uid == first.uid and history.run(second.uid[:6]).uid == second.uid


def test_a_run_is_found_by_all_its_names_and_nothing_else_is(history, heard):
    run = recorded(history, heard.messages)
    for ref in ("1", 1, "lab/1", "last", "lab/last", run.uid, run.uid[:8].upper()):
        assert history.run(ref).uid == run.uid
    for ref in (
        "2",
        "other/1",
        "",
        "0",
        "-1",
        "1.0",
        "lab/",
        "'; DROP TABLE runs; --",
        "9" * 40,
        "%",
        "____",
    ):
        with pytest.raises(NoSuchRun, match="has no run"):
            history.run(ref)
    assert history.run("1", "lab").uid == run.uid
    record_outcome(history, heard.outcome.__class__(**{**vars(heard.outcome), "network": "den"}))
    with pytest.raises(NoSuchRun, match="several networks have a run 1: say den/1 or lab/1"):
        history.run("1")


def test_a_list_goes_page_by_page(history, heard):
    fields = vars(heard.outcome)
    for number in range(1, 8):
        record = {**heard.outcome.record, "run": number}
        record_outcome(
            history,
            type(heard.outcome)(
                **{**fields, "run": number, "record": record, "commits": {}, "steps": {}, "results": {}}
            ),
        )
    first = history.runs(limit=3)
    second = history.runs(limit=3, before=first[-1].id)
    third = history.runs(limit=3, before=second[-1].id)
    assert [run.number for run in first + second + third] == [7, 6, 5, 4, 3, 2, 1]
    assert history.networks() == {"lab": 7}
    assert history.remove(run.uid for run in second) == 3
    assert [run.number for run in history.runs()] == [7, 6, 5, 1]


def test_a_list_of_summaries_says_what_each_run_says(history, heard):
    recorded(history, heard.messages)
    for asked in ({}, {"limit": 1}, {"limit": None, "kinds": ("tree",)}, {"network": "nobody"}):
        said = [run.summary() for run in history.runs(**asked)]
        assert history.summaries(**asked) == said
    assert history.summaries()


def test_what_is_removed_is_gone_with_all_that_hangs_on_it(history, heard):
    run = recorded(history, heard.messages)
    assert history.remove([run.uid]) == 1 and history.remove([run.uid]) == 0
    assert history.runs() == [] and history.steps(run) == [] and history.results(run) == {}
    assert told(recorded(history, heard.messages))["state"] == "finished"


def test_a_run_in_whose_place_another_comes_has_failed_or_nobody_knows(history):
    begun, next_one = Heard("tree"), Heard("tree", 2)
    early = [
        message for message in begun.messages if message[0].partition("/")[0] in ("run", "dataset", "step")
    ]
    writer = Writer(history)
    state = hand_over(writer, early)
    hand_over(writer, next_one.messages, at=T0 + 1, state=state)
    writer.write()
    writer.close()
    assert [(run.number, run.state) for run in history.runs()] == [(2, "finished"), (1, "failed")]
    idle = [("run", b'{"v":1,"run":4,"kind":"idle"}')]
    third = Heard("gossip", 3)
    recorded(
        history,
        [*third.messages[:1], next(one for one in third.messages if one[0] == "run"), *idle],
        at=T0 + 2,
    )
    assert (history.run(3).state, history.run(3).step_count, history.run(3).centroids) == ("failed", 0, None)


@given(st.one_of(st.floats(0, 4e9), st.integers(0, 4 * 10**12).map(lambda ms: ms / 1000)))
def test_a_time_is_written_as_datetime_writes_it(at):
    assert iso(at) == datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
