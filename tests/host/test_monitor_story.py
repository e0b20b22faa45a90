"""A run told again: from what nodes say, its steps, centres, disagreement and links; hostile words are refused."""

import json
from itertools import pairwise

import numpy as np
import pytest
from bus_connection import host
from run_network import NODES, configuration, equipped, planned

from dcka.monitor import centres
from dcka.monitor.links import contraction
from dcka.monitor.stories import Stories
from dcka.monitor.story import Story
from dcka.mqtt import Message
from dcka.mqtt.statuses import PayloadError
from dcka.runs.controller import run
from dcka.runs.outcome import decode_commit
from dcka.schedule.gossip import second_eigenvalue

__all__ = ["host"]

PREFIX = "dcka/lab/"


@pytest.fixture
def told(host):
    """A run of a kind, and what a monitor that heard all of it tells: (stories, outcome, data)."""

    def tell(kind, listen=lambda suffix: True):
        data = equipped(host)
        stories = Stories("lab")
        stories.take(0, message("dataset", data.record()))
        heard = host.bus.watch

        def watch(topic, payload):
            heard(topic, payload)
            suffix = topic.removeprefix(PREFIX)
            if listen(suffix) and suffix.partition("/")[0] in (
                "run",
                "rows",
                "x",
                "commit",
                "step",
                "result",
            ):
                last = suffix.rpartition("/")[2]
                stories.take(
                    int(last) if last.isdigit() else 0,
                    Message(suffix, bytes(payload), False, host.bus.now / 1000),
                )

        host.bus.watch = watch
        return stories, run(host, planned(data, schedule=kind)), data

    return tell


def message(suffix, record, at=0.0):
    payload = record if isinstance(record, bytes) else json.dumps(record).encode()
    return Message(suffix, payload, False, at)


@pytest.mark.parametrize("kind", ["tree", "gossip"])
def test_every_step_is_there_with_its_ssd_and_every_nodes_last_centres_are_those_of_its_commit(told, kind):
    stories, outcome, data = told(kind)
    story = stories.current
    steps = outcome.results[1]["steps"]
    assert story.finished
    assert sorted(story.progress.ssd) == list(range(steps))
    assert sorted(story.rows) == list(NODES)
    assert set(story.centres.final) == set(NODES)
    last = story.part(f"centres/{steps}")
    for node in NODES:
        assert last["sets"][last["of"][str(node)]] == decode_commit(outcome, node).centres
    if kind == "tree":
        assert len(last["sets"]) == 1
        assert sum(last["counts"]) == data.size
    # In the user's units, squared.
    ssd = [story.part(f"step/{step}")["ssd"] for step in range(steps)]
    parts = [result["ssd"] for result in outcome.results.values()]
    total = max(parts) if kind == "tree" else sum(parts)
    assert ssd[-1] == pytest.approx(total * data.grid.unit**2, rel=1e-3)
    assert all(json.dumps(story.part(name), allow_nan=False) for name in story.parts)


def test_tree_has_every_step_from_changes_alone_that_follow_a_commit(told):
    stories, outcome, _ = told("tree")
    assert list(stories.current.centres.steps) == list(range(1, outcome.results[1]["steps"] + 1))


def test_the_disagreement_of_gossip_ends_each_step_within_the_tolerance_and_begins_above_it(told):
    stories, outcome, _ = told("gossip")
    spreads, tolerance = stories.current.spreads, outcome.record["tolerance"] / 256
    assert list(spreads.steps()) == list(range(outcome.results[1]["steps"]))
    for step in spreads.steps():
        values = [value for _, value in spreads.of_step(step)]
        slots = [slot for slot, _ in spreads.of_step(step)]
        assert slots == [at * outcome.record["window"] for at in range(len(slots))]
        assert values[-1] <= tolerance
    # Of the first step nobody's centres are another's yet.
    assert spreads.of_step(0)[0][1] > 100 * tolerance
    # Nothing of what a node passes on widens what was there at the window's beginning.
    for step in spreads.steps():
        values = [value for _, value in spreads.of_step(step)]
        assert all(after <= before + 1 for before, after in pairwise(values))


def test_a_broker_that_shows_no_sums_costs_the_disagreement_alone(told):
    stories, outcome, _ = told("gossip", lambda suffix: not suffix.startswith("x/"))
    assert list(stories.current.spreads.steps()) == []
    assert len(stories.current.progress.ssd) == outcome.results[1]["steps"]


def test_the_predicted_rate_is_that_of_the_schedules_second_eigenvalue(told):
    stories, _, _ = told("gossip")
    story = stories.current
    graph = configuration().graph
    period = len(graph.phases)
    assert story.part("run")["rate"] == pytest.approx(second_eigenvalue(graph) ** (1 / period), rel=1e-9)
    assert contraction({}, story.run.members) is None


def test_parts_change_only_where_something_new_was_said(told):
    stories, _, _ = told("gossip")
    story = stories.current
    before = {name: json.dumps(story.part(name)) for name in story.parts}
    assert story.changed == set(story.parts) or story.changed <= set(story.parts)
    story.changed = set()
    stories.take(1, message("step/1", {"v": 1, "run": 99, "step": 0, "ssd": 1}))
    assert story.changed == set()
    assert before == {name: json.dumps(story.part(name)) for name in story.parts}


def test_what_is_kept_of_a_long_run_is_bounded_and_its_last_step_is_whole(told, monkeypatch):
    monkeypatch.setattr(centres, "MOST_NUMBERS", 60)
    stories, outcome, _ = told("gossip")
    story, steps = stories.current, outcome.results[1]["steps"]
    assert story.part("run")["thinned"]
    assert len(story.centres.steps[steps].of) == len(NODES)
    assert (
        sum(len(one) for kept in story.centres.steps.values() for one in kept.sets)
        <= 60 + 2 * len(NODES) * 6 + 6 * steps
    )


HOSTILE = (
    b"", b"{", b"\xff\xfe", b"[]", b'{"v":1}', b"\x12\x01\x01\x01\x01", b"A" * 100_000,
    b'{"v":1,"run":1,"step":NaN,"ssd":1}', b'{"v":1,"run":1,"step":1e999,"ssd":1}',
    b'{"v":1,"run":1,"step":0,"ssd":0,"centres":[-1]}', b'{"v":1,"run":1,"steps":"<script>","converged":true}',
)  # fmt: skip


def test_hostile_words_are_refused_or_change_nothing(told):
    stories, _, _ = told("gossip")
    story = stories.current
    before = {name: json.dumps(story.part(name)) for name in story.parts}
    refused = 0
    for suffix in ("run", "dataset", "rows/1", "commit/1", "step/1", "result/1", "x/0/1"):
        for payload in HOSTILE:
            try:
                stories.take(1 if "/" in suffix else 0, Message(suffix, payload, False, 0.0))
            except PayloadError as error:
                refused += 1
                assert len(str(error)) < 200
    assert refused > 40
    assert stories.current is story
    assert before == {name: json.dumps(story.part(name)) for name in story.parts}


def test_a_record_that_is_none_begins_no_story():
    with pytest.raises(PayloadError):
        Story({"v": 1, "run": 3, "kind": "tree"}, "lab", 0.0)


def test_levels_are_read_back_as_they_were(told):
    stories, outcome, data = told("tree")
    grid = stories.current.part("run")["grid"]
    levels = np.array(stories.current.part(f"centres/{outcome.results[1]['steps']}")["sets"][0]).reshape(
        -1, 2
    )
    units = np.array(grid["offset"]) + np.array(grid["steps"]) * levels
    assert units == pytest.approx(data.grid.to_units(levels))
