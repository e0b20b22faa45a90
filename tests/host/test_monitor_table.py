"""The monitor's table: every cell is text, whatever was sent."""

import io
import json
import time

from rich.console import Console

from dcka.monitor import NetworkState
from dcka.monitor.sparkline import ASCII_BLOCKS, BLOCKS, sparkline
from dcka.monitor.table import SHOWN_NODES, StateTable, ago
from dcka.mqtt import Message


def shown(state, width=140) -> str:
    """What the table looks like without colours."""
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(StateTable(state, "mqtt://127.0.0.1:1883"))
    return console.file.getvalue()


def say(state, node, retained=False, **changes):
    record = {"v": 1, "node": node, "boot": 1, "nonce": node, "state": "ready", **changes}
    suffix = f"status/{node}"
    state.take(node, Message(suffix, json.dumps(record).encode(), retained, 0.0), 0.0)


def test_members_that_were_not_seen_have_a_row_too():
    state = NetworkState("net", (1, 2))
    say(state, 2, rows=900, heap=90 * 1024, free=38 * 1024, dropped={"stale": 2}, run=3, step=4)
    rows = shown(state).splitlines()
    assert rows[0].startswith("network net at mqtt://127.0.0.1:1883: ")
    assert rows[2].split() == ["1", "not", "seen"]
    assert "900" in rows[3] and "90 of 128 KB" in rows[3] and "stale ×2" in rows[3]


def test_a_retained_status_says_so():
    state = NetworkState("net", (1,))
    say(state, 1, retained=True)
    assert "retained, over" in shown(state)


def test_markup_and_control_signs_are_shown_as_text():
    state = NetworkState("net", (1,))
    say(state, 1, problem="[red]boo[/red] \x1b[31m[link=http://x]", dropped={"[blink]": 1})
    text = shown(state, width=250)
    assert "[red]boo[/red]" in text and "[blink] ×1" in text
    assert "\x1b" not in text


def test_strangers_are_marked_and_a_crowd_is_cut():
    state = NetworkState("net", (1,))
    for node in range(2, SHOWN_NODES + 50):
        say(state, node)
    text = shown(state)
    assert "not in the network file" in text
    assert f"and {SHOWN_NODES + 49 - SHOWN_NODES} more" in text


def test_a_run_has_its_steps_and_an_away_broker_is_said():
    state = NetworkState("net", (1,))
    record = {"v": 1, "run": 3, "kind": "tree", "k": 2, "members": [1], "root": 1, "dataset": "ab"}
    state.take(0, Message("run", json.dumps(record).encode(), False, 0.0), 0.0)
    for step, ssd in enumerate((900, 30, 20)):
        step_record = {"v": 1, "run": 3, "step": step, "ssd": ssd}
        state.take(1, Message("step/1", json.dumps(step_record).encode(), False, 0.0), 0.0)
    state.broker_is(False, 0.0, 0.0)
    text = shown(state)
    assert "run 3: tree, K = 2, 1 node" in text
    assert "step 3, SSD 20 (grid)  █▂▁" in text
    assert "the broker is away" in text


def test_a_run_says_who_was_missing_and_who_is_root_instead():
    state = NetworkState("net", (1, 2, 3))
    record = {"v": 1, "run": 3, "kind": "tree", "k": 2, "members": [1, 2, 3], "root": 1, "dataset": "ab"}
    state.take(0, Message("run", json.dumps(record).encode(), False, 0.0), 0.0)
    assert "root" not in shown(state) and "without" not in shown(state)
    report = {"v": 1, "run": 3, "step": 0, "ssd": 9, "epoch": [2, 3, 1], "missing": [1]}
    state.take(3, Message("step/3", json.dumps(report).encode(), False, 0.0), 0.0)
    text = shown(state)
    assert "  root: node 3, since epoch 2 (scheduled: node 1)" in text
    assert "  without node 1 in all steps or some" in text
    say(state, 2, run=3, stalled=True, waiting=[1])
    assert "stalled, waits for 1" in shown(state)


def test_sparklines_are_logarithmic_and_fit():
    assert sparkline([100, 10, 1], 10) == BLOCKS[7] + BLOCKS[4] + BLOCKS[0]
    assert sparkline([5, 5], 10) == BLOCKS[0] * 2
    assert sparkline([0, 1], 10) == BLOCKS[0] * 2
    assert sparkline([], 10) == ""
    assert len(sparkline(list(range(1, 500)), 30)) == 30
    assert sparkline(list(range(1, 500)), 30)[-1] == BLOCKS[7]
    assert set(sparkline([3, 1], 5, ASCII_BLOCKS)) <= set(ASCII_BLOCKS)


def test_times_are_short():
    assert [ago(seconds) for seconds in (3.2, 119, 600, 9000)] == ["3 s", "119 s", "10 min", "2 h"]


def test_a_survey_has_its_step_and_no_ssd():
    state = NetworkState("net", (1, 2))
    record = {"v": 1, "run": 4, "kind": "survey", "members": [1, 2], "root": 1, "dataset": "00" * 8}
    state.take(0, Message("run", json.dumps(record).encode(), False, 0.0), 0.0)
    step = {"v": 1, "run": 4, "node": 1, "step": 2, "ssd": 0, "flags": 0}
    state.take(1, Message("step/1", json.dumps(step).encode(), False, 0.0), 0.0)
    text = shown(state)
    assert "run 4: survey, in which 2 nodes agree on the range of their readings" in text
    assert "  step 3" in text and "SSD" not in text


def test_a_deep_sleeper_is_shown_with_its_time_and_its_wake_is_no_reboot():
    network = NetworkState("lab", (1,))

    def said(**changes):
        record = {"v": 1, "node": 1, "boot": 1, "nonce": 1, **changes}
        # After the clock that the table is drawn by: nothing of it is over yet.
        at = time.monotonic()
        network.take(1, Message("status/1", json.dumps(record).encode(), False, at), 0.0)

    said(state="asleep", until_ms=1_800_000)
    assert "asleep, 30 min left" in shown(network)
    assert any("asleep for 30 min" in event.text for event in network.events)
    said(state="ready", boot=2, nonce=9)
    assert not any("rebooted" in event.text for event in network.events)
    said(state="ready", boot=3, nonce=10)
    assert any("rebooted (boot 3)" in event.text for event in network.events)


def test_a_tail_is_a_run_too_and_has_no_ssd():
    state = NetworkState("net", (1, 2))
    record = {"v": 1, "run": 4, "kind": "tail", "k": 3, "members": [1, 2], "root": 1, "dataset": "00" * 8}
    state.take(0, Message("run", json.dumps(record).encode(), False, 0.0), 0.0)
    step = {"v": 1, "run": 4, "node": 1, "step": 2, "ssd": 0, "flags": 0}
    state.take(1, Message("step/1", json.dumps(step).encode(), False, 0.0), 0.0)
    text = shown(state)
    assert "run 4: tail, in which 2 nodes agree on how far is too far from a centre" in text
    assert "  step 3" in text and "SSD" not in text
