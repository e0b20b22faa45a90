"""An outcome: what was kept comes back, bit for bit, and what is broken is said to be so."""

import json

import pytest
from checked_runs import with_commit
from runs_samples import RECORD, commit, outcome

from dcka.config import State
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka_core.messages import CONVERGED, FINAL


def test_what_is_saved_is_loaded_as_it_was(tmp_path):
    state = State(tmp_path / ".dcka")
    kept = outcome(waiting=[1], reason="no contribution from node 1 in step 2", finished=False, rejected=4)
    kept.save(state)
    assert Outcome.load(state, 3) == kept
    assert Outcome.load(state) == kept
    assert json.loads(state.run(3).read_text())["results"]["1"]["ssd"] == 99


def test_the_last_run_is_that_of_the_greatest_number(tmp_path):
    state = State(tmp_path)
    for number in (9, 10, 2):
        outcome(run=number).save(state)
    assert Outcome.load(state).run == 10


def test_json_gives_back_the_ids_as_numbers():
    read = Outcome.from_json(json.loads(json.dumps(outcome().to_json())))
    assert read == outcome()
    assert list(read.commits) == [1, 2]


def test_an_outcome_that_was_kept_before_nodes_could_be_absent_is_read():
    older = {name: value for name, value in outcome().to_json().items() if name != "absent"}
    read = Outcome.from_json(json.loads(json.dumps(older)))
    assert read == outcome()
    assert (read.absent, read.missing, read.whole) == ([], [], True)


def test_who_was_missing_is_what_the_last_commits_say_and_who_was_absent():
    kept = outcome(members=[2, 1, 7], record=RECORD | {"members": [2, 1, 7]}, absent=[7])
    assert (kept.missing, kept.settled, kept.whole) == ([7], True, False)
    assert Outcome.from_json(json.loads(json.dumps(kept.to_json()))) == kept
    ever = with_commit(outcome(), 1, missing=0b01)
    assert (ever.missing, ever.settled, ever.whole) == ([2], True, False)
    assert not outcome(finished=False).whole


def test_without_runs_the_way_to_one_is_said(tmp_path):
    with pytest.raises(OutcomeError, match="has no outcome of any run; make one with: dcka run"):
        Outcome.load(State(tmp_path))
    with pytest.raises(OutcomeError, match="has no outcome of run 8"):
        Outcome.load(State(tmp_path), 8)


@pytest.mark.parametrize(
    "broken", [{}, [], {"v": 2}, {"v": 1, "run": 3}, outcome().to_json() | {"commits": {"x": "00"}}]
)
def test_a_file_that_is_no_outcome_is_named(tmp_path, broken):
    state = State(tmp_path)
    state.write(state.run(3), broken)
    with pytest.raises(OutcomeError, match=r"3\.json: .*remove the file and run again"):
        Outcome.load(state, 3)


def test_a_commit_is_decoded_with_the_runs_record():
    made = decode_commit(outcome(), 1)
    assert (made.sender, made.step, made.flags) == (1, 4, FINAL | CONVERGED)
    assert (made.centres, made.counts, made.ssd) == ([1, 2, 30, 40], [3, 4], 99)


@pytest.mark.parametrize(
    "payload", ["", "zz", commit(1).hex()[:-2], commit(1, record=RECORD | {"run": 4}).hex()]
)
def test_a_broken_commit_is_named(payload):
    with pytest.raises(OutcomeError, match="the commit of node 1 is broken"):
        decode_commit(outcome(commits={1: payload}), 1)


def test_a_commit_that_was_never_seen_is_named():
    with pytest.raises(OutcomeError, match="node 2 has made no commit"):
        decode_commit(outcome(commits={1: commit(1).hex()}), 2)


def test_a_run_is_settled_once_every_member_holds_a_final_commit():
    assert outcome().settled
    assert not outcome(commits={1: commit(1).hex()}).settled
    assert not outcome(commits={1: commit(1).hex(), 2: commit(2, flags=0).hex()}).settled
