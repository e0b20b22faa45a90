"""A run into which anything is thrown: what it comes to stays the same, and each throw is counted by topic."""

import json
import random

import pytest
from bus_connection import host
from run_network import NODES, Story, equipped, final, planned, readings

from dcka.runs.controller import run
from dcka_core.messages import CHUNK, COMMIT, SHARE, UP, put_head

__all__ = ["host"]

GARBAGE = {
    "a cut object": b"{",
    "bytes that are no text": b"\xff\xfe",
    "a list": b"[]",
    "no version": b'{"run":1}',
    "a text for a number": b'{"v":1,"run":"1","node":"1"}',
    "deep nesting": b"[" * 100_000,
    "nan": b'{"v":1,"run":NaN}',
    "a number of 5,000 digits": b'{"v":1,"run":' + b"9" * 5000 + b"}",
    "a megabyte of A": b"A" * (1 << 20),
    "nothing": b"",
}
FOR_THE_HOST = ("status/1", "result/2", "step/3")


@pytest.fixture(params=["tree", "gossip"])
def kind(request):
    return request.param


def disturbed(host, kind, disturb, number=2):
    """(the outcome, the story) of a run in which `disturb` is called at each report of the first step's end; what it
    comes to has to be what a calm run does."""
    data = equipped(host) if not host.bus.nodes else readings()
    calm = final(run(host, planned(data, number - 1, schedule=kind)))

    def at(kind_of_event, told):
        if kind_of_event == "step" and told["step"] == 0:
            disturb()

    story = Story(at)
    outcome = run(host, planned(data, number, schedule=kind), on_event=story)
    assert outcome.finished, outcome.reason
    assert final(outcome) == calm
    return outcome, story


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("topic", FOR_THE_HOST)
def test_garbage_for_the_host_is_counted_with_topic_and_reason(host, kind, topic, name):
    thrown = []

    def disturb():
        thrown.append(topic)
        host.arrive(topic, GARBAGE[name])

    outcome, story = disturbed(host, kind, disturb)
    assert outcome.rejected == len(thrown) > 0
    assert {rejected for rejected, _ in host.rejected} == {topic}
    assert all(reason for _, reason in host.rejected)
    assert len(story.of("rejected")) == len(thrown)


@pytest.mark.parametrize("name", [name for name in GARBAGE if name != "nothing"])
def test_garbage_for_a_commit_is_counted_but_for_one_that_was_cleared(host, kind, name):
    thrown = []

    def disturb():
        thrown.append(host.arrive("commit/4", GARBAGE[name]))

    outcome, _ = disturbed(host, kind, disturb)
    assert outcome.rejected == len(thrown) > 0
    assert {topic for topic, _ in host.rejected} == {"commit/4"}
    again, _ = disturbed(host, kind, lambda: host.arrive("commit/4", b""), number=4)
    assert again.rejected == 0


def result(**changes):
    whole = {
        "v": 1, "run": 2, "node": 2, "steps": 3, "converged": True, "ssd": 5, "missing": [], "flags": 3,
        "sent": 8, "bytes": 320, "heard": 8, "slots": 0, "ms": 12, "heap": 60_000,
    }  # fmt: skip
    return json.dumps(whole | changes).encode()


def step(**changes):
    whole = {
        "v": 1, "run": 2, "node": 2, "step": 0, "ssd": 5, "flags": 0, "moved": True, "slots": 2,
        "centres": [1, 2, 3, 4, 5, 6], "put": "0123456789abcdef",
    }  # fmt: skip
    return json.dumps(whole | changes).encode()


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (result(run=1), "of another run"),
        (result(node=3), "node is not the topic's"),
        (result(steps=-5), "steps is no whole number"),
        (result(sent="250"), "sent is no whole number"),
        (result(ms=1.5), "ms is no whole number"),
        (result(bytes=1 << 70), "bytes is no whole number"),
        (result(heap=True), "heap is no whole number"),
        (result(converged=1), "converged is neither"),
        (result(flags=32), "flags or missing"),
        (result(missing=[99]), "flags or missing"),
        (result(missing=None), "missing is no list"),
    ],
)
def test_a_malformed_result_is_not_taken(host, kind, payload, reason):
    disturbed(host, kind, lambda: host.arrive("result/2", payload))
    assert all(known.startswith(reason) for _, known in host.rejected)
    assert host.rejected


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (step(centres=[1, 2, 3, 4]), "centres are not those"),
        (step(centres=[1, 2, 3, 4, 5, 1 << 15]), "centres are not those"),
        (step(centres=[1, 2, 3, 4, 5, -1]), "centres is no list"),
        (step(put="0123"), "put or moved"),
        (step(moved="yes"), "put or moved"),
        (step(slots=0), "slots is no whole number from 1"),
        (step(step=100), "flags or step"),
        (step(ssd=-1), "ssd is no whole number"),
    ],
)
def test_malformed_step_telemetry_is_not_taken(host, payload, reason):
    disturbed(host, "gossip", lambda: host.arrive("step/2", payload))
    assert all(known.startswith(reason) for _, known in host.rejected)
    assert host.rejected


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (step(missing=[9]), "missing or epoch"),
        (step(missing=list(NODES)), "missing or epoch"),
        (step(missing=3), "missing is no list"),
        (step(missing=["3"]), "missing is no list"),
        (step(epoch=[1, 2]), "missing or epoch"),
        (step(epoch=[1, 9, 1]), "missing or epoch"),
        (step(epoch=[1, 2, -1]), "epoch is no list"),
    ],
)
def test_a_malformed_report_of_a_root_is_not_taken(host, payload, reason):
    disturbed(host, "tree", lambda: host.arrive("step/3", payload.replace(b'"node": 2', b'"node": 3')))
    assert all(known.startswith(reason) for _, known in host.rejected)
    assert host.rejected


def test_a_second_result_that_says_other_than_the_first_is_a_conflict(host, kind):
    data = equipped(host)
    arrive = host.arrive

    def contradicted(suffix, payload, retained=False):
        arrive(suffix, payload, retained)
        if suffix == "result/1":
            arrive(suffix, payload, retained)
            arrive(suffix, payload.replace(b'"ssd"', b'"ssd": 1, "ssd_"'), retained)

    host.arrive = contradicted
    outcome = run(host, planned(data, schedule=kind))
    assert outcome.finished
    assert outcome.results[1]["ssd"] != 1
    assert dict(host.rejected) == {("result/1", "conflict: it says other than before"): 1}


def test_garbage_on_the_runs_own_topic_is_counted_and_put_right(host, kind):
    thrown = []

    def disturb():
        thrown.append(host.bus.publish("dcka/lab/run", b"{", True))

    outcome, _ = disturbed(host, kind, disturb)
    assert host.rejected["run", "no JSON"] == outcome.rejected == len(thrown) > 0
    assert json.loads(host.bus.retained["dcka/lab/run"]) == outcome.record


def test_an_older_run_on_the_runs_topic_is_put_right(host, kind):
    old = json.dumps(planned(equipped(host), 1, schedule=kind).record).encode()
    host.bus.retained["dcka/lab/run"] = old
    data = equipped(host)
    thrown = []

    def at(kind_of_event, told):
        if kind_of_event == "begun":
            thrown.append(host.bus.publish("dcka/lab/run", old, True))

    outcome = run(host, planned(data, 4, schedule=kind), on_event=Story(at))
    assert thrown and outcome.finished
    assert json.loads(host.bus.retained["dcka/lab/run"])["run"] == 4


def messages_of(number):
    """Something of every binary type, of run `number`, cut after its head."""
    return [bytes(put_head(what, number, 1, 1, 0)) for what in (UP, COMMIT, SHARE, CHUNK)]


@pytest.mark.parametrize("seed", range(4))
def test_garbage_on_every_topic_of_the_network_changes_nothing(host, kind, seed):
    stream = random.Random(seed)
    topics = [
        f"{name}/{node}" for name in ("rows", "put", "x/0", "x/1", "commit", "status") for node in NODES
    ]
    payloads = [
        *GARBAGE.values(),
        b"",
        *messages_of(1),
        *messages_of(2),
        *messages_of(9),
        stream.randbytes(40),
    ]
    payloads = [payload for payload in payloads if len(payload) <= 4096]  # what a node's link lets through

    def disturb():
        for _ in range(12):
            host.bus.publish(f"dcka/lab/{stream.choice(topics)}", stream.choice(payloads), False)

    outcome, _ = disturbed(host, kind, disturb)
    assert outcome.rejected > 0
    dropped = [status["dropped"] for status in outcome.statuses.values()]
    assert sum(sum(counts.values()) for counts in dropped) > 0


def test_what_an_earlier_run_left_retained_is_no_word_of_this_one(host, kind):
    """C21: a commit and a contribution of run 1, retained, and a node that restarts in run 2."""
    data = equipped(host)
    calm = final(run(host, planned(data, 1, schedule=kind)))
    made = planned(data, 2, schedule=kind)
    leaf = next(node for node, row in made.rows.items() if not row.get("children") and node != made.root)
    host.bus.publish(f"dcka/lab/x/0/{leaf}", messages_of(1)[0], True)
    host.bus.publish("dcka/lab/run", json.dumps(planned(data, 1, schedule=kind).record), True)

    def at(kind_of_event, told):
        if kind_of_event == "step" and told["step"] == 0 and host.bus.boots[leaf] == 1:
            host.bus.kill(leaf)
            host.bus.boot(leaf)

    outcome = run(host, made, limit_s=30, on_event=Story(at))
    assert outcome.finished
    assert {status["run"] for status in outcome.statuses.values()} == {2}
    if kind == "tree":
        assert final(outcome) == calm
    assert outcome.rejected == 0


def test_the_product_retains_state_and_never_a_contribution(host, kind):
    data = equipped(host)
    kept = set()
    publish = host.bus.publish

    def watch(topic, payload, retain=False):
        if retain and payload:
            kept.add(topic.split("/")[2])
        publish(topic, payload, retain)

    host.bus.publish = watch
    run(host, planned(data, schedule=kind))
    assert kept == {"rows", "run", "commit", "status"}
