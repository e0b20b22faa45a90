"""A network on this computer: the broker, the nodes, our connection; and its end, whatever ends it."""

import contextlib
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dcka.broker import Broker, BrokerUrl, open_broker, parse_broker_url
from dcka.demo.scenario import Settings
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.faults import FaultyRadio
from dcka.emulation.micropython import MicroPythonNetwork
from dcka.emulation.network import NodeFailure, drifting
from dcka.errors import DckaError
from dcka.mqtt import Connection, ConnectionLost, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import NotReady, named
from dcka.mqtt.statuses import OFFLINE, NodeStatus, PayloadError, read_status

READY_S = 10.0  # nodes are there within 0.3 s; this is for a loaded machine
LEAST_MESSAGE = 1024  # bytes: what a node takes where a run needs no more
SWEEP_S = 2.0

Nodes = CPythonNetwork | MicroPythonNetwork


class NodeCrashed(DckaError):
    """Nodes ended unasked; `failures` has their tracebacks."""

    def __init__(self, failures: Collection[NodeFailure]) -> None:
        super().__init__("; ".join(failure.sentence for failure in failures))
        self.failures = tuple(failures)


@dataclass(frozen=True)
class Stage:
    """What is up: the emulated nodes and our connection to their broker; `broker` where we started it, `radio` where it
    has faults.
    """

    nodes: Nodes
    connection: Connection
    broker: Broker | None = None
    radio: FaultyRadio | None = None

    def require_alive(self) -> None:
        """Raises NodeCrashed where a node has ended."""
        failures = self.nodes.failures()
        if failures:
            raise NodeCrashed(failures)

    @contextlib.contextmanager
    def blaming(self) -> Iterator[None]:
        """What goes wrong because a node has ended is told as that: NodeCrashed in place of the DckaError."""
        try:
            yield
        except NodeCrashed:
            raise
        except DckaError as error:
            failures = self.nodes.failures()
            if failures:
                raise NodeCrashed(failures) from error
            raise

    def await_online(self, on_online: Callable[[int], None]) -> None:
        """Return when all nodes are online; `on_online` is called with how many are. Raises NotReady."""
        online: set[int] = set()

        def take(status: NodeStatus) -> None:
            if status.online and status.node not in online:
                online.add(status.node)
                on_online(len(online))

        wanted = set(self.nodes.ids)
        inbox = Inbox(self.connection, {}, take)
        self.connection.subscribe("status/+")
        if not inbox.until(lambda: wanted <= online, READY_S, "status/+", ask=self.require_alive):
            raise NotReady(
                f"{named(wanted - online)} did not come online within {READY_S:g} s", wanted - online
            )


@contextlib.contextmanager
def stage(settings: Settings, network: str, nodes: Collection[int], largest: int) -> Iterator[Stage]:
    """Bring everything up, and take it down again at the end of the block.

    `largest`: bytes of the largest message. A broker that was there before keeps nothing of it.
    """
    with contextlib.ExitStack() as stack:
        broker = None if settings.url else stack.enter_context(open_broker(settings.engine))
        url = parse_broker_url(settings.url) if settings.url else _address(broker)
        connection = Connection(url, network, role="demo")
        stack.enter_context(connection)
        if settings.url is not None:
            stack.callback(sweep, connection, set(nodes))
        radio = None
        if settings.radio:
            radio = stack.enter_context(
                FaultyRadio(lambda: _address(broker) if broker else url, settings.radio)
            )
        heard = radio.address if radio else url
        made = _nodes(settings, network, nodes, heard, max(LEAST_MESSAGE, largest))
        stack.enter_context(made)
        yield Stage(made, connection, broker, radio)


def _address(broker: Broker | None) -> BrokerUrl:
    if broker is None:
        raise RuntimeError("there is no broker of ours")
    return broker.address


def _nodes(
    settings: Settings, network: str, nodes: Collection[int], url: BrokerUrl, max_message: int
) -> Nodes:
    clocks = drifting(nodes, settings.drift)
    if settings.runtime == "cpython":
        return CPythonNetwork(network, nodes, url, max_message=max_message, clocks=clocks)
    heap = settings.heap
    return MicroPythonNetwork(network, nodes, url, heap=heap, max_message=max_message, clocks=clocks)


def sweep(connection: Connection, nodes: set[int]) -> None:
    """Clear what a broker keeps of this network, once the wills of its nodes are there."""
    kept: set[str] = set()
    gone: set[int] = set()
    deadline = time.monotonic() + SWEEP_S
    try:
        connection.subscribe("#")
        while time.monotonic() < deadline and not nodes <= gone:
            arrived = connection.next(0.1)
            if isinstance(arrived, Message) and arrived.payload:
                gone |= _gone(arrived)
        connection.subscribe("#")
        connection.flush()
        while (arrived := connection.next(0)) is not None:
            if isinstance(arrived, Message) and arrived.payload and arrived.retained:
                kept.add(arrived.suffix)
        for suffix in kept:
            connection.publish(suffix, b"", retain=True)
        connection.flush()
    except ConnectionLost:
        return  # the broker has gone, and what it kept with it


def _gone(message: Message) -> set[int]:
    """The node whose will this is, if it is one."""
    kind, _, node = message.suffix.partition("/")
    if kind != "status" or not node.isdigit():
        return set()
    try:
        status = read_status(int(node), message.payload)
    except PayloadError:
        return set()
    return {status.node} if status.state == OFFLINE else set()
