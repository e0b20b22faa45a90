"""Who watches over emulated nodes: is an id taken, are all online, who has crashed, who is there twice."""

import os
from collections.abc import Callable
from typing import Protocol

from dcka.emulation.errors import EmulationError
from dcka.emulation.network import NodeFailure
from dcka.mqtt import Connection, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.presence import ANSWER_S, chunk_of_nothing
from dcka.mqtt.readiness import named
from dcka.mqtt.statuses import PayloadError, read_object

# Emulated nodes are online within 0.3 s; this is for a loaded machine.
ONLINE_S = 10.0
LOOK_S = 0.2


class EmulatedNodes(Protocol):
    """What both runtimes have."""

    ids: tuple[int, ...]

    def failures(self) -> list[NodeFailure]:
        """The nodes that have ended unasked."""


class Supervisor:
    """The nodes `ids` of a network, seen from its broker.

    on_failure: called once for each node that crashes. on_news: called with a sentence that a person wants to read;
    on_trouble (the same, if not given): with one that asks for a hand.
    """

    def __init__(
        self,
        connection: Connection,
        ids: tuple[int, ...],
        on_failure: Callable[[NodeFailure], None],
        on_news: Callable[[str], None],
        on_trouble: Callable[[str], None] | None = None,
    ) -> None:
        self.ids = ids
        self.failed: set[int] = set()
        self._connection = connection
        self._on_failure = on_failure
        self._on_news = on_news
        self._on_trouble = on_trouble or on_news
        self._inbox = Inbox(connection, {"got": self._take_answer}, on_reconnect=self._reconnected)
        self._transfer = int.from_bytes(os.urandom(4), "little")
        self._answered: set[int] = set()
        self._before: dict[int, int] = {}
        self._twins: set[int] = set()
        self._connected = True

    def require_free(self) -> None:
        """Before the nodes are started: raises EmulationError where one of the ids is in use at this broker.

        A status that the broker kept says so, or did: its node is asked for a sign of life, by a chunk of a data
        file that it never takes.
        """
        self._connection.subscribe("status/+", "got/+")
        self._inbox.drain()
        statuses = self._inbox.statuses
        self._before = {node: status.nonce for node in self.ids if (status := statuses.get(node)) is not None}
        claimed = {node for node in self.ids if statuses.online(node)}
        for node in claimed:
            self._connection.publish(f"put/{node}", chunk_of_nothing(self._transfer))
        self._inbox.until(lambda: claimed <= self._answered, ANSWER_S if claimed else 0)
        self._connection.unsubscribe("got/+")
        alive = claimed & self._answered
        if alive:
            verb = "is" if len(alive) == 1 else "are"
            raise EmulationError(
                f"{named(alive)} of network {self._connection.network} {verb} online at {self._connection.url}"
                " already: stop it there, or start others with --nodes"
            )

    def await_online(self, nodes: EmulatedNodes, limit_s: float = ONLINE_S) -> dict[int, str]:
        """Wait until all are online; node → reason for those that are not after `limit_s`, or have crashed."""

        def decided() -> bool:
            return all(self._online(node) or node in self.failed for node in self.ids)

        self._inbox.until(decided, limit_s, "status/+", ask=lambda: self._look(nodes))
        self._look(nodes)
        failures = {failure.node: failure.sentence for failure in nodes.failures()}
        return {node: failures.get(node, self._silent(node)) for node in self.ids if not self._online(node)}

    def _silent(self, node: int) -> str:
        """A broker refuses who may not publish its will, and drops what a rule denies, without a word to us."""
        url, network = self._connection.url, self._connection.network
        return (
            f"node {node} runs, but has said nothing at {url}: does the broker let it in, and take its status and will "
            f"on dcka/{network}/status/{node}?"
        )

    def watch(self, nodes: EmulatedNodes, ended: Callable[[], bool]) -> None:
        """Tell what happens, until `ended()`, or all nodes have crashed."""
        while not ended() and len(self.failed) < len(self.ids):
            self._inbox.turn(LOOK_S)
            self._look(nodes)

    def _online(self, node: int) -> bool:
        """By a word of its own: the one that the broker kept of an earlier node does not count."""
        status = self._inbox.statuses.get(node)
        return status is not None and status.online and status.nonce != self._before.get(node)

    def _look(self, nodes: EmulatedNodes) -> None:
        for failure in nodes.failures():
            if failure.node not in self.failed:
                self.failed.add(failure.node)
                self._on_failure(failure)
        for node in sorted((self._inbox.statuses.twins & set(self.ids)) - self._twins):
            self._twins.add(node)
            self._on_trouble(
                f"node {node} is there twice: another device or process uses its id at {self._connection.url}"
            )
        if self._connected and not self._connection.connected:
            self._connected = False
            self._on_trouble(
                f"the broker at {self._connection.url} is gone; the nodes ask for it until it is back"
            )

    def _reconnected(self) -> None:
        if not self._connected:
            self._connected = True
            self._on_news(f"the broker at {self._connection.url} is back")

    def _take_answer(self, node: int, message: Message) -> None:
        if read_object(message.payload).get("transfer") != self._transfer:
            raise PayloadError("an answer to somebody else")
        self._answered.add(node)
