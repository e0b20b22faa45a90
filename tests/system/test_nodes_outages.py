"""What nodes of both runtimes live through: brokers that restart, frozen connections, forgeries, floods."""

import contextlib
import json
import selectors
import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from by_hand import RUNTIMES, ByHand, put_data
from servers import ENGINES, LIMIT_S, TestClient, running, wait_until

from dcka.broker import BrokerUrl
from dcka.datasets.nine_gaussians import gaussians
from dcka.topology import Shape, named

IDS = (1, 2, 3, 4)
FORGED = b'{"v":1,"node":1,"boot":99,"nonce":7,"state":"offline"}'


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_broker_that_restarts_in_a_run_does_not_change_its_outcome(
    engine: str, runtime: str, tmp_path: Path
) -> None:
    """The run waits for node 4 while the broker is away; mosquitto then keeps nothing of before."""
    dataset, graph = gaussians(seed=3, nodes=4, per_gaussian=10), named(IDS, Shape("grid"))
    put_data(dataset, tmp_path)
    with running(engine) as broker, RUNTIMES[runtime]("t", IDS, broker.address, folder=tmp_path) as nodes:
        with contextlib.closing(ByHand(broker.address, "t", "before")) as before:
            before.online(IDS)
            undisturbed = before.prepare(1, "tree", dataset, graph)
            before.finish(undisturbed)
            expected = {node: before.results[node]["ssd"] for node in IDS}
            record = before.prepare(2, "tree", dataset, graph, patience_ms=100)
            nodes.kill(4)
            before.publish("run", record)
            before.until(lambda: all(before.statuses[node]["run"] == 2 for node in IDS[:3]), "three run")
        broker.kill()
        broker.restart()
        with contextlib.closing(ByHand(broker.address, "t", "after")) as after:
            after.online(IDS[:3], boot=1)
            nodes.restart(4)
            after.online([4])
            again = after.prepare(2, "tree", dataset, graph)
            assert again == {**record, "patience_ms": 500}
            after.finish(record)
            assert {node: after.results[node]["ssd"] for node in IDS} == expected
        assert nodes.failures() == []


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_forged_offline_is_denied_at_once_and_by_the_live_node_alone(runtime: str) -> None:
    with running("mosquitto") as broker, RUNTIMES[runtime]("t", [1], broker.address):
        with contextlib.closing(ByHand(broker.address, "t")) as hand:
            hand.online([1])
            hand.client.publish("dcka/t/status/1", FORGED, retain=True)
            hand.until(
                lambda: [one["state"] for one in hand.all_statuses][-2:] == ["offline", "ready"], "the denial"
            )
        with TestClient(broker.address, "later") as later:
            later.subscribe("dcka/t/status/1")
            assert json.loads(later.next().payload)["state"] == "ready"


class Relay:
    """A TCP relay before a broker, which can be frozen: nothing passes, and nobody is told.

    The first `refusals` connections are answered that the broker is not available (CONNACK code 3); then the first
    `denials` SUBSCRIBEs are answered with a refusal.
    """

    def __init__(self, broker: BrokerUrl) -> None:
        self._broker = (broker.host, broker.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._frozen: set[socket.socket] = set()
        self._ends: set[socket.socket] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.refusals = 0
        self.denials = 0
        self.names: list[str] = []
        self.url = BrokerUrl("127.0.0.1", self._listener.getsockname()[1])

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for end in (*self._ends, self._listener):
            end.close()
        self._selector.close()

    def freeze(self) -> None:
        """From now on the connections that there are carry nothing; new ones do."""
        self._frozen |= self._ends

    def _work(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.02):
                if key.data is None:
                    self._accept()
                else:
                    self._pass_on(key.fileobj, key.data)  # type: ignore[arg-type]

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        if self.refusals and near.recv(1000):  # not what only knocks
            self.refusals -= 1
            near.sendall(b"\x20\x02\x00\x03")
            near.close()
            return
        far = socket.create_connection(self._broker)
        for end, other in ((near, far), (far, near)):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(end, selectors.EVENT_READ, other)
            self._ends.add(end)

    def _pass_on(self, end: socket.socket, other: socket.socket) -> None:
        if end not in self._ends:
            return  # closed a moment ago, by its other end
        try:
            data = end.recv(65536)
        except OSError:
            data = b""
        if end in self._frozen:
            if not data:
                self._selector.unregister(end)
                self._ends.discard(end)
                end.close()
            return
        if data[:1] == b"\x10":  # CONNECT: fixed header, "MQTT", level, flags, keepalive, client id
            start = data.index(b"\x00\x04MQTT") + 12
            self.names.append(data[start : start + int.from_bytes(data[start - 2 : start], "big")].decode())
        if data[:1] == b"\x90" and self.denials:  # SUBACK: length, id, a code for each topic
            self.denials -= 1
            data = data[:4] + b"\x80" * (data[1] - 2) + data[2 + data[1] :]
        with contextlib.suppress(OSError):  # the other end has gone: then its own event says so
            other.sendall(data)
        if data:
            return
        for one in {end, other} & self._ends:
            self._selector.unregister(one)
            self._ends.discard(one)
            one.close()


@pytest.fixture
def relay() -> Iterator[Relay]:
    """Before the embedded broker, which looks for frozen clients as often as their keepalive asks."""
    with running("embedded") as broker, Relay(broker.address) as made:
        yield made


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_connection_that_freezes_is_given_up_and_the_late_will_does_not_stay(
    runtime: str, relay: Relay
) -> None:
    """The node notices after its keepalive (here 1 s) and comes back under the same name; the old session's will is
    published meanwhile, and the node denies it."""
    with (
        contextlib.closing(ByHand(BrokerUrl(*relay._broker), "t")) as hand,
        RUNTIMES[runtime]("t", [1], relay.url, keepalive=1),
    ):
        hand.online([1])
        relay.freeze()
        wait_until(lambda: len(relay.names) == 2, "the node has come back")
        assert relay.names == ["dcka-t-1"] * 2
        hand.until(lambda: "offline" in [one["state"] for one in hand.all_statuses], "the old session's will")
        hand.until(lambda: hand.all_statuses[-1]["state"] == "ready", "the denial")
        assert {one["boot"] for one in hand.all_statuses} == {1}


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_broker_that_is_not_available_yet_or_denies_a_topic_is_asked_again(
    runtime: str, relay: Relay
) -> None:
    """NATS does both for some moments after a restart."""
    relay.refusals, relay.denials = 2, 1
    with (
        contextlib.closing(ByHand(BrokerUrl(*relay._broker), "t")) as hand,
        RUNTIMES[runtime]("t", [1], relay.url) as nodes,
    ):
        hand.online([1])
        assert relay.refusals == 0
        hand.until(lambda: relay.denials == 0, "a SUBSCRIBE was denied")
        rows = {"v": 1, "run": 1, "parent": 0, "children": [], "near": []}
        idle = {"v": 1, "run": 2, "kind": "idle"}
        for topic, record, heard in (("rows/1", rows, ("prepared", 1)), ("run", idle, ("run", 2))):
            say = partial(hand.publish, topic, record)
            say()
            hand.until(lambda heard=heard: heard in hand.statuses[1].items(), f"it hears {topic}", say)
        assert nodes.failures() == []


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_message_larger_than_a_node_can_hold_is_passed_over_also_when_it_is_retained(
    runtime: str, tmp_path: Path
) -> None:
    """200 KB on topics that every node listens to; it comes again with each connection."""
    dataset, graph = gaussians(seed=3, nodes=2, per_gaussian=10), named([1, 2], Shape("line"))
    put_data(dataset, tmp_path)
    with running("mosquitto") as broker, contextlib.closing(ByHand(broker.address, "t")) as hand:
        for topic in ("rows/1", "commit/9", "put/2"):
            hand.client.publish(f"dcka/t/{topic}", b"x" * 200_000, retain=True)
        with RUNTIMES[runtime]("t", [1, 2], broker.address, folder=tmp_path) as nodes:
            hand.online([1, 2])
            hand.client.publish("dcka/t/put/1", b"\x00" * 200_000)
            record = hand.prepare(1, "tree", dataset, graph)
            hand.finish(record)
            hand.until(
                lambda: all(hand.statuses[node]["state"] == "done" for node in (1, 2)), "both are done"
            )
            assert [hand.statuses[node]["dropped"]["oversize"] for node in (1, 2)] == [3, 2], hand.statuses
            assert nodes.failures() == []
        for node in (1, 2):
            assert sum(f"as dcka-t-{node} " in line for line in broker.lines()) == 1, "it has reconnected"


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nodes_that_were_there_before_their_broker_find_it(runtime: str) -> None:
    with running("mosquitto") as broker:
        url = broker.address
        broker.kill()
        with RUNTIMES[runtime]("t", [1, 2], url) as nodes:
            wait_until(lambda: nodes.failures() == [], "they wait", LIMIT_S)
            broker.restart()
            with contextlib.closing(ByHand(url, "t")) as hand:
                hand.online([1, 2], boot=1)
