"""Brokers that go, come back and are not ready yet, and brokers that drop what a slow client should have had (cases
C28, C32): on the wire, and in what a run comes to."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from by_hand import RUNTIMES
from servers import ENGINES, LIMIT_S, TestClient, free_port, require_mosquitto, running, wait_until
from tapped import DATA, NETWORK, NODES, Tapped, final, once, tapped
from wire import CONNACK, CONNECT, SUBSCRIBE, Wire

from dcka.broker import BrokerUrl, await_broker
from dcka.check import check
from dcka.emulation.cpython import CPythonNetwork
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.processes import ProcessGroup

AWAY_S, UNAVAILABLE_S = 3.0, 1.0


def names() -> set[str]:
    return {f"dcka-{NETWORK}-{node}" for node in NODES}


def require_subscribed(wire: Wire) -> int:
    """Who is let in without a session asks for its topics on that very connection; how many were let in."""
    let_in = [
        one
        for one in wire.of(CONNACK, up=False)
        if one.client in names() and one.body[1] == 0 and not one.session_present
    ]
    asked = {one.connection for one in wire.of(SUBSCRIBE)}
    assert {one.connection for one in let_in} <= asked
    return len(let_in)


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_broker_that_is_away_in_mid_run_and_then_not_available(engine: str, runtime: str) -> None:
    """C28: killed without persistence, away for seconds, and then answering "unavailable" for a second."""
    with tapped(engine, runtime) as lab:
        calm = final(lab.run())

        def outage() -> None:
            lab.broker.kill()
            time.sleep(AWAY_S)
            lab.wire.unavailable.set()
            lab.broker.restart()
            time.sleep(UNAVAILABLE_S)
            wait_until(lambda: lab.wire.refused > 0, "somebody was told that it is not available")
            lab.wire.unavailable.clear()

        before = len(lab.wire.of(CONNECT))
        at = once(outage, step=2)
        outcome = lab.run(at, limit_s=100)
        assert at.done  # type: ignore[attr-defined]
        assert final(outcome) == calm
        assert {status["boot"] for status in outcome.statuses.values()} == {1}
        assert len(lab.wire.of(CONNECT)) >= before + len(NODES) + 1
        wait_until(lambda: _subscribed(lab.wire) >= 2 * len(NODES), "all nodes are back")
        assert require_subscribed(lab.wire) >= 2 * len(NODES)


def _subscribed(wire: Wire) -> int:
    """On how many connections nodes have asked for topics."""
    return len({one.connection for one in wire.of(SUBSCRIBE) if one.client in names()})


@pytest.mark.parametrize("engine", ENGINES)
def test_nodes_that_boot_before_their_broker_find_it_by_themselves(engine: str) -> None:
    """C28: nobody does anything; each node ends its first run."""
    with running(engine) as broker, Wire(lambda: broker.address) as wire:
        broker.kill()
        runtime = next(iter(RUNTIMES))
        with RUNTIMES[runtime](NETWORK, NODES, wire.url) as nodes:
            time.sleep(AWAY_S)
            broker.restart()
            with Connection(wire.url, NETWORK) as connection:
                send(connection, DATA, ready_s=LIMIT_S)
                final(Tapped(broker, wire, nodes, connection).run())
            assert nodes.failures() == []
            assert require_subscribed(wire) >= len(NODES)


# ---- C32 e: a broker's queue for a slow client is full, and it drops without a word ----

QUEUE = 20
FLOOD = 8000
LARGE = bytes(4000)


@contextmanager
def short_queues(folder: Path) -> Iterator[BrokerUrl]:
    """A mosquitto that holds few messages for each client, and says of whom it drops."""
    program, url = require_mosquitto(), BrokerUrl("127.0.0.1", free_port())
    configuration = folder / "short.conf"
    lines = (
        f"listener {url.port} 127.0.0.1",
        "allow_anonymous true",
        "persistence false",
        "set_tcp_nodelay true",
        f"max_queued_messages {QUEUE}",
        "user root",
    )
    configuration.write_text("\n".join(lines) + "\n")
    with ProcessGroup() as group:
        group.start([program, "-c", configuration])
        await_broker(url)
        yield url


def test_a_host_that_is_too_slow_for_its_broker_notices_the_gap(tmp_path: Path) -> None:
    """What the nodes said while the host did not read is gone, their results too: it asks again for what they hold, and
    every reading is in the result that it tells."""
    with ExitStack() as stack:
        url = stack.enter_context(short_queues(tmp_path))
        wire = stack.enter_context(Wire(lambda: url))
        nodes = stack.enter_context(CPythonNetwork(NETWORK, NODES, url))
        connection = stack.enter_context(Connection(wire.url, NETWORK))
        lab = Tapped(None, wire, nodes, connection)
        send(connection, DATA, ready_s=LIMIT_S)
        calm = final(lab.run())
        eye = stack.enter_context(TestClient(url, "eye"))
        eye.subscribe(f"dcka/{NETWORK}/result/+")

        def all_have_ended() -> None:
            os.kill(nodes.pid, signal.SIGCONT)
            for _ in NODES:
                eye.next()

        fall_behind = _behind(wire, url, "step/9", all_have_ended)

        def at(event: str, told: object) -> None:
            if event == "begun":
                # Until the queue is full nothing is said that could still find room in it.
                os.kill(nodes.pid, signal.SIGSTOP)
                fall_behind.start()

        outcome = lab.run(at, limit_s=100)
        fall_behind.join()
        assert final(outcome) == calm
        assert any(result.get("rebuilt") for result in outcome.results.values()), "nothing was dropped"
        assert check(outcome, DATA).passed
        assert nodes.failures() == []


def test_a_node_that_is_too_slow_for_its_broker_leaves_no_gap_in_the_result(tmp_path: Path) -> None:
    """The root misses what its children said; either all is said again, or whom the result is without is named."""
    with ExitStack() as stack:
        url = stack.enter_context(short_queues(tmp_path))
        wire = stack.enter_context(Wire(lambda: url))
        connection = stack.enter_context(Connection(url, NETWORK))
        nodes = stack.enter_context(CPythonNetwork(NETWORK, NODES, wire.url))
        lab = Tapped(None, wire, nodes, connection)
        send(connection, DATA, ready_s=LIMIT_S)
        calm = final(lab.run())
        fall_behind = _behind(wire, url, f"put/{lab.plan().root}", lambda: time.sleep(1.0))
        at = once(fall_behind.start, step=0)
        outcome = lab.run(at, limit_s=100)
        assert at.done  # type: ignore[attr-defined]
        fall_behind.join()
        assert outcome.finished, outcome.reason
        verdict = check(outcome, DATA)
        assert verdict.passed or verdict.word == "PARTIAL", verdict.reasons
        if not outcome.missing:
            assert final(outcome) == calm
        assert nodes.failures() == []


def _behind(wire: Wire, url: BrokerUrl, topic: str, meanwhile: Callable[[], None]) -> threading.Thread:
    """To be started: the clients behind the wire read nothing, and their queues fill up, until `meanwhile` returns."""

    def fall_behind() -> None:
        with TestClient(url, "flooder") as flooder:
            wire.hold.set()
            try:
                for _ in range(FLOOD):
                    flooder.publish(f"dcka/{NETWORK}/{topic}", LARGE)
                flooder.received(flooder)
                meanwhile()
            finally:
                wire.hold.clear()

    return threading.Thread(target=fall_behind, name="flood")
