"""What a terminal tells of a run: its clusters in the user's units, how far nodes are apart, its cost, its verdict."""

import io
import json

import numpy as np
import pytest
from bus_connection import host
from rich.console import Console
from run_network import equipped, planned

from dcka.monitor import NetworkState
from dcka.monitor.run_lines import SHOWN_CLUSTERS, run_lines
from dcka.monitor.stories import Stories
from dcka.monitor.table import StateTable
from dcka.mqtt import Message
from dcka.runs.controller import run
from dcka.runs.outcome import decode_commit

__all__ = ["host"]


@pytest.fixture
def told(host):
    """A run of a kind: (what a monitor that heard all of it knows, its outcome, the data)."""

    def tell(kind, **asked):
        data = equipped(host)
        state, stories = NetworkState("lab", (1, 2, 3)), Stories("lab")
        heard = host.bus.watch

        def take(suffix, payload):
            kind, _, node = suffix.partition("/")
            last = node.rpartition("/")[2]
            one = Message(suffix, bytes(payload), False, host.bus.now / 1000)
            if kind in ("run", "dataset", "status", "step", "commit", "result"):
                state.take(int(last or 0), one, 0.0)
            if kind in ("run", "dataset", "rows", "x", "step", "commit", "result"):
                stories.take(int(last or 0), one)

        def watch(topic, payload):
            heard(topic, payload)
            take(topic.removeprefix("dcka/lab/"), payload)

        take("dataset", json.dumps(data.record()).encode())
        host.bus.watch = watch
        return state, stories, run(host, planned(data, schedule=kind, **asked)), data

    return tell


def lines(stories, verdict=None):
    return [line.plain for line in run_lines(stories.current, verdict)]


@pytest.mark.parametrize("kind", ["tree", "gossip"])
def test_clusters_are_those_of_the_outcome_in_the_users_units(told, kind):
    _, stories, outcome, data = told(kind)
    text = lines(stories)
    head = next(at for at, line in enumerate(text) if line.split()[:2] == ["cluster", "points"])
    assert text[head].split()[2:] == list(data.columns)
    commit = decode_commit(outcome, min(outcome.commits))
    centres = data.grid.to_units(np.reshape(commit.centres, (-1, len(data.columns))))
    for k, row in enumerate(text[head + 1 : head + 1 + len(centres)]):
        name, *numbers = row.split()
        assert int(name) == k
        shown = [float(number.replace(",", "")) for number in numbers[-len(data.columns) :]]
        assert shown == pytest.approx(list(centres[k]), rel=1e-4, abs=1e-4)


def test_of_gossip_alone_it_is_told_how_far_nodes_are_apart(told):
    _, stories, _, _ = told("gossip")
    [line] = [line for line in lines(stories) if "nodes differ by" in line]
    assert "predicted: ×" in line
    assert any("nodes' centres moved in the last step" in line for line in lines(stories))


def test_of_the_exact_kind_there_is_nothing_to_differ(told):
    _, stories, _, _ = told("tree")
    assert not [line for line in lines(stories) if "differ" in line or "moved" in line]


def test_costs_are_the_results(told):
    _, stories, outcome, _ = told("tree")
    sent, octets = (sum(one[name] for one in outcome.results.values()) for name in ("sent", "bytes"))
    assert any(
        f"{sent:,} broadcasts, {octets:,} bytes from {len(outcome.results)} nodes" in line
        for line in lines(stories)
    )


def test_the_verdict_has_its_first_reason(told):
    _, stories, _, _ = told("tree")
    assert lines(stories)[-1] != "  PASS: all is well"
    assert (
        lines(stories, {"verdict": "PASS", "reasons": ["all is well", "and more"]})[-1]
        == "  PASS: all is well"
    )
    assert lines(stories, {"verdict": "FAIL", "reasons": ["node 2\x1b[31m differs"]})[-1].startswith(
        "  FAIL: node 2"
    )
    assert "\x1b" not in lines(stories, {"verdict": "FAIL", "reasons": ["\x1b[31m"]})[-1]


def test_many_clusters_are_cut(told):
    _, stories, _, _ = told("tree", k=SHOWN_CLUSTERS + 3)
    assert "  … and 3 more" in lines(stories)


def test_the_table_has_it_below_the_run_it_is_about(told):
    state, stories, outcome, _ = told("tree")
    console = Console(file=io.StringIO(), width=140, force_terminal=False)
    console.print(StateTable(state, "mqtt://127.0.0.1:1883", stories))
    text = console.file.getvalue()
    assert text.index(f"run {outcome.run}: tree") < text.index("cluster  points") < text.index("broadcasts")
    console = Console(file=io.StringIO(), width=140, force_terminal=False)
    console.print(StateTable(state, "mqtt://127.0.0.1:1883", Stories("lab")))
    assert "cluster  points" not in console.file.getvalue()
