"""The state of a network, from what its topics say: who is there, what runs, what happened last.

Pure: messages and the time are handed in, events come out. A retained message says what was true when it was
sent, and nobody knows when that was: it never makes a node look alive.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dcka.monitor.events import Event, clean
from dcka.monitor.progress import WITHOUT_SSD, RunProgress
from dcka.monitor.status_words import Found, seen, status_event
from dcka.monitor.tally import OTHER, NodeCounters, Tally
from dcka.mqtt import Message, NodeStatus, Statuses
from dcka.mqtt.readiness import named
from dcka.mqtt.statuses import SILENT_S, PayloadError, read_object, wholes
from dcka_core.errors import CoreError
from dcka_core.messages import peek_commit

KEPT_EVENTS = 200
KINDS = ("run", "dataset", "status", "step", "commit", "result")
"""What is looked at: the first parts of topics."""


@dataclass
class NodeView:
    """One node. `figures`: its last status but a will, which has none; the will where there is no other.

    Times are monotonic seconds: `known_at`, when it was first heard of; `live_at`, when it last spoke while we
    listened (None: what is known of it is retained); `offline_at`, when it was seen to go. `counters`: what it counts.
    """

    status: NodeStatus
    figures: NodeStatus
    known_at: float
    live_at: float | None = None
    offline_at: float | None = None
    counters: NodeCounters = field(default_factory=NodeCounters)

    def state(self, now: float) -> str:
        """The state that it said, or `silent` where nothing was heard of it for too long."""
        heard = self.known_at if self.live_at is None else self.live_at
        if self.status.online and now - heard > SILENT_S + 1.1 * self.status.until_ms / 1000:
            return "silent"
        return self.status.state

    def age(self, now: float) -> float:
        """Seconds since it last spoke; at least so many, where only a retained status is known."""
        return max(0.0, now - (self.known_at if self.live_at is None else self.live_at))


@dataclass
class NetworkState:
    """`members`: the ids of the network file. `nodes`: by id, whoever has a status. `run`: the run that is on, or
    was last. `broker`: whether the broker is there; `broker_at`: since when. `tally`: what was counted meanwhile."""

    network: str
    members: tuple[int, ...] = ()
    nodes: dict[int, NodeView] = field(default_factory=dict)
    run: RunProgress = field(default_factory=RunProgress)
    broker: bool = True
    broker_at: float = 0.0
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))
    tally: Tally = field(default_factory=Tally)
    _statuses: Statuses = field(default_factory=Statuses)

    def take(self, node: int, message: Message, wall: float) -> list[Event]:
        """Take a message of `<kind>/<node>` in; `wall`: seconds since 1970. Raises PayloadError for a useless one."""
        kind = message.suffix.partition("/")[0]
        handler = _HANDLERS.get(kind)
        found = [] if handler is None else handler(self, node, message)
        if kind != "status" and not message.retained and node in self.nodes:
            self.nodes[node].live_at = message.at
        self.tally.messages[kind] += 1
        return self._told(found, wall)

    def repeated(self, count: int) -> None:
        """So many statuses came that the node's next one, which was taken, repeats but for its figures."""
        self.tally.messages["status"] += count

    def rejected(self, topic: str, reason: str, wall: float) -> list[Event]:
        """A message that was of no use."""
        kind = topic.partition("/")[0]
        self.tally.rejected[kind if kind in KINDS else OTHER] += 1
        data = {"topic": clean(topic), "reason": clean(reason)}
        return self._told(
            [("rejected", f"dropped a message on {data['topic']}: {data['reason']}", data, True)], wall
        )

    def note(self, kind: str, text: str, data: dict[str, Any], bad: bool, wall: float) -> list[Event]:
        """Something about the monitor itself, which no message says."""
        return self._told([(kind, text, data, bad)], wall)

    def broker_is(self, there: bool, now: float, wall: float) -> list[Event]:
        """The broker was found there, or away."""
        if there == self.broker:
            return []
        self.broker, self.broker_at = there, now
        text = "the broker is back" if there else "the broker does not answer: trying again"
        return self._told([("broker", text, {"state": "back" if there else "away"}, not there)], wall)

    def reconnected(self) -> None:
        """An outage is over, however short: what was said meanwhile is lost."""
        self.tally.cut_off()

    def absent(self) -> list[int]:
        """The members that nothing is known of."""
        return [node for node in self.members if node not in self.nodes]

    # ---- what comes ----

    def _take_status(self, node: int, message: Message) -> list[Found]:
        if not message.payload:
            if self.nodes.pop(node, None) is None:
                return []
            return [("cleared", f"node {node}: its status was cleared", {"node": node}, False)]
        status = self._statuses.take(node, message.payload, message.retained)
        if status is None:
            return []
        view = self.nodes.get(node)
        before = None if view is None else view.status
        if view is None:
            view = self.nodes[node] = NodeView(status, status, message.at)
        view.status = status
        if not message.retained:
            view.live_at = message.at
        if status.online:
            view.figures, view.offline_at = status, None
            view.counters.take(status)
        elif not message.retained and view.offline_at is None:
            view.offline_at = message.at
        # `Statuses` gives the same table again only where nothing but figures differs.
        if before is not None and (status.dropped is before.dropped or seen(before) == seen(status)):
            return []
        return [status_event(status, before, message.retained)]

    def _take_run(self, _: int, message: Message) -> list[Found]:
        if not message.payload:
            return []
        record = read_object(message.payload)
        run = self.run
        first = run.number == 0
        if not run.begin(record):
            return []
        self.tally.run_began(run, first, message.retained)
        data = {"run": run.number, "kind": run.kind, "k": run.k, "members": list(run.members)}
        data["retained"] = message.retained
        return [("run", f"{self.run.title()}{' (retained)' if message.retained else ''}", data, False)]

    def _take_dataset(self, _: int, message: Message) -> list[Found]:
        if not message.payload:
            return []
        known = self.run.know_dataset(read_object(message.payload))
        if known is None:
            return []
        name, rows = known
        data = {"name": name, "readings": rows, "retained": message.retained}
        return [("dataset", f"data set {name}: {rows:,} readings", data, False)]

    def _take_step(self, node: int, message: Message) -> list[Found]:
        ended = self.run.take_step(node, message.record())
        if ended is None:
            return []
        data: dict[str, Any] = {"run": self.run.number, "step": ended.number, "ssd": ended.ssd}
        data |= {"units": self.run.in_units, "scale": self.run.scale, "missing": list(ended.missing)}
        data |= {"epoch": ended.epoch, "root": ended.root}
        words = [f"run {self.run.number}: step {ended.number + 1}"]
        if self.run.kind not in WITHOUT_SSD:
            words.append(f"SSD {ended.ssd:.7g}")
        if ended.missing:
            words.append(f"without {clean(named(ended.missing))}")
        if ended.new_root:
            words.append(f"node {ended.root} is the root now (epoch {ended.epoch})")
        return [("step", ", ".join(words), data, bool(ended.missing))]

    def _take_commit(self, node: int, message: Message) -> list[Found]:
        if not message.payload:
            return []
        try:
            run, sender, step = peek_commit(message.payload)
        except CoreError as error:
            raise PayloadError(f"no commit: {error}") from None
        if sender != node:
            raise PayloadError("the commit of another node")
        self.run.take_commit(run, node, step)
        return []

    def _take_result(self, node: int, message: Message) -> list[Found]:
        record = message.record()
        run, steps, converged = record.get("run"), record.get("steps"), record.get("converged")
        if type(run) is not int or type(steps) is not int or type(converged) is not bool:
            raise PayloadError("no result")
        missing = [one for one in wholes(record, "missing", ()) if one in self.run.members]
        if run != self.run.number or not self.run.take_result(node, missing):
            return []
        self.tally.run_told(self.run)
        data = {"run": run, "node": node, "steps": steps, "converged": converged, "missing": missing}
        how = "" if self.run.kind in WITHOUT_SSD else ", converged" if converged else ", not converged"
        if missing:
            how += f", without {clean(named(missing))} in all steps or some"
        text = f"run {run}: node {node} is done after {steps} steps{how}"
        return [("result", text, data, bool(missing))]

    def _told(self, found: Collection[Found], wall: float) -> list[Event]:
        events = [Event(kind, text, wall, data, bad) for kind, text, data, bad in found]
        self.events.extend(events)
        return events


_HANDLERS: Mapping[str, Callable[[NetworkState, int, Message], list[Found]]] = {
    "status": NetworkState._take_status,
    "run": NetworkState._take_run,
    "dataset": NetworkState._take_dataset,
    "step": NetworkState._take_step,
    "commit": NetworkState._take_commit,
    "result": NetworkState._take_result,
}
