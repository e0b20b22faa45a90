"""A cluster of three real NATS servers: nodes of both runtimes spread over it, and it loses a server in mid-run.

What a client has to expect of a cluster is in docs/cluster.md, and held to it here.
"""

import contextlib
import time
from collections.abc import Iterator

import pytest
from by_hand import RUNTIMES, ByHand
from servers import LIMIT_S, Message, TestClient, wait_until

from dcka.broker import BrokerUnavailable, BrokerUrl, probe
from dcka.broker.cluster import ClusterServer, LocalCluster, await_all
from dcka.broker.url import joined
from dcka.config import from_mapping
from dcka.datasets import gaussians
from dcka.emulation.air import Faults
from dcka.emulation.faults import FaultyRadio
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome, decode_commit
from dcka.runs.plan import plan
from dcka.runs.survey import survey

NODES = (1, 2, 3, 4, 5)
DATA = gaussians(3, len(NODES), 20)
# With it a step takes some hundredths of a second: what is to happen in mid-run does.
SLOW = Faults(delay_ms=10)
# Longer than the servers that are left take to agree on new leaders, before which nobody is let in.
PATIENCE_MS = 6000
ELECTION_S = 40.0
"""How long servers may take to agree: up to 10 s; this is for a loaded machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(clients=20) as started:
        yield started


@pytest.fixture
def whole(cluster: LocalCluster) -> Iterator[LocalCluster]:
    """The cluster with all its servers, before the test and after it."""
    yield cluster
    for server in cluster.servers:
        server.start()
    await_all(cluster.url.addresses)


def last_commits(outcome: Outcome) -> dict[int, object]:
    """What every node holds in the end; nobody was ever left out."""
    assert outcome.finished, outcome.reason
    commits = {node: decode_commit(outcome, node) for node in NODES}
    return {
        node: (commit.step, commit.missing, list(commit.centres), list(commit.counts), commit.ssd)
        for node, commit in commits.items()
        if commit is not None
    }


@contextlib.contextmanager
def slow_ways(cluster: LocalCluster) -> Iterator[BrokerUrl]:
    """A way to each server that takes its time."""
    with contextlib.ExitStack() as stack:
        radios = [
            stack.enter_context(FaultyRadio(lambda to=address: to, SLOW)) for address in cluster.url.addresses
        ]
        yield joined([radio.address for radio in radios])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_server_that_is_killed_in_a_run_does_not_change_its_outcome(
    whole: LocalCluster, runtime: str, victim: int
) -> None:
    """The host's own server (0), or another."""
    network = f"killed-{runtime}-{victim}"
    config = from_mapping({"run": {"k": 9, "patience_ms": PATIENCE_MS}})
    killed: list[ClusterServer] = []

    def kill(event: str, data: dict[str, int]) -> None:
        if event == "step" and data["step"] == 2 and not killed:
            killed.append(whole.servers[victim])
            killed[0].kill()

    with (
        slow_ways(whole) as ways,
        RUNTIMES[runtime](network, NODES, ways) as nodes,
        Connection(whole.url, network) as connection,
    ):
        send(connection, DATA)
        sizes = survey(connection, NODES).max_message
        first = plan(config, DATA.record(), 1, max_message=sizes)
        undisturbed = last_commits(run(connection, first))
        again = plan(config, DATA.record(), 2, max_message=sizes)
        outcome = run(connection, again, on_event=kill)
        assert killed
        assert last_commits(outcome) == undisturbed
        # And so does a run of which the servers that are left have to be told.
        third = plan(config, DATA.record(), 3, max_message=sizes)
        assert last_commits(run(connection, third)) == undisturbed
        assert nodes.failures() == []


def retained(url: BrokerUrl, name: str) -> list[Message]:
    """What one SUBSCRIBE at this server brings."""
    with TestClient(url, f"reader-{time.monotonic_ns()}") as reader:
        reader.subscribe(name)
        return reader.received(reader)


def everywhere(cluster: LocalCluster, name: str, expected: Message, publisher: TestClient) -> None:
    """Every server gives it to those who ask, sooner or later, where it is said again until then."""
    for address in cluster.url.addresses:
        deadline = time.monotonic() + ELECTION_S
        while retained(address, name) != [expected]:
            assert time.monotonic() < deadline, f"{name} is not retained at {address}"
            publisher.publish(expected.topic, expected.payload, retain=True)
            time.sleep(0.1)


def test_messages_come_in_a_publishers_order_at_another_server(cluster: LocalCluster) -> None:
    here, there, _ = cluster.url.addresses
    with TestClient(here, "speaker") as speaker, TestClient(there, "listener") as listener:
        listener.subscribe("dcka/order/#")
        # The server that a client speaks to hears of another's subscription a little later.
        wait_until(lambda: _reaches(speaker, listener, "dcka/order/mark"), "a first message")
        sent = [Message(f"dcka/order/x/{i % 7}", b"%d" % i, False) for i in range(2000)]
        for message in sent:
            speaker.publish(message.topic, message.payload)
        assert [listener.next() for _ in sent] == sent


def _reaches(speaker: TestClient, listener: TestClient, topic: str) -> bool:
    """Whether a message comes soon; what came before it is taken out."""
    mark = b"mark %d" % time.monotonic_ns()
    speaker.publish(topic, mark)
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        while not listener.messages.empty():
            if listener.messages.get().payload == mark:
                return True
        time.sleep(0.002)
    return False


def test_what_is_retained_at_one_server_is_at_all_and_so_is_its_end(cluster: LocalCluster) -> None:
    with TestClient(cluster.url, "keeper") as keeper:
        everywhere(cluster, "dcka/kept/run", Message("dcka/kept/run", b"first", True), keeper)
        everywhere(cluster, "dcka/kept/run", Message("dcka/kept/run", b"second", True), keeper)
        keeper.publish("dcka/kept/run", b"", retain=True)
        for address in cluster.url.addresses:
            wait_until(lambda at=address: retained(at, "dcka/kept/run") == [], "its end", ELECTION_S)  # type: ignore[misc]


def test_a_will_is_published_and_retained_at_another_server(cluster: LocalCluster) -> None:
    here, there, _ = cluster.url.addresses
    with TestClient(there, "eye") as eye:
        eye.subscribe("dcka/will/status/1")
        with TestClient(here, "mortal", will=("dcka/will/status/1", b"offline")) as mortal:
            wait_until(lambda: _reaches(mortal, eye, "dcka/will/status/1"), "a first word")
            mortal.cut()
            assert eye.next() == Message("dcka/will/status/1", b"offline", False)
        everywhere(cluster, "dcka/will/status/1", Message("dcka/will/status/1", b"offline", True), eye)


def test_a_client_with_the_name_of_one_at_another_server_ends_that_one(cluster: LocalCluster) -> None:
    here, there, _ = cluster.url.addresses
    with TestClient(here, "twin") as first, TestClient(there, "twin") as second:
        assert first.disconnected.wait(LIMIT_S)
        assert not second.disconnected.is_set()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_what_is_retained_outlives_a_server_and_comes_back_to_it(whole: LocalCluster, victim: int) -> None:
    """What is newly retained while a server is away is known everywhere once it is back, where it is said again."""
    staying = [address for place, address in enumerate(whole.url.addresses) if place != victim]
    topics = f"dcka/outlives-{victim}"
    with TestClient(staying[0], "keeper") as keeper:
        before = Message(f"{topics}/before", b"before", True)
        everywhere(whole, before.topic, before, keeper)
        whole.servers[victim].kill()
        keeper.publish(f"{topics}/live", b"live")  # who is connected to another server notices nothing
        for address in staying:
            wait_until(lambda at=address: _can_connect(at), "new clients", ELECTION_S)  # type: ignore[misc]
            wait_until(lambda at=address: retained(at, before.topic) == [before], "what was kept", ELECTION_S)  # type: ignore[misc]
        # Those that stay may not learn of it before all are there again.
        during = Message(f"{topics}/during", b"during", True)
        keeper.publish(during.topic, during.payload, retain=True)
        whole.servers[victim].start()
        await_all(whole.url.addresses)
        for message in (before, during):
            everywhere(whole, message.topic, message, keeper)
        assert not keeper.disconnected.is_set()


def _can_connect(address: BrokerUrl) -> bool:
    try:
        probe(address, 3)
    except BrokerUnavailable:
        return False
    return True


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nodes_start_at_different_servers_and_a_twin_at_another_is_named(
    cluster: LocalCluster, runtime: str
) -> None:
    """Two emulations with the same id: the second one says so, and so does who only looks."""
    network = f"twins-{runtime}"
    with (
        RUNTIMES[runtime](network, [1, 2, 3], cluster.url) as nodes,
        contextlib.closing(ByHand(cluster.url, network)) as hand,
    ):
        hand.online([1, 2, 3])
        with RUNTIMES[runtime](network, [1], cluster.url.for_client(1)):
            hand.until(
                lambda: any(one.get("twin") for one in hand.all_statuses), "that node 1 is there twice"
            )
        assert nodes.failures() == []
        assert {one["node"] for one in hand.all_statuses if one.get("twin")} == {1}
