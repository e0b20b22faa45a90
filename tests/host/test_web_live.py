"""What the page is told of nodes and events: ages on one clock, harmless words, and no more events than it keeps."""

import json
import time

from dcka.monitor import Event, NetworkState
from dcka.monitor.node_part import LONGEST, node_part
from dcka.mqtt import Message
from dcka.mqtt.statuses import SILENT_S
from dcka.web.live import KEPT_EVENTS, Live


def status(at=0.0, retained=False, **changes):
    record = {"v": 1, "node": 1, "boot": 1, "nonce": 7, "state": "ready", **changes}
    return Message("status/1", json.dumps(record).encode(), retained, at)


def part(state, now):
    return node_part(state.nodes[1], now, True)


def test_a_retained_word_never_makes_a_node_younger_and_two_missed_heartbeats_end_it():
    state = NetworkState("net", (1,))
    state.take(1, status(at=100.0, retained=True), 0.0)
    assert part(state, 101.0)["there"]
    assert part(state, 101.0)["heard"] is None
    # It is asked for again, with every subscription.
    state.take(1, status(at=110.0, retained=True), 0.0)
    assert part(state, 100.0 + SILENT_S + 1)["state"] == "silent"
    assert not part(state, 100.0 + SILENT_S + 1)["there"]
    state.take(1, status(at=130.0), 0.0)
    assert part(state, 131.0)["heard"] == 130_000
    assert part(state, 130.0 + SILENT_S - 1)["there"]
    gone = part(state, 130.0 + SILENT_S + 1)
    assert (gone["there"], gone["since"]) == (False, 130_000)


def test_a_sleeper_is_there_until_it_has_overslept():
    state = NetworkState("net", (1,))
    state.take(1, status(at=0.0, state="asleep", until_ms=60_000), 0.0)
    assert part(state, 61.0)["asleep"]
    assert not part(state, 60.0 * 1.1 + SILENT_S + 1)["there"]


def test_words_are_cut_and_cleaned_and_numbers_that_are_none_are_left_out():
    state = NetworkState("net", (1,))
    state.take(
        1, status(problem="\x1b[31m" + "x" * 900, firmware="<b>", rssi="loud", dropped={"odd": 3}), 0.0
    )
    shown = part(state, 1.0)
    assert "\x1b" not in shown["problem"]
    assert len(shown["problem"]) <= LONGEST
    assert (shown["firmware"], shown["rssi"], shown["dropped"]) == ("<b>", None, {"other": 3})
    state.take(1, status(rssi=-61), 0.0)
    assert part(state, 1.0)["rssi"] == -61


def test_the_feed_keeps_so_many_events_and_a_cleared_node_goes():
    live = Live(NetworkState("net", (1,)), "mqtt://here")
    live.tell([Event("status", f"event {number}", 0.0, {}) for number in range(KEPT_EVENTS + 20)])
    live.state.take(1, status(at=time.monotonic()), 0.0)
    live.take(1, status())
    live.refresh()
    values = json.loads(live.feed.since(0)[1])
    events = [value["number"] for name, value in values.items() if name.startswith("event/")]
    assert sorted(events) == list(range(20, KEPT_EVENTS + 20))
    assert values["node/1"]["state"] == "ready"
    cleared = Message("status/1", b"", False, 0.0)
    live.state.take(1, cleared, 0.0)
    live.take(1, cleared)
    live.refresh()
    assert "node/1" not in json.loads(live.feed.since(0)[1])


def test_a_verdict_from_before_anybody_looked_is_there_for_who_looks_later():
    live = Live(NetworkState("net", (1,)), "mqtt://here")
    record = {"v": 1, "run": 3, "kind": "tree", "members": [1], "root": 1, "depth": 0, "dataset": "00" * 8}
    record |= {
        "points": 9,
        "n": 2,
        "bits": 8,
        "k": 2,
        "init": "shared",
        "seed": 1,
        "max_steps": 9,
        "patience_ms": 500,
    }
    message = Message("run", json.dumps(record).encode(), False, 0.0)
    live.state.take(0, message, 0.0)
    live.take(0, message)
    live.verdict(3, {"verdict": "PASS", "reasons": [], "reference": None})
    live.refresh()
    values = json.loads(live.feed.since(0)[1])
    assert values["verdict"]["verdict"] == "PASS"
    assert values["runs"][0]["verdict"] == "PASS"
    assert values["story/run"]["number"] == 3
