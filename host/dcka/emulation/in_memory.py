"""The firmware's nodes as a network in memory, with a clock that goes on when nothing is left to do.

Every byte that is counted has been encoded by `dcka_core`, and every node decodes what it hears.
"""

import heapq
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dcka.emulation.errors import EmulationError
from dcka_core.actions import PUBLISH, SAVE, SUBSCRIBE, UNSUBSCRIBE
from dcka_core.node import Node
from dcka_core.points import Points

NETWORK = "sensors"
PREFIX = f"dcka/{NETWORK}/"
HOP_MS = 10
"""A message's way through the broker; far below a patience."""
MAX_MESSAGE = 4096
# What a status says of its node has the length that a board's has.
RUNTIME = "micropython 1.29.0 esp32"
LIVE_BYTES, FREE_BYTES = 98_000, 30_000

Lost = Callable[[int, str, int, int], bool]
"""(sender, topic, hearer, ms) → whether this delivery is lost."""


class Observer(Protocol):
    """Who is told of what passes. Topics are without their prefix; the sender is None for the host."""

    def published(self, sender: int | None, topic: str, payload: bytes, hearers: list[int]) -> None: ...

    def subscribed(self, node: int) -> None: ...

    def again(self, topic: str, payload: bytes, hearer: int) -> None:
        """A retained message that a subscription brought."""


class Network:
    """A broker, a clock and a flash for nodes with these points.

    `observer`: told of everything from when it is set. `on_save`: called with (node, file, content) of what nodes put
    on their flash. `lost`: says of deliveries among nodes whether they are lost; the host's never are. `hop_ms`: from
    one node to the next.
    """

    def __init__(self, points: Mapping[int, Points], hop_ms: int = HOP_MS, lost: Lost | None = None) -> None:
        self.now = 0
        self.observer: Observer | None = None
        self.on_save: Callable[[int, str, bytes], None] | None = None
        self._lost = lost
        self._hop_ms = hop_ms
        self._nodes: dict[int, Node] = {}
        self._topics: dict[str, dict[int, None]] = {}
        self._retained: dict[str, bytes] = {}
        self._events: list[tuple[int, int, int, str, bytes]] = []
        self._count = 0
        self._armed: dict[int, int | None] = {}
        for node, own in points.items():
            self._boot(node, own)
        self.settle()

    def session(self, node: int) -> Any:
        """The node's part in its run, None before one."""
        return self._nodes[node].session

    def dropped(self, node: int) -> dict[str, int]:
        """How many messages the node has dropped, by reason."""
        return self._nodes[node].dropped

    def ledger(self, node: int) -> list[int]:
        """What the node has spent since its boot (protocol, section 7)."""
        return list(self._nodes[node].ledger)

    def publish(self, sender: int | None, topic: str, payload: bytes, retain: bool) -> None:
        """Hand a message to the broker; `topic` without the prefix."""
        if retain:
            self._retained[topic] = payload
        parent = topic.rpartition("/")[0]
        wanted = [*self._topics.get(topic, ()), *self._topics.get(f"{parent}/+", ())]
        hearers = [node for node in dict.fromkeys(wanted) if not self._is_lost(sender, topic, node)]
        for node in hearers:
            self._post(self.now + self._hop_ms, node, topic, payload)
        if self.observer is not None:
            self.observer.published(sender, topic, payload, hearers)

    def settle(self) -> None:
        """Let everything arrive that is on its way."""
        until = self.now + self._hop_ms
        while self._events and self._events[0][0] <= until:
            if self._events[0][3]:
                until = max(until, self._events[0][0] + self._hop_ms)
            self._next()
        self.now = until

    def run(self, finished: Callable[[], bool], limit_ms: int) -> bool:
        """Go on until `finished()`, or False where it is not after `limit_ms`."""
        end = self.now + limit_ms
        while not finished():
            if not self._events or self._events[0][0] > end:
                return False
            self._next()
        return True

    def _boot(self, node: int, points: Points) -> None:
        machine = Node(NETWORK, node, 1, node, None, b"", MAX_MESSAGE, RUNTIME, _vitals)
        self._nodes[node] = machine
        self._armed[node] = None
        self._perform(node, machine.data_loaded(points, self.now))
        for topic in machine.standing_topics():
            self._subscribe(node, topic.removeprefix(PREFIX))
        self._perform(node, machine.connected(self.now))

    def _next(self) -> None:
        time, _, node, topic, payload = heapq.heappop(self._events)
        self.now = max(self.now, time)
        machine = self._nodes[node]
        if topic:
            self._perform(node, machine.receive(PREFIX + topic, payload, self.now))
        elif self._armed[node] == time:
            self._armed[node] = None
            self._perform(node, machine.tick(self.now))

    def _perform(self, node: int, actions: list[Any]) -> None:
        for action in actions:
            what = action[0]
            if what == PUBLISH:
                self.publish(node, action[1].removeprefix(PREFIX), _bytes(action[2]), action[3])
            elif what == SUBSCRIBE:
                self._subscribe(node, action[1].removeprefix(PREFIX))
            elif what == UNSUBSCRIBE:
                self._topics.get(action[1].removeprefix(PREFIX), {}).pop(node, None)
            elif what == SAVE:
                if self.on_save is not None:
                    self.on_save(node, action[1], _bytes(action[2]))
            else:
                raise EmulationError(f"node {node} asks for action {what}, which this network has not")
        due = self._nodes[node].deadline()
        if due is not None and due != self._armed[node]:
            self._armed[node] = due
            self._post(due, node, "", b"")

    def _subscribe(self, node: int, topic: str) -> None:
        self._topics.setdefault(topic, {})[node] = None
        if self.observer is not None:
            self.observer.subscribed(node)
        matching = [topic] if topic in self._retained else []
        if topic.endswith("/+"):
            matching = [known for known in self._retained if known.rpartition("/")[0] == topic[:-2]]
        for known in matching:
            sender = int(known.rpartition("/")[2]) if known.startswith("commit/") else None
            if not self._is_lost(sender, known, node):
                self._post(self.now + self._hop_ms, node, known, self._retained[known])
                if self.observer is not None:
                    self.observer.again(known, self._retained[known], node)

    def _is_lost(self, sender: int | None, topic: str, node: int) -> bool:
        if self._lost is None or sender is None or sender == node:
            return False
        return self._lost(sender, topic, node, self.now)

    def _post(self, time: int, node: int, topic: str, payload: bytes) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, self._count, node, topic, payload))


def _bytes(payload: str | bytes | bytearray) -> bytes:
    return payload.encode() if isinstance(payload, str) else bytes(payload)


def _vitals() -> tuple[int, int]:
    return LIVE_BYTES, FREE_BYTES
