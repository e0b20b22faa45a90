"""Messages that come twice, late, retained, of an earlier run, or malformed (cases C20, C21, C26), on real brokers."""

import json
import time
from collections.abc import Iterator

import pytest
from servers import ENGINES, TestClient
from tapped import NETWORK, NODES, Tapped, final, once, tapped
from wire import PUBACK, PUBLISH, Packet, publish

from dcka.mqtt.presence import chunk_of_nothing
from dcka.runs.controller import run

SUMS = f"dcka/{NETWORK}/x/"
RETAINED = {"run", "rows", "dataset", "commit", "status"}
"""The topics that the protocol has as retained."""
SOON_S = 5.0
"""Milliseconds, on a machine that does nothing else."""


@pytest.fixture(scope="module", params=ENGINES)
def lab(request: pytest.FixtureRequest) -> Iterator[Tapped]:
    with tapped(request.param) as made:
        yield made


@pytest.fixture(params=["tree", "gossip"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def change(lab: Tapped) -> Iterator[None]:
    """What is changed on the wire is changed for the test alone."""
    yield
    lab.wire.change = None


class Again:
    """Sends all sums again, with QoS 1 as who gets no PUBACK does: as a new message, and with DUP; or, `late`, with the
    sender's next. The broker's PUBACKs never arrive."""

    def __init__(self, late: bool) -> None:
        self.count = 0
        self._late = late
        self._held: dict[str, bytes] = {}

    def __call__(self, packet: Packet) -> list[bytes]:
        if packet.kind == PUBACK and not packet.up:
            return []
        if packet.kind != PUBLISH or not packet.up or not packet.topic.startswith(SUMS):
            return [packet.raw()]
        again = packet.payload
        if self._late:
            again = self._held.pop(packet.topic, b"")
            self._held[packet.topic] = packet.payload
            if not again:
                return [packet.raw()]
        self.count += 1
        number = 1 + 2 * self.count % 60_000
        copies = [publish(packet.topic, again, 2, number), publish(packet.topic, again, 10, number + 1)]
        return [packet.raw(), *copies]


@pytest.mark.usefixtures("change")
@pytest.mark.parametrize("late", [False, True], ids=["at once", "a step later"])
def test_sums_that_are_sent_again_count_once(lab: Tapped, kind: str, late: bool) -> None:
    """C20: the run's number, the step and the node tell them apart, not MQTT's packet ids."""
    calm = final(lab.run(schedule=kind))
    lab.wire.change = again = Again(late)
    before = _dropped(lab)
    outcome = lab.run(schedule=kind)
    assert again.count >= len(NODES)
    assert final(outcome) == calm
    assert not any(result.get("quarantined") for result in outcome.results.values())
    lab.wire.change = None
    lab.run(schedule=kind)
    after = _dropped(lab)
    assert sum(after.values()) > sum(before.values())
    assert set(after) <= {"duplicate", "stale", "base"}, "and for no other reason"


def _dropped(lab: Tapped) -> dict[str, int]:
    """By reason, what all nodes have dropped, as their retained statuses say."""
    with TestClient(lab.broker.address, "counter") as counter:
        counter.subscribe(f"dcka/{NETWORK}/status/+")
        found: dict[str, int] = {}
        for message in counter.received(counter):
            for reason, count in json.loads(message.payload)["dropped"].items():
                found[reason] = found.get(reason, 0) + count
        return found


def test_what_is_said_once_is_not_retained(lab: Tapped, kind: str) -> None:
    """C21, on the wire: state is retained, commands and contributions are not."""
    begun = len(lab.wire.packets)
    final(lab.run(schedule=kind))
    said = [one for one in lab.wire.packets[begun:] if one.kind == PUBLISH and one.up]
    topics = {one.topic.split("/")[2] for one in said}
    assert {"run", "rows", "x", "commit", "step", "result", "status"} <= topics
    assert {one.topic.split("/")[2] for one in said if one.retain} <= RETAINED
    # A transfer's, too, when the nodes got their data.
    before = [one for one in lab.wire.packets[:begun] if one.kind == PUBLISH and one.up]
    assert {"put", "got"} <= {one.topic.split("/")[2] for one in before}
    assert {one.topic.split("/")[2] for one in before if one.retain} <= RETAINED
    assert all(one.flags & 6 == 0 for one in said), "QoS 0 throughout"


def test_yesterdays_run_is_not_begun_again(lab: Tapped) -> None:
    """C21: run A's record and its sums come back retained, with another K, and a node is power-cycled in run B."""
    old = lab.run(k=3)
    late = 3
    made = lab.plan(k=4)
    states: list[dict[str, object]] = []
    with TestClient(lab.broker.address, "past") as past, TestClient(lab.broker.address, "eye") as eye:
        eye.subscribe(f"dcka/{NETWORK}/status/{late}")
        past.publish(f"{SUMS}0/{late}", _sums_of(lab, old.run, late), retain=True)
        result = json.dumps(old.results[late]).encode()

        def yesterday() -> None:
            past.publish(f"dcka/{NETWORK}/run", json.dumps(old.record).encode(), retain=True)
            past.publish(f"dcka/{NETWORK}/result/{late}", result)
            past.received(past)
            lab.nodes.restart(late)

        rejected: list[tuple[str, str]] = []

        def at(event: str, told: dict[str, object]) -> None:
            if event == "rejected":
                rejected.append((str(told["topic"]), str(told["reason"])))
            go(event, told)

        go = once(yesterday, step=0)
        try:
            outcome = run(lab.connection, made, limit_s=60, on_event=at)
        finally:
            past.publish(f"{SUMS}0/{late}", b"", retain=True)
            states += [json.loads(one.payload) for one in eye.received(eye) if one.payload]
    assert outcome.record["k"] == 4
    assert {len(one[2]) for one in final(outcome).values()} == {4}
    assert (f"result/{late}", "of another run") in rejected
    booted = [one for one in states if one["boot"] == outcome.statuses[late]["boot"]]
    assert booted
    assert not any(one.get("run") == old.run and one["state"] == "running" for one in booted)


def _sums_of(lab: Tapped, number: int, node: int) -> bytes:
    """What the node said in that run, from the wire."""
    said = [one for one in lab.wire.of(PUBLISH) if one.topic == f"{SUMS}0/{node}"]
    return next(one.payload for one in said if one.payload[1] == number)


MALFORMED = {
    "a cut object": b"{",
    "nothing": b"",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "no version": b'{"run":1}',
    "a centre too few": b'{"v":1,"run":RUN,"node":1,"step":0,"ssd":1,"flags":0,"centres":[1,2],"missing":[9]}',
    "a negative count": b'{"v":1,"run":RUN,"node":1,"steps":-5,"step":-5,"boot":-5,"state":"ready","kind":"tree"}',
    "a text for a count": b'{"v":1,"run":RUN,"node":1,"steps":"250","step":"250","boot":"250","kind":"tree"}',
    "two megabytes": b"A" * (2 << 20),
}


def _thrown(lab: Tapped) -> list[bytes]:
    """The list, as of the run to come."""
    number = str(lab.last + 1).encode()
    return [one.replace(b"RUN", number) for one in MALFORMED.values()]


@pytest.mark.parametrize("topic", ["result/1", "step/1", "status/1"])
def test_the_host_counts_each_malformed_message_and_takes_the_next(lab: Tapped, topic: str) -> None:
    """C26: its topic and the reason for each, and what is valid is taken behind it."""
    calm = final(lab.run())
    thrown = _thrown(lab)
    at: dict[str, float] = {}
    with TestClient(lab.broker.address, "vandal") as vandal:

        def throw() -> None:
            for payload in thrown:
                vandal.publish(f"dcka/{NETWORK}/{topic}", payload)
            vandal.received(vandal)
            at["thrown"] = time.monotonic()

        throw_once = once(throw, step=0)

        def watch(event: str, told: dict[str, object]) -> None:
            if "thrown" in at and event in ("step", "result"):
                at.setdefault("taken", time.monotonic())
            throw_once(event, told)

        outcome = lab.run(watch)
    assert final(outcome) == calm
    assert at["taken"] - at["thrown"] < SOON_S
    kept = [reason for (where, reason), count in lab.connection.rejected.items() if where == topic and count]
    assert outcome.rejected >= len(MALFORMED), kept
    assert len(kept) >= 5, kept


def test_a_node_counts_each_malformed_message_and_takes_the_next(lab: Tapped) -> None:
    """C26: whatever comes on any topic that it listens to, it goes on listening, and its next run is as ever."""
    calm = final(lab.run())
    before = _dropped(lab)
    topics = ["run", "rows/1", "put/1", "x/0/2", "commit/2", "epoch/2", "status/1"]
    with TestClient(lab.broker.address, "vandal") as vandal:
        vandal.subscribe(f"dcka/{NETWORK}/got/1")
        for topic in topics:
            for payload in _thrown(lab):
                vandal.publish(f"dcka/{NETWORK}/{topic}", payload)
        vandal.received(vandal)
        asked_at = time.monotonic()
        vandal.publish(f"dcka/{NETWORK}/put/1", chunk_of_nothing(77))
        # The malformed chunks before it may be answered, too.
        while json.loads(vandal.next().payload).get("transfer") != 77:
            pass
        assert time.monotonic() - asked_at < SOON_S
    assert final(lab.run()) == calm
    after = _dropped(lab)
    # Nodes that have no run listen to neither sums nor epochs; all hear what is on `run`.
    assert sum(after.values()) - sum(before.values()) >= 4 * len(MALFORMED)
    assert {"oversize", "json"} <= set(after)
