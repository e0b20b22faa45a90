"""An update of many nodes: some first, then the rest; it stops at the first that went back, or could not be updated."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dcka.errors import DckaError
from dcka.mqtt.channel import Channel
from dcka.mqtt.connection import Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import READY_S, require_single
from dcka.mqtt.statuses import read_object
from dcka.updates.delivery import PATIENCE_S, Delivery, State, Told
from dcka.updates.manifests import Signed

TURN_S = 0.2
ASK_S = 5.0
SMALLEST = 256  # bytes of a message; a node that takes less could not take part in a run of many
BACK_S = 120.0
"""How long a board may take from a restart to its first word: it joins a Wi-Fi and a broker."""

Plan = Callable[[int, Mapping[str, Any]], "Signed | None"]


@dataclass(frozen=True)
class Wishes:
    """`canary`: so many nodes first. `soak_s`: for so long they have to stay. `parallel`: nodes at a time after them.

    `join_s`: how long a trial may take. `patience_s`: how long a node may be silent or in a run. `dry`: only ask.
    """

    canary: int = 1
    soak_s: float = 0.0
    parallel: int = 4
    join_s: float = 900.0
    patience_s: float = PATIENCE_S
    dry: bool = False


@dataclass(frozen=True)
class Outcome:
    """By node what became of it; `canary`: those that went first; `stopped`: why not all had their turn, or ""."""

    nodes: Mapping[int, Told]
    canary: tuple[int, ...]
    stopped: str

    def count(self, *states: State) -> int:
        """How many nodes ended so."""
        return sum(told.state in states for told in self.nodes.values())

    @property
    def ok(self) -> bool:
        """Whether every node has the version."""
        return self.count(State.CURRENT, State.JOINED) == len(self.nodes)


class Rollout:
    """One call: build it with a connection, `run` it.

    plan: (node, facts) → the signed version for it, None where it has it; may raise DckaError. on_change: called with
    what there is to report of a node, and how much of the version it has, whenever that has changed. draw: gives each
    transfer its number, of 31 bits.
    """

    def __init__(
        self,
        connection: Channel,
        nodes: Sequence[int],
        plan: Plan,
        wishes: Wishes,
        on_change: Callable[[Told, float], None] = lambda told, part: None,
        draw: Callable[[], int] = lambda: secrets.randbits(31),
    ) -> None:
        self._connection = connection
        self._nodes = list(nodes)
        self._plan = plan
        self._wishes = wishes
        self._on_change = on_change
        self._draw = draw
        self._deliveries: dict[int, Delivery] = {}
        self._shown: dict[int, tuple[State, float]] = {}
        self._canary: list[int] = []
        self._soaking: dict[int, tuple[float, int]] = {}
        self._soaked: set[int] = set()
        self._stopped = ""
        self._asked_at = 0.0
        self._inbox = Inbox(connection, {"got": self._take_answer, "version": self._take_version})

    def run(self) -> Outcome:
        """Update the nodes; what became of each. Returns at the latest when all patience is used up."""
        self._connection.subscribe("got/+", "version/+")
        self._connection.subscribe("status/+")
        # Who is away is left for another call; the others don't wait for long.
        self._inbox.until(lambda: all(map(self._inbox.statuses.online, self._nodes)), READY_S, "status/+")
        require_single(self._inbox.statuses, self._nodes)
        self._make_all()
        while not all(one.over for one in self._deliveries.values()) or self._soaking:
            now = self._connection.now()
            self._begin_next(now)
            self._inbox.turn(TURN_S)
            now = self._connection.now()
            for one in self._deliveries.values():
                one.look(now)
                self._judge(one, now)
                self._show(one)
            self._watch_soaking(now)
            if now - self._asked_at > ASK_S:
                self._asked_at = now
                self._connection.ask("version/+", "status/+")
        return Outcome(
            {node: one.told for node, one in self._deliveries.items()}, tuple(self._canary), self._stopped
        )

    # ---- whose turn it is ----

    def _make_all(self) -> None:
        wishes = self._wishes
        now = self._connection.now()
        for node in self._nodes:
            status = self._inbox.statuses.get(node)
            most = status.max_message if status is not None else 0
            one = Delivery(
                node,
                most,
                self._planner(node),
                self._sender(node),
                self._draw(),
                wishes.join_s,
                wishes.patience_s,
            )
            self._deliveries[node] = one
            if status is None or not self._inbox.statuses.online(node):
                one.end(State.FAILED, "it is offline", now)
            elif most < SMALLEST:
                one.end(State.REFUSED, f"it takes messages of {most} bytes; {SMALLEST} are needed", now)

    def _begin_next(self, now: float) -> None:
        waiting = [node for node, one in self._deliveries.items() if one.told.state is State.WAITING]
        if not waiting:
            return
        if self._stopped:
            for node in waiting:
                self._deliveries[node].end(State.HELD, self._stopped, now)
            return
        active = [node for node, one in self._deliveries.items() if one.active]
        missing = self._wishes.canary - len(self._canary)
        if self._wishes.dry:
            room = len(waiting)
        elif missing > 0:
            # One that has the version already, or refuses it, is no canary: another one goes first.
            room = missing - len([node for node in active if node not in self._canary])
        elif self._soaking or any(node in self._canary for node in active):
            return
        else:
            room = self._wishes.parallel - len(active)
        for node in waiting[: max(0, room)]:
            self._deliveries[node].begin(now)

    def _judge(self, one: Delivery, now: float) -> None:
        """What follows for the others."""
        node, told = one.told.node, one.told
        begun = one.active and told.state is not State.ASKING
        if begun and node not in self._canary and len(self._canary) < self._wishes.canary:
            self._canary.append(node)
        if told.state is State.JOINED and node in self._canary and node not in self._soaked:
            self._soaked.add(node)
            if self._wishes.soak_s > 0:
                self._soaking[node] = (now + self._wishes.soak_s, self._boot(node))
        if told.state is State.ROLLED_BACK:
            self._stopped = self._stopped or f"node {node} went back to its last version"
        elif told.state is State.FAILED and one.tried:
            self._stopped = self._stopped or f"node {node} did not come back with it"
        elif one.over and not one.tried and node in self._canary:
            self._canary.remove(node)

    def _watch_soaking(self, now: float) -> None:
        for node, (until, boot) in list(self._soaking.items()):
            restarted = self._boot(node) > boot
            if restarted or not self._inbox.statuses.online(node):
                del self._soaking[node]
                what = "restarted" if restarted else "went offline"
                self._deliveries[node].end(State.FAILED, f"it {what} within {self._wishes.soak_s:g} s", now)
                self._stopped = self._stopped or f"node {node} {what} after it had joined"
            elif now >= until:
                del self._soaking[node]

    def _boot(self, node: int) -> int:
        status = self._inbox.statuses.get(node)
        return status.boot if status is not None else 0

    # ---- to and fro ----

    def _planner(self, node: int) -> Callable[[Mapping[str, Any]], Signed | None]:
        def plan(facts: Mapping[str, Any]) -> Signed | None:
            one = self._deliveries[node]
            try:
                made = self._plan(node, facts)
            except DckaError as error:
                one.end(State.REFUSED, str(error), self._connection.now())
                return None
            if made is not None and self._wishes.dry:
                one.told.version, one.told.files = made.version, len(made.paths)
                one.told.bytes = made.size
                one.end(State.HELD, "--dry-run", self._connection.now())
                return None
            return made

        return plan

    def _sender(self, node: int) -> Callable[[bytes], object]:
        return lambda payload: self._connection.publish(f"put/{node}", payload)

    def _take_answer(self, node: int, message: Message) -> None:
        one = self._deliveries.get(node)
        if one is not None:
            one.take_answer(read_object(message.payload), message.at)

    def _take_version(self, node: int, message: Message) -> None:
        one = self._deliveries.get(node)
        if one is not None and message.payload:
            one.take_version(read_object(message.payload), message.at)

    def _show(self, one: Delivery) -> None:
        now = (one.told.state, round(one.part, 3))
        if self._shown.get(one.told.node) != now:
            self._shown[one.told.node] = now
            self._on_change(one.told, one.part)


def standings(connection: Channel, nodes: Sequence[int], wait_s: float) -> dict[int, dict[str, Any]]:
    """What each node says of its versions, within `wait_s`: its retained word; empty for one that has said nothing."""
    found: dict[int, dict[str, Any]] = {}

    def take(node: int, message: Message) -> None:
        if message.payload:
            found[node] = read_object(message.payload)

    inbox = Inbox(connection, {"version": take})
    connection.subscribe("version/+", "status/+")

    def all_said() -> bool:
        return all(node in found and inbox.statuses.get(node) is not None for node in nodes)

    inbox.until(all_said, wait_s, "version/+", "status/+")
    return {node: {**found.get(node, {}), "online": inbox.statuses.online(node)} for node in nodes}
