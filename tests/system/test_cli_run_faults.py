"""Runs on real MicroPython nodes while things break: they end with the same centres, or say in time what is wrong."""

import json
import random
from contextlib import contextmanager

import pytest
from servers import ENGINES, TestClient, running, wait_until

from dcka.config import from_mapping
from dcka.datasets import gaussians
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.mqtt.readiness import NotReady
from dcka.runs.controller import run
from dcka.runs.outcome import decode_commit
from dcka.runs.plan import plan
from dcka.runs.survey import survey

NODES = (1, 2, 3, 4, 5)
DATA = gaussians(3, len(NODES), 20)

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))


class Lab:
    """A broker, five nodes with their data, and the host's connection."""

    def __init__(self, broker, nodes, connection):
        self.broker, self.nodes, self.connection = broker, nodes, connection
        self.last = 0

    def run(self, at=lambda kind, data: None, limit_s=40.0, **overrides):
        """The outcome of the next run; `at` is told its events."""
        self.last += 1
        found = survey(self.connection, NODES)
        config = from_mapping({"run": {"k": 9, "patience_ms": 300}})
        made = plan(config, DATA.record(), self.last, max_message=found.max_message, **overrides)
        self.plan = made
        return run(self.connection, made, limit_s=limit_s, on_event=at)


@contextmanager
def laboratory(engine, folder=None):
    with (
        running(engine, folder=folder) as broker,
        MicroPythonNetwork("sensors", NODES, broker.address) as nodes,
        Connection(broker.address, "sensors") as connection,
    ):
        send(connection, DATA)
        yield Lab(broker, nodes, connection)
        assert nodes.failures() == []


@pytest.fixture(scope="module", params=ENGINES)
def lab(request):
    with laboratory(request.param) as made:
        yield made


@pytest.fixture(params=["tree", "gossip"])
def kind(request):
    return request.param


@pytest.fixture
def fresh_numbers(lab):
    """Leave a number free for the record that ended a run."""
    yield
    lab.last += 1


def final(outcome):
    """What every node holds in the end."""
    assert outcome.finished, outcome.reason
    return {node: _held(decode_commit(outcome, node)) for node in NODES}


def _held(commit):
    return commit.step, tuple(commit.centres), tuple(commit.counts), commit.ssd


def once(action, step=1):
    """An event handler that does `action` when somebody first tells that a step has ended."""
    done = []

    def at(kind, data):
        if kind == "step" and data["step"] == step and not done:
            done.append(kind)
            action()

    at.done = done
    return at


def test_both_brokers_and_every_node_give_the_same_bits(lab, kind, same_everywhere):
    outcome = lab.run(schedule=kind)
    held = final(outcome)
    if kind == "tree":
        assert len(set(held.values())) == 1
    assert same_everywhere.setdefault(kind, held) == held
    assert outcome.rejected == 0


@pytest.fixture(scope="session")
def same_everywhere():
    """What each kind came to on the first broker."""
    return {}


@pytest.mark.parametrize("engine", ENGINES)
def test_garbage_on_every_topic_during_a_run_changes_nothing(engine, kind):
    """C26, C27: what is thrown is counted, by the host and by the nodes, and nobody falls."""
    with laboratory(engine) as lab:
        _thrown_at(lab, kind)


def _thrown_at(lab, kind):
    calm = final(lab.run(schedule=kind))
    stream = random.Random(1)
    names = ("rows", "put", "x/0", "x/1", "commit", "status", "result", "step", "got")
    topics = ["run", *(f"{name}/{node}" for name in names for node in NODES)]
    payloads = [
        b"{",
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"run":1}',
        b'{"v":1,"run":"250"}',
        b"A" * (2 << 20),
        b"A" * 3000,
    ]

    with TestClient(lab.broker.address, "vandal") as vandal:

        def throw():
            for topic in topics:
                vandal.publish(f"dcka/sensors/{topic}", stream.choice(payloads[:6]))
            for payload in payloads[6:]:
                vandal.publish(f"dcka/sensors/status/{stream.choice(NODES)}", payload)
                vandal.publish(f"dcka/sensors/put/{stream.choice(NODES)}", payload)
            vandal.received(vandal)

        at = once(throw)
        outcome = lab.run(at, schedule=kind)
    assert at.done
    assert lab.nodes.failures() == []
    assert final(outcome) == calm
    assert outcome.rejected > 10
    # What came last may have been dropped after the last word of this run.
    afterwards = lab.run(schedule=kind)
    reasons = {reason for status in afterwards.statuses.values() for reason in status["dropped"]}
    assert "oversize" in reasons and "json" in reasons


def test_a_retained_contribution_of_an_old_run_is_no_part_of_a_new_one(lab):
    """C21, and a node that is power-cycled in mid-run."""
    calm = final(lab.run())
    with TestClient(lab.broker.address, "past") as past:
        stale = bytes([0x11, lab.last, 3, 1, 0]) + bytes(40)
        past.publish("dcka/sensors/x/0/3", stale, retain=True)
        past.received(past)
        leaf = 3
        at = once(lambda: lab.nodes.restart(leaf))
        try:
            outcome = lab.run(at)
        finally:
            past.publish("dcka/sensors/x/0/3", b"", retain=True)
    assert at.done
    assert outcome.finished, outcome.reason
    assert {status["run"] for status in outcome.statuses.values()} == {lab.last}
    assert outcome.statuses[leaf]["boot"] > 1
    assert final(outcome) == calm


def test_a_node_that_dies_in_mid_run_is_named_in_bounded_time(lab, kind, fresh_numbers):
    victim = 3
    at = once(lambda: lab.nodes.kill(victim), step=0)
    try:
        outcome = lab.run(at, limit_s=1.5, schedule=kind)
    finally:
        lab.nodes.restart(victim)
    assert not outcome.finished
    assert outcome.waiting == [victim]
    assert outcome.reason.startswith(f"no contribution from node {victim} ")
    assert outcome.reason.endswith("it is offline")


def test_after_a_run_that_was_given_up_the_next_one_is_as_ever(lab, kind, same_everywhere):
    assert final(lab.run(schedule=kind)) == same_everywhere[kind]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_broker_that_restarts_in_mid_run_changes_no_bit(engine, tmp_path):
    """C28: nodes and host come back by themselves, and subscribe again."""
    with laboratory(engine, tmp_path / "store") as lab:
        calm = final(lab.run())

        def crash():
            lab.broker.kill()
            lab.broker.restart()

        at = once(crash)
        outcome = lab.run(at)
        assert at.done
        assert final(outcome) == calm
        assert {status["boot"] for status in outcome.statuses.values()} == {1}


def test_a_broker_that_forgets_everything_in_mid_run_changes_no_bit(tmp_path):
    """C28, without persistence: the host says again what was retained."""
    with laboratory("mosquitto") as lab:
        calm = final(lab.run())

        def crash():
            lab.broker.kill()
            lab.broker.restart()

        outcome = lab.run(once(crash))
        assert final(outcome) == calm
        with TestClient(lab.broker.address, "reader") as reader:
            reader.subscribe("dcka/sensors/run", "dcka/sensors/dataset")
            kept = {message.topic: json.loads(message.payload) for message in reader.received(reader)}
        assert kept["dcka/sensors/run"] == outcome.record
        assert kept["dcka/sensors/dataset"] == DATA.record()


def test_two_nodes_of_one_id_are_named_before_a_run():
    """C23: where the broker lets the one hear the other, it says so in its status."""
    with laboratory("embedded") as lab, MicroPythonNetwork("sensors", [2], lab.broker.address):
        said = []

        def refused():
            try:
                survey(lab.connection, NODES, ready_s=1)
            except NotReady as error:
                said.append(str(error))
            return any("use the same id" in sentence for sentence in said)

        wait_until(refused, "the twins are found")
    assert said[-1].startswith("node 2: ")
