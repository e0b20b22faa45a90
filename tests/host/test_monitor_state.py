"""The monitor's state: what messages make of it, and that nobody can deceive it or the terminal with one."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.datasets import gaussians
from dcka.inject.dataset import from_values
from dcka.inject.readings import as_readings
from dcka.monitor import NetworkState
from dcka.monitor.events import LONGEST, clean, counts
from dcka.monitor.state import SILENT_S
from dcka.mqtt import Message
from dcka.mqtt.statuses import PayloadError

WALL = 1_700_000_000.0


@pytest.fixture
def state():
    return NetworkState("net", (1, 2, 3))


def take(state, suffix, record, at=0.0, retained=False):
    """Hand a message in; the events, as (kind, data)."""
    payload = record if isinstance(record, bytes) else json.dumps(record).encode()
    node = int(suffix.partition("/")[2] or 0)
    return [
        (event.kind, event.data) for event in state.take(node, Message(suffix, payload, retained, at), WALL)
    ]


def status(node=1, **changes):
    return {"v": 1, "node": node, "boot": 1, "nonce": 7, "state": "ready", "run": 0, "step": 0, **changes}


def run_record(number=1, kind="tree", **changes):
    record = {
        "v": 1,
        "run": number,
        "kind": kind,
        "k": 4,
        "members": [1, 2, 3],
        "root": 2,
        "dataset": "00" * 8,
    }
    return {**record, **changes}


def step_data(**changes):
    plain = {"run": 1, "step": 0, "ssd": 0.0, "units": False, "scale": "one"}
    return {**plain, "missing": [], "epoch": 0, "root": 0, **changes}


def test_a_node_that_speaks_is_there_and_one_that_never_did_is_absent(state):
    assert state.absent() == [1, 2, 3]
    assert take(state, "status/1", status(rows=900, dataset="ab"))[0][0] == "status"
    assert state.absent() == [2, 3]
    assert state.nodes[1].state(1.0) == "ready"
    assert state.events[-1].text == "node 1 ready, 900 readings"


def test_a_heartbeat_is_no_event_but_counts_as_a_sign_of_life(state):
    take(state, "status/1", status(), at=0.0)
    assert take(state, "status/1", status(step=4, heap=9), at=10.0) == []
    assert state.nodes[1].age(12.0) == 2.0
    assert state.nodes[1].figures.step == 4


def test_a_retained_status_is_marked_and_never_fresh(state):
    events = take(state, "status/1", status(), at=100.0, retained=True)
    assert events[0][1]["retained"] is True
    assert "(retained)" in state.events[-1].text
    for at in (101.0, 110.0, 100.0 + SILENT_S):
        assert take(state, "status/1", status(), at=at, retained=True) == []
    assert state.nodes[1].live_at is None
    assert state.nodes[1].state(100.0 + SILENT_S) == "ready"
    assert state.nodes[1].state(100.1 + SILENT_S) == "silent"
    assert state.nodes[1].age(130.0) == 30.0


def test_a_retained_replay_does_not_refresh_a_node_that_was_heard_live(state):
    take(state, "status/1", status(), at=0.0)
    take(state, "status/1", status(), at=40.0, retained=True)
    assert state.nodes[1].age(40.0) == 40.0
    assert state.nodes[1].state(40.0) == "silent"


@pytest.mark.parametrize("suffix", ["step/1", "result/1", "commit/1"])
def test_anything_that_a_node_says_live_is_a_sign_of_life(state, suffix):
    take(state, "status/1", status(), at=0.0)
    commit = bytes([0x12, 9, 1, 1, 1])
    said = {
        "step/1": {"v": 1, "run": 9, "step": 0, "ssd": 1},
        "result/1": {"v": 1, "run": 9, "steps": 1, "converged": True},
        "commit/1": commit,
    }
    take(state, suffix, said[suffix], at=30.0, retained=True)
    assert state.nodes[1].live_at == 0.0
    take(state, suffix, said[suffix], at=30.0)
    assert state.nodes[1].live_at == 30.0


def test_going_and_coming_back_is_told_once_each_with_the_time(state):
    take(state, "status/1", status(rows=5), at=0.0)
    gone = take(state, "status/1", status(state="offline"), at=5.0)
    assert gone[0][1]["state"] == "offline"
    assert take(state, "status/1", status(state="offline"), at=6.0) == []
    assert state.nodes[1].offline_at == 5.0
    assert state.nodes[1].figures.rows == 5
    take(state, "status/1", status(boot=2, nonce=8), at=9.0)
    assert "rebooted (boot 2)" in state.events[-1].text
    assert state.nodes[1].offline_at is None
    assert take(state, "status/1", status(state="offline"), at=10.0) == []
    assert state.nodes[1].state(10.0) == "ready"


def test_a_will_that_is_retained_has_no_time(state):
    take(state, "status/1", status(state="offline"), at=5.0, retained=True)
    assert state.nodes[1].offline_at is None
    assert state.nodes[1].state(100.0) == "offline"


def test_a_cleared_status_takes_the_node_away(state):
    take(state, "status/1", status())
    assert take(state, "status/1", b"")[0][0] == "cleared"
    assert state.absent() == [1, 2, 3]
    assert take(state, "status/1", b"") == []


def test_two_nodes_of_one_id_are_told(state):
    take(state, "status/1", status(twin=True))
    assert "is there twice" in state.events[-1].text


def test_in_tree_the_root_tells_the_ssd_in_the_units_of_the_data(state):
    data = gaussians(1, nodes=3, per_gaussian=2)
    record = data.record()
    assert take(state, "dataset", record)[0] == (
        "dataset",
        {"name": "gaussians", "readings": 54, "retained": False},
    )
    assert take(state, "dataset", record) == []
    take(state, "run", run_record(dataset=record["dataset"]))
    assert take(state, "step/1", {"v": 1, "run": 1, "step": 0, "ssd": 7}) == []
    assert take(state, "step/2", {"v": 1, "run": 1, "step": 0, "ssd": 1000}) == [
        ("step", step_data(ssd=1000 * data.grid.step**2, units=True, root=2))
    ]
    assert take(state, "step/2", {"v": 1, "run": 1, "step": 0, "ssd": 5}) == []


def test_a_survey_is_told_without_an_ssd_and_leads_to_widths(state):
    values = {node: np.arange(6.0).reshape(3, 2) * node for node in (1, 2, 3)}
    data = from_values("t", ("a", "b"), values, scale="std")
    readings = as_readings(data)
    record = readings.record()
    assert take(state, "dataset", record)[0][1] == {"name": "t", "readings": 9, "retained": False}
    assert "readings, on no grid yet" in _told(state, "status/1", status(readings=record["dataset"]))
    text = _told(state, "run", run_record(kind="survey", dataset=record["dataset"]))
    assert text == "run 1: survey, in which 3 nodes agree on the range of their readings"
    assert _told(state, "step/2", {"v": 1, "run": 1, "step": 0, "ssd": 0}) == "run 1: step 1"
    take(state, "dataset", data.record())
    take(state, "run", run_record(2, dataset=data.id.hex()))
    step = {"v": 1, "run": 2, "step": 0, "ssd": 1000}
    assert take(state, "step/2", step) == [
        ("step", step_data(run=2, ssd=1000 * data.grid.unit**2, units=True, scale="std", root=2))
    ]


def test_a_score_is_told_without_an_ssd(state):
    text = _told(state, "run", run_record(kind="score", k=4))
    assert text == "run 1: score, in which 3 nodes judge a clustering with K = 4"
    assert _told(state, "step/2", {"v": 1, "run": 1, "step": 0, "ssd": 77}) == "run 1: step 1"


def test_a_seeding_is_told_without_an_ssd(state):
    text = _told(state, "run", run_record(kind="seeding", k=4))
    assert text == "run 1: seeding, in which 3 nodes draw K = 4 of their readings as a start"
    assert _told(state, "step/2", {"v": 1, "run": 1, "step": 0, "ssd": 0}) == "run 1: step 1"
    done = {"v": 1, "run": 1, "node": 2, "steps": 4, "converged": False, "missing": []}
    assert _told(state, "result/2", done) == "run 1: node 2 is done after 4 steps"


def _told(state, suffix, record):
    """The text of the one event that comes of it."""
    take(state, suffix, record)
    return state.events[-1].text


def test_in_gossip_a_step_is_told_when_all_members_have_told_their_part(state):
    take(state, "run", run_record(kind="gossip"))
    for node in (1, 3, 3):
        assert take(state, f"step/{node}", {"v": 1, "run": 1, "step": 0, "ssd": 5}) == []
    assert take(state, "step/9", {"v": 1, "run": 1, "step": 0, "ssd": 5}) == []
    told = take(state, "step/2", {"v": 1, "run": 1, "step": 0, "ssd": 6})
    assert told == [("step", step_data(ssd=16.0))]


def test_another_root_tells_of_its_steps_in_its_own_epoch(state):
    take(state, "run", run_record())
    report = {"v": 1, "run": 1, "step": 0, "ssd": 9}
    take(state, "step/2", report)
    for bogus in ({}, {"epoch": [1, 2, 4]}, {"epoch": [1, 1]}):  # who tells of an epoch is its root
        assert take(state, "step/1", report | {"step": 1} | bogus) == []
    later = report | {"step": 1, "epoch": [4, 1, 2], "missing": [2]}
    assert take(state, "step/1", later) == [
        ("step", step_data(step=1, ssd=9.0, missing=[2], epoch=4, root=1))
    ]
    assert state.events[-1].text == "run 1: step 2, SSD 9, without node 2, node 1 is the root now (epoch 4)"
    take(state, "step/1", later | {"step": 2, "missing": []})
    assert state.events[-1].text == "run 1: step 3, SSD 9"
    assert (state.run.root, state.run.epoch, state.run.scheduled, state.run.missing) == (1, 4, 2, {2})
    take(state, "run", run_record(2))
    assert (state.run.root, state.run.epoch, state.run.missing) == (2, 0, set())


def test_a_result_says_who_was_missing(state):
    take(state, "run", run_record())
    result = {"v": 1, "run": 1, "steps": 8, "converged": True, "missing": [3, 77]}
    assert take(state, "result/1", result)[0][1]["missing"] == [3]
    assert state.events[-1].text.endswith("converged, without node 3 in all steps or some")
    assert state.run.missing == {3}


def test_a_root_that_stalls_is_news_and_so_is_its_going_on(state):
    take(state, "status/1", status(state="running", run=1, waiting=[2, 3]))
    stalled = status(state="running", run=1, waiting=[2, 3], stalled=True)
    assert take(state, "status/1", stalled)[0][1]["stalled"] is True
    assert "stalled: half of the nodes or more are missing, waits for 2, 3" in state.events[-1].text
    assert take(state, "status/1", stalled) == []
    assert take(state, "status/1", status(state="running", run=1))[0][1]["stalled"] is False


def test_another_run_s_reports_change_nothing_and_a_newer_run_begins_anew(state):
    take(state, "run", run_record(5))
    take(state, "step/2", {"v": 1, "run": 5, "step": 0, "ssd": 5})
    for number in (4, 6):
        assert take(state, "step/2", {"v": 1, "run": number, "step": 1, "ssd": 5}) == []
        assert take(state, "result/2", {"v": 1, "run": number, "steps": 1, "converged": True}) == []
    assert take(state, "run", run_record(4)) == []
    assert state.run.ssd == {0: 5.0}
    assert take(state, "run", run_record(6, "gossip"))[0][1]["kind"] == "gossip"
    assert state.run.ssd == {}


def test_results_are_counted_once_a_member(state):
    take(state, "run", run_record())
    result = {"v": 1, "run": 1, "steps": 8, "converged": True}
    assert len(take(state, "result/1", result)) == 1
    assert take(state, "result/1", result) == take(state, "result/9", result) == []
    assert state.run.done == {1}


def test_the_broker_s_going_and_coming_are_events(state):
    assert state.broker_is(True, 1.0, WALL) == []
    assert [event.data for event in state.broker_is(False, 2.0, WALL)] == [{"state": "away"}]
    assert state.broker_is(False, 3.0, WALL) == []
    assert state.broker_at == 2.0
    assert [event.data for event in state.broker_is(True, 4.0, WALL)] == [{"state": "back"}]


HOSTILE = "[bold red]x[/] \x1b[2J\x07‮​\r\n\ttail \ud800" + "y" * 500


def test_hostile_text_is_text(state):
    take(state, "status/1", status(problem=HOSTILE[:900], dropped={HOSTILE: 3}, waiting=list(range(500))))
    line = state.events[-1].line()
    assert line.isprintable()
    assert "[bold red]x[/]" in line
    assert len(line) < 400


@given(st.text(st.characters(), max_size=600))
@settings(derandomize=True, deadline=None)
def test_clean_text_is_printable_and_short_and_itself_where_harmless(text):
    cleaned = clean(text)
    assert cleaned.isprintable()
    assert len(cleaned) <= LONGEST
    if text.isprintable() and len(text) <= LONGEST:
        assert cleaned == text


def test_counts_are_the_most_frequent_first():
    assert counts({"a": 1, "stale": 9, "b": 1}) == "stale ×9, a ×1, b ×1"


whole = st.one_of(st.integers(-1, 3), st.none(), st.text(max_size=2), st.lists(st.integers(0, 4), max_size=3))
KEYS = ("missing", "epoch", "stalled",
        "run", "kind", "k", "members", "root", "dataset", "step", "ssd", "steps", "converged", "state", "boot",
        "nonce", "node", "offset", "nodes", "bits", "extents", "constant", "dropped", "waiting")  # fmt: skip
records = st.dictionaries(st.sampled_from(KEYS), whole).map(lambda record: {"v": 1, **record})
payloads = st.one_of(st.binary(max_size=30), records.map(lambda record: json.dumps(record).encode()))
SUFFIXES = ("run", "dataset", "status/1", "step/1", "commit/1", "result/1", "other/1")


@given(st.lists(st.tuples(st.sampled_from(SUFFIXES), payloads, st.booleans()), max_size=6))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_whatever_comes_is_taken_or_refused_with_a_reason(messages):
    state = NetworkState("net", (1, 2))
    for suffix, payload, retained in messages:
        message = Message(suffix, payload, retained, 0.0)
        try:
            events = state.take(int(suffix.partition("/")[2] or 0), message, WALL)
        except PayloadError as error:
            assert str(error)
            continue
        for event in events:
            assert event.line().isprintable()
            json.dumps(event.record(), allow_nan=False)
