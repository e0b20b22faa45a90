"""The metrics: what a state makes of them, that counters only fall with a boot, and that labels stay few."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dcka import __version__
from dcka.errors import UsageError
from dcka.monitor import NetworkState
from dcka.monitor.exporter import StateCollector
from dcka.monitor.listen import is_loopback, parse_listen
from dcka.monitor.metrics import NODE_STATES, QUARANTINED, families
from dcka.monitor.state import SILENT_S
from dcka.monitor.tally import DROPPED, OTHER, OUTCOMES
from dcka.mqtt import Message
from dcka.mqtt.statuses import PayloadError

ROOT = Path(__file__).resolve().parents[2]
WALL = 1_700_000_000.0
LEDGER = [5, 2, 30, 4_000, 60, 8_000, 1_500]


class Registry(CollectorRegistry):
    def __init__(self, state, now):
        super().__init__()
        self.register(type("Now", (), {"collect": lambda _: families(state, now)})())


@pytest.fixture
def state():
    return NetworkState("net", (1, 2, 3))


def take(state, suffix, record, at=0.0, retained=False):
    payload = record if isinstance(record, bytes) else json.dumps(record).encode()
    node = int(suffix.partition("/")[2] or 0)
    try:
        state.take(node, Message(suffix, payload, retained, at), WALL)
    except PayloadError as error:
        state.rejected(suffix, str(error), WALL)


def status(node=1, **changes):
    return {"v": 1, "node": node, "boot": 1, "nonce": 7, "state": "ready", "run": 0, "step": 0, **changes}


def run_record(number=1, kind="tree", **changes):
    record = {"v": 1, "run": number, "kind": kind, "k": 4, "members": [1, 2, 3], "root": 2, "points": 900}
    return {**record, **changes}


def result(node, run=1, missing=()):
    return {"v": 1, "run": run, "node": node, "steps": 4, "converged": True, "missing": list(missing)}


def scraped(state, now=1.0):
    """What Prometheus reads: (name, label values) → value."""
    text = generate_latest(Registry(state, now)).decode()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_nodes_by_state(state):
    take(state, "status/1", status(1), at=100.0)
    take(state, "status/2", status(2, state="asleep", until_ms=60_000), at=100.0)
    found = scraped(state, now=101.0)
    assert {name: found["dcka_nodes", name] for name in NODE_STATES} == {
        "online": 1,
        "asleep": 1,
        "silent": 0,
        "offline": 0,
        "unseen": 1,
    }
    assert [found["dcka_node_up", node] for node in "123"] == [1, 1, 0]
    take(state, "status/2", status(2, state="offline"), at=101.0)
    found = scraped(state, now=100.5 + SILENT_S)
    assert (found["dcka_nodes", "silent"], found["dcka_nodes", "offline"]) == (1, 1)
    assert found["dcka_node_up", "1"] == found["dcka_node_up", "2"] == 0
    assert sum(found["dcka_nodes", name] for name in NODE_STATES) == 3


def test_how_long_a_node_is_silent_is_said_only_where_it_was_heard(state):
    take(state, "status/1", status(1), at=100.0)
    take(state, "status/2", status(2), at=100.0, retained=True)
    found = scraped(state, now=107.5)
    assert found["dcka_node_last_seen_age_seconds", "1"] == 7.5
    assert ("dcka_node_last_seen_age_seconds", "2") not in found


def test_the_figures_of_a_node_go_with_it_and_its_counters_stay(state):
    take(
        state, "status/1", status(1, heap=60_000, free=40_000, rows=900, dropped={"stale": 3}, ledger=LEDGER)
    )
    found = scraped(state)
    assert found["dcka_node_heap_live_bytes", "1"] == 60_000
    assert found["dcka_node_heap_free_bytes", "1"] == 40_000
    assert found["dcka_node_points", "1"] == 900
    assert found["dcka_node_boot", "1"] == 1
    take(state, "status/1", status(1, state="offline"))
    found = scraped(state)
    assert ("dcka_node_heap_live_bytes", "1") not in found
    assert found["dcka_node_dropped_total", "1", "stale"] == 3
    assert found["dcka_node_slots_awake_total", "1"] == 5
    assert found["dcka_node_associations_total", "1"] == 2
    assert found["dcka_node_broadcasts_total", "1"] == 30
    assert found["dcka_node_sent_bytes_total", "1"] == 4_000
    assert found["dcka_node_heard_total", "1"] == 60
    assert found["dcka_node_heard_bytes_total", "1"] == 8_000
    assert found["dcka_node_computing_seconds_total", "1"] == 1.5


def broadcasts(state, **changes):
    take(state, "status/1", status(1, **changes))
    return scraped(state).get(("dcka_node_broadcasts_total", "1"))


def test_a_counter_falls_with_a_new_boot_alone_and_then_to_what_that_has_counted(state):
    def ledger(broadcasts):
        return [0, 0, broadcasts, 0, 0, 0, 0]

    assert broadcasts(state, boot=1, nonce=7, ledger=ledger(300)) == 300
    assert (
        broadcasts(state, boot=1, nonce=7, ledger=ledger(280)) == 300
    )  # an old status, of a broker that came back
    assert broadcasts(state, boot=1, nonce=7) == 300
    assert broadcasts(state, boot=2, nonce=8, ledger=ledger(5)) == 5
    assert broadcasts(state, boot=2, nonce=8, ledger=ledger(9)) == 9
    # Two nodes have this id: the one that was there before goes on counting for nobody.
    assert broadcasts(state, boot=1, nonce=7, ledger=ledger(310)) == 9
    assert broadcasts(state, boot=2, nonce=8, ledger=ledger(11)) == 11


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 99), min_size=7, max_size=9)), max_size=20)
)
def test_within_a_boot_no_counter_ever_falls(said):
    state = NetworkState("net", (1,))
    newest, before, over = None, None, set()
    for nonce, ledger in said:
        now = broadcasts(state, nonce=nonce, boot=nonce, ledger=ledger)
        if nonce not in over:
            if newest is not None and nonce != newest:
                over.add(newest)
                before = None
            newest = nonce
        assert now >= (before or 0)
        before = now


@pytest.mark.parametrize("ledger", [[1, 2], "a lot", [1, 2, 3, 4, 5, 6, -7], [1.5] * 7, None])
def test_a_ledger_that_is_none_counts_nothing(state, ledger):
    assert broadcasts(state, ledger=ledger) is None


def test_a_run_that_all_have_given_a_result_of_is_finished(state):
    take(state, "run", run_record())
    for node in (1, 2):
        take(state, f"result/{node}", result(node))
    found = scraped(state)
    assert found["dcka_runs_begun_total", "tree"] == 1
    assert not any(found["dcka_runs_ended_total", "tree", outcome] for outcome in OUTCOMES)
    assert (found["dcka_run_results",], found["dcka_run_members",]) == (2, 3)
    take(state, "result/3", result(3))
    take(state, "run", run_record(2, "idle"))
    found = scraped(state)
    assert {outcome: found["dcka_runs_ended_total", "tree", outcome] for outcome in OUTCOMES} == {
        "finished": 1,
        "partial": 0,
        "failed": 0,
        "unknown": 0,
    }


def ended(state, outcome, kind="tree"):
    return scraped(state)["dcka_runs_ended_total", kind, outcome]


def test_a_run_without_a_node_is_partial_and_one_that_gives_way_has_failed(state):
    take(state, "run", run_record())
    take(state, "result/1", result(1, missing=[3]))
    assert ended(state, "partial") == 0
    take(state, "result/2", result(2, missing=[3]))
    assert ended(state, "partial") == 1
    assert scraped(state)["dcka_run_missing",] == 1
    take(state, "run", run_record(2, "gossip"))
    take(state, "result/1", result(1, run=2))
    take(state, "run", run_record(3, "idle"))
    assert (ended(state, "partial"), ended(state, "failed"), ended(state, "failed", "gossip")) == (1, 0, 1)


def test_of_a_run_during_an_outage_the_outcome_is_unknown_if_results_are_missing(state):
    take(state, "run", run_record())
    state.reconnected()
    take(state, "run", run_record(2), retained=True)
    take(state, "run", run_record(3))
    assert (ended(state, "unknown"), ended(state, "failed")) == (2, 0)
    for node in (1, 2, 3):
        take(state, f"result/{node}", result(node, run=3))
    assert ended(state, "finished") == 1
    assert scraped(state)["dcka_monitor_reconnects_total",] == 1


def test_the_run_that_was_there_before_is_shown_and_not_counted(state):
    take(state, "run", run_record(7, kind="gossip", k=9), retained=True)
    take(state, "run", run_record(8))
    found = scraped(state)
    assert (found["dcka_run_number",], found["dcka_run_points",], found["dcka_run_clusters",]) == (8, 900, 4)
    assert found["dcka_runs_begun_total", "gossip"] == 0
    assert not any(found["dcka_runs_ended_total", "gossip", outcome] for outcome in OUTCOMES)


def test_the_ssd_of_the_newest_step_with_its_unit(state):
    take(state, "run", run_record(root=2))
    for step, ssd in ((0, 80), (1, 50)):
        take(state, "step/2", {"v": 1, "run": 1, "node": 2, "step": step, "ssd": ssd, "flags": 0})
    found = scraped(state)
    assert (found["dcka_run_ssd", "grid"], found["dcka_run_step",]) == (50, 2)
    take(state, "run", run_record(2, "survey"))
    assert not [key for key in scraped(state) if key[0] == "dcka_run_ssd"]


def test_quarantine_is_told_of_the_one_that_is_in_it(state):
    for node, why in ((1, "sums are bad"), (2, "flood")):
        take(state, f"status/{node}", status(node, nonce=node, quarantined={"3": why[:20]}))
    take(state, "status/1", status(1, nonce=1, quarantined={"3": "flood", "4711": "flood"}))
    found = {key: value for key, value in scraped(state).items() if key[0] == "dcka_node_quarantined"}
    assert found == {("dcka_node_quarantined", "3", "flood"): 2}


def test_the_broker_and_what_came_of_it(state):
    take(state, "status/1", status(1))
    take(state, "status/2", b"{")
    state.rejected("x<y/9", "its topic names no node", WALL)
    state.broker_is(False, 0.0, WALL)
    found = scraped(state)
    assert found["dcka_broker_up",] == 0
    assert found["dcka_monitor_messages_total", "status"] == 1
    assert found["dcka_monitor_rejected_total", "status"] == 1
    assert found["dcka_monitor_rejected_total", OTHER] == 1
    assert any(key[0] == "dcka_build_info" and __version__ in key for key in found)


def test_no_word_of_a_payload_becomes_a_label(state):
    evil = 'evil"} 1\n# '
    for nonce in range(30):
        many = {f"{evil}{nonce}{i}": 1 for i in range(50)}
        take(
            state,
            "status/1",
            status(1, boot=nonce, nonce=nonce, dropped=many, problem=evil, firmware=evil, dataset=evil)
            | {"quarantined": {"2": "evil"}},
        )
        take(state, f"status/{40_000 + nonce}", status(40_000 + nonce))
    take(state, "run", run_record(1, evil))
    found = scraped(state)
    assert "evil" not in str(found)
    assert found["dcka_node_dropped_total", "1", OTHER] == 50
    assert found["dcka_node_quarantined", "2", OTHER] == 1
    assert found["dcka_nodes_strangers",] == 30
    assert not any("4000" in part for key in found for part in key[1:])


def test_names_keep_prometheus_conventions(state):
    take(state, "status/1", status(1, ledger=LEDGER, dropped={"run": 1}, heap=1, free=1))
    for family in families(state, 0.0):
        assert re.fullmatch("dcka_[a-z_]+", family.name) and family.documentation
        assert not family.name.endswith(("_ms", "_kb", "_count", "_total"))
        assert family.type in ("gauge", "counter", "info")


def test_the_reasons_are_those_of_the_firmware():
    texts = [file.read_text("utf-8") for file in sorted((ROOT / "firmware").rglob("*.py"))]
    said = {word for text in texts for word in re.findall(r'(?:MessageError|\.count)\("([a-z]+)"\)', text)}
    assert said >= {"stale", "twin", "value"} and said <= set(DROPPED)
    struck = {word for text in texts for word in re.findall(r'_strike\(sender, "([a-z]+)"', text)}
    assert struck == {"flood", "malformed"} and struck < set(QUARANTINED)


def test_a_collector_gives_the_state_under_its_guard(state):
    class Guard:
        held = entered = 0

        def __enter__(self):
            self.held = self.entered = 1

        def __exit__(self, *_):
            self.held = 0

    guard = Guard()
    assert "dcka_broker_up" in {family.name for family in StateCollector(state, guard).collect()}
    assert (guard.entered, guard.held) == (1, 0)


@pytest.mark.parametrize(
    ("text", "listens"),
    [
        ("9108", ("127.0.0.1", 9108)),
        ("0.0.0.0:9108", ("0.0.0.0", 9108)),
        ("pi.local:0", ("pi.local", 0)),
        ("[::1]:9108", ("::1", 9108)),
    ],
)
def test_where_to_listen(text, listens):
    assert parse_listen(text) == listens


@pytest.mark.parametrize(
    "text", ["", "x", ":9108", "70000", "-1", "1.2.3.4:", "::1:9108", "[::1]", "[pi]:1", "٣"]
)
def test_what_is_no_place_to_listen_is_a_sentence(text):
    with pytest.raises(UsageError, match=r"--metrics .*: give a port, such as 9108"):
        parse_listen(text)


def test_what_is_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost", "127.9.9.9")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.4", "pi.local")))
