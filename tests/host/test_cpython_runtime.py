"""Nodes under CPython: as a board's in all that a broker sees, many in a process, each failing alone."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from servers import LIMIT_S, TestClient, free_port, running

from dcka.broker import Broker, BrokerUrl
from dcka.emulation import link as links
from dcka.emulation.cpython_nodes import CPythonNodes
from dcka.emulation.errors import EmulationError
from dcka.emulation.network import settings
from dcka_core.node import Node

pytestmark = pytest.mark.system
FORGED = b'{"v":1,"node":1,"boot":9,"nonce":7,"state":"offline"}'
ROOT = Path(__file__).parents[2]


MakeNodes = Callable[..., CPythonNodes]


@pytest.fixture
def make_nodes(broker: Broker, network: str) -> Iterator[MakeNodes]:
    """Nodes in this thread; the test turns their loop."""
    made: list[CPythonNodes] = []

    def make(
        *ids: int, url: BrokerUrl | None = None, max_message: int = 1024, folder: Path | None = None
    ) -> CPythonNodes:
        made.append(CPythonNodes(settings(network, url or broker.address, max_message, 10), ids, folder))
        for node in ids:
            made[-1].start(node)
        return made[-1]

    yield make
    for nodes in made:
        nodes.close()


def statuses(client: TestClient) -> list[dict[str, object]]:
    """All statuses that have come and were not taken."""
    found = []
    while not client.messages.empty():
        found.append(json.loads(client.next().payload))
    return found


class Told:
    """The newest status of each node, turning the nodes' loop meanwhile."""

    def __init__(self, nodes: CPythonNodes, client: TestClient) -> None:
        self.newest: dict[int, dict[str, object]] = {}
        self.all: list[dict[str, object]] = []
        self._nodes = nodes
        self._client = client

    def until(self, condition: Callable[["Told"], bool], what: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition(self):
            assert time.monotonic() < deadline, f"{what}: {self.newest}"
            self._nodes.loop.turn(0.01)
            for status in statuses(self._client):
                self.newest[int(str(status["node"]))] = status
                self.all.append(status)

    def states(self, *expected: str) -> None:
        """Wait until the nodes, in the order of their ids, are in these states."""

        def reached(told: "Told") -> bool:
            return tuple(str(told.newest.get(node, {}).get("state")) for node in self._nodes.ids) == expected

        self.until(reached, f"states are {expected}")


def test_a_node_says_what_it_is(make_nodes: MakeNodes, watcher: TestClient) -> None:
    nodes = make_nodes(7)
    told = Told(nodes, watcher)
    told.states("ready")
    status = told.newest[7]
    assert (status["boot"], status["max_message"], status["dataset"], status["rows"]) == (1, 1024, "", 0)
    assert re.fullmatch(r"cpython 3\.\d+\.\d+\S* \w+", str(status["runtime"]))
    assert 1 << 20 < int(str(status["heap"])) < 1 << 34


def test_a_power_cut_is_told_by_the_will_and_the_flash_stays(
    make_nodes: MakeNodes, watcher: TestClient
) -> None:
    nodes = make_nodes(1, 2)
    told = Told(nodes, watcher)
    told.states("ready", "ready")
    nodes.kill(2)
    told.states("ready", "offline")
    assert nodes.failures() == []
    nodes.start(2)
    told.states("ready", "ready")
    nodes.start(2)  # while it runs: a reset
    told.until(lambda told: told.newest[2]["boot"] == 3 and told.newest[2]["state"] == "ready", "third boot")
    assert told.newest[1]["boot"] == 1
    with pytest.raises(EmulationError, match="there is no emulated node 3; there are 1, 2"):
        nodes.kill(3)


def test_a_fault_of_the_core_ends_its_node_alone_and_is_shown(
    make_nodes: MakeNodes, watcher: TestClient, broker: Broker, network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = Node.receive

    def faulty(node: Node, topic: str, payload: bytes, now: int) -> object:
        return 1 // 0 if topic.endswith("/rows/2") else receive(node, topic, payload, now)

    monkeypatch.setattr(Node, "receive", faulty)
    nodes = make_nodes(1, 2, 3)
    told = Told(nodes, watcher)
    told.states("ready", "ready", "ready")
    watcher.publish(f"dcka/{network}/rows/2", b"{}")
    told.states("ready", "offline", "ready")
    [failure] = nodes.failures()
    assert (failure.node, failure.exit_code) == (2, 1)
    assert re.fullmatch(
        r"node 2 crashed: ZeroDivisionError: .* \(.*\.py, line \d+, faulty\)", failure.sentence
    )
    assert failure.output[0].startswith("Traceback")
    assert failure.output[-1].startswith("ZeroDivisionError")
    nodes.start(2)
    told.states("ready", "ready", "ready")
    assert nodes.failures() == []


def test_what_is_larger_than_a_board_could_hold_is_dropped_and_counted(
    make_nodes: MakeNodes, watcher: TestClient, network: str
) -> None:
    nodes = make_nodes(1, max_message=300)
    told = Told(nodes, watcher)
    told.states("ready")
    topic = f"dcka/{network}/rows/1"
    room = 300 + links.ENVELOPE - 3 - 2 - len(topic)  # a header of three bytes, and the topic with its length
    for size in (room, room + 1, 200_000):
        watcher.publish(topic, b"{" + b" " * (size - 1))
    watcher.publish(f"dcka/{network}/status/1", FORGED)
    told.until(lambda told: "oversize" in dict(told.newest[1].get("dropped", {})), "it counts")  # type: ignore[call-overload]
    assert told.newest[1]["dropped"] == {"json": 1, "oversize": 2}


def test_the_room_beside_a_payload_is_a_boards() -> None:
    board = (ROOT / "firmware" / "dcka_device" / "link.py").read_text()
    assert f"_ENVELOPE = {links.ENVELOPE}\n" in board


def test_nodes_wait_for_a_broker_that_is_not_there_yet_and_come_back_to_one_that_restarts(
    make_nodes: MakeNodes, network: str
) -> None:
    port = free_port()
    nodes = make_nodes(1, 2, url=BrokerUrl("127.0.0.1", port))
    nodes.loop.turn(0.05)
    with running("mosquitto", port=port) as late:
        with TestClient(late.address, "watcher") as client:
            client.subscribe(f"dcka/{network}/status/+")
            Told(nodes, client).states("ready", "ready")
        late.restart()
        with TestClient(late.address, "watcher") as client:
            client.subscribe(f"dcka/{network}/status/+")
            told = Told(nodes, client)
            told.states("ready", "ready")
            assert told.newest[1]["boot"] == 1
            # Subscribed again: it hears that somebody takes it for offline, and denies it.
            client.publish(f"dcka/{network}/status/1", FORGED, retain=True)
            told.until(lambda told: [one["state"] for one in told.all][-2:] == ["offline", "ready"], "denial")


def test_an_outage_that_is_over_when_the_node_looks_is_told_all_the_same(
    make_nodes: MakeNodes, watcher: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost while the node writes, and is back: it has to say its status again, or nobody hears."""
    told_of: list[str] = []
    for event in ("connected", "disconnected"):
        tell = getattr(Node, event)
        monkeypatch.setattr(Node, event, lambda *a, event=event, tell=tell: told_of.append(event) or tell(*a))
    nodes = make_nodes(1)
    Told(nodes, watcher).states("ready")
    [link] = [node._link for node in nodes._nodes.values()]
    assert link is not None
    link.connections += 1
    link._notify()
    assert told_of == ["connected", "disconnected", "connected"]
    link.up = False
    link._notify()
    assert told_of[3:] == ["disconnected"]


def test_two_of_one_id_throw_each_other_out_less_and_less_often(
    make_nodes: MakeNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With mosquitto, which lets each throw the other out at once: NATS makes the second wait for a second."""
    monkeypatch.setattr(links, "RETRY_S", 0.001)
    pauses: list[float] = []
    pause = links.Link._pause

    def noted(link: links.Link) -> float:
        pauses.append(pause(link))
        return pauses[-1]

    monkeypatch.setattr(links.Link, "_pause", noted)
    with running("mosquitto") as broker:
        first, second = (make_nodes(1, url=broker.address) for _ in range(2))
        deadline = time.monotonic() + LIMIT_S
        while len(pauses) < 14:
            assert time.monotonic() < deadline
            first.loop.turn(0.002)
            second.loop.turn(0.002)
    # Each waits after its own short connections: twice as long each time, whatever chance adds.
    assert min(pauses[-2:]) > 8 * max(pauses[:2])
    assert all(one < links.SHORT_CAP_S for one in pauses)


@pytest.mark.timed
def test_two_hundred_nodes_are_online_soon(make_nodes: MakeNodes, watcher: TestClient) -> None:
    begun = time.monotonic()
    nodes = make_nodes(*range(1, 201))
    Told(nodes, watcher).states(*["ready"] * 200)
    assert time.monotonic() - begun < 5
