"""A node as a state machine: events in, actions out, time passed in.

A shell connects it to a broker, a clock and a file system, and does what it asks for (`actions`). It feeds
`connected`, `receive`, `tick` when `deadline` has come, and `data_loaded` or `data_failed` after an `Adopt`.

A node is one object, written in layers: `voice` says how it fares, `holder` has the data, `member` takes part in runs.
"""

from json import loads

from dcka_core import ticks
from dcka_core.actions import UNSUBSCRIBE
from dcka_core.errors import CoreError, DataError, MessageError
from dcka_core.member import Member
from dcka_core.parts import part
from dcka_core.session import EPOCH_PHASE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.points import Points

# Places in the ledger; protocol, section 7 has them all.
_HEARD, _HEARD_BYTES = 4, 5
# What nobody sends who keeps to the rules: the sender is looked at (`quarantine`).
_BLAMED = ("length", "value", "version", "set", "points", "conflict", "root")


class Node(Member):
    """One node of a network.

    boot: this boot's count, already on flash. nonce: random, of this boot. memory: what RUN_FILE held, or None.
    commit: what COMMIT_FILE held, or b"". vitals: () -> (live heap, free heap) in bytes. load: `parts.part`, or what
    does the same with less memory. ledger: what this boot has cost; the shell counts associations and computing time in
    it (places 1 and 6), since the core has neither radio nor clock.
    """

    def __init__(
        self,
        network: str,
        node: int,
        boot: int,
        nonce: int,
        memory: "dict[str, Any] | None",
        commit: bytes,
        max_message: int,
        runtime: str,
        vitals: "Callable[[], tuple[int, int]]",
        load: "Callable[[str], Any]" = part,
    ) -> None:
        self._introduce(network, node, boot, nonce, max_message, runtime, vitals)
        self._hold_nothing(load)
        self._join_nothing(memory or {}, commit)
        # Parts that not every node has, by the topic that they listen to: each with `take(payload)`, and with
        # `due(node, now)`, the actions that it asks for after an event.
        self.others: dict[str, Any] = {}
        # A run may have become possible: looked at when the event is over.
        self._ripe = False
        self._online = False

    # ---- what the shell asks ----

    def standing_topics(self) -> "list[str]":
        """What a node always listens to; on boot also every commit that is retained (rule 2)."""
        own = "/%d" % self._id
        names = ["run", "rows" + own, "put" + own, "status" + own] + list(self.others)
        return [self._prefix + name for name in names + ([] if self.settled else ["commit/+"])]

    def deadline(self) -> "int | None":
        """The tick at which `tick` has to be called, if nothing comes before."""
        return ticks.earliest(self._heartbeat, self.session.deadline if self.session else None)

    # ---- events ----

    def connected(self, now: int) -> "list[Any]":
        """The link is up, with the standing topics and the run's subscribed again."""
        if self.session and self._online is False:
            self.session.reconnected(now)
        self._online = True
        self._publish_status(now)
        return self._drain(now)

    def disconnected(self) -> None:
        """The link is down: what is sent now is lost, and said again when it is back."""
        self._online = False

    def receive(self, topic: str, payload: "bytes | memoryview", now: int) -> "list[Any]":
        """A message. Whatever is wrong with it is counted, never raised."""
        try:
            self._dispatch(topic, payload, now)
        except MessageError as error:
            self.count(error.reason)
            if self.session and error.reason in _BLAMED:
                self._suspect(topic, payload, error.reason, now)
        except DataError as error:
            self._leave(error, now)
        except (CoreError, ValueError):
            self.count("json")
        return self._drain(now)

    def _suspect(self, topic: str, payload: "bytes | memoryview", reason: str, now: int) -> None:
        """Somebody does not keep to the rules, or sends more than they allow (no `reason`)."""
        session = self.session
        if session is None:
            return
        if session.quarantine is None:
            session.quarantine = self._load("quarantine").Session(session)
        if session.quarantine.suspect(topic, payload, reason, now):
            self._publish_status(now)

    def tick(self, now: int) -> "list[Any]":
        """Time has passed."""
        session = self.session
        if session and session.deadline is not None and ticks.diff(now, session.deadline) >= 0:
            try:
                if session.tick(now):
                    self._publish_status(now)
                if session.asleep:
                    self._out.append(session.asleep)
            except DataError as error:
                self._leave(error, now)
        if self._heartbeat is not None and ticks.diff(now, self._heartbeat) >= 0:
            self._beat()
            self._publish_status(now)
        return self._drain(now)

    def data_loaded(self, points: "Points", now: int) -> "list[Any]":
        """A data file was read: at boot, or after an `Adopt`."""
        self.points = points
        self.problem = ""
        return self._stored(now)

    def _stored(self, now: int) -> "list[Any]":
        self._finish_transfer()
        if self._online:
            self._ripe = True
            self._publish_status(now)
        return self._drain(now)

    def readings_held(self, dataset: bytes, load: "Callable[[], Points | None]", now: int) -> "list[Any]":
        """There are readings of this data set, at boot or after an `Adopt`. load: reads them, or raises CoreError."""
        self._hold_readings(dataset, load)
        return self._stored(now)

    def points_made(self, points: "Points", clipped: "list[int]", now: int) -> "list[Any]":
        """A survey's points are in the data file, after a `Make`. clipped: `SurveyGrid.told`, for the status."""
        self._remember_made(points, clipped)
        return self.data_loaded(points, now)

    def data_failed(self, error: str, now: int) -> "list[Any]":
        """The data file could not be stored or read: the old one stays."""
        self._fail_transfer(error)
        if self._online:
            self._publish_status(now)
        return self._drain(now)

    # ---- messages ----

    def _dispatch(self, topic: str, payload: "bytes | memoryview", now: int) -> None:
        if not topic.startswith(self._prefix):
            raise MessageError("stranger")
        parts = topic[len(self._prefix) :].split("/")
        kind = parts[0]
        if kind in ("x", "epoch", "commit"):
            self.ledger[_HEARD] += 1
            self.ledger[_HEARD_BYTES] += len(payload)
            if self.session and (self.session.quarantine or self.ledger[_HEARD] > self.session.most):
                self._suspect(topic, payload, "", now)
        if kind == "x" and len(parts) == 3:
            self._on_sums(int(parts[1]), int(parts[2]), payload, now)
        elif kind == "epoch" and len(parts) == 2:
            self._on_sums(EPOCH_PHASE, int(parts[1]), payload, now)
        elif kind == "commit" and len(parts) == 2:
            self._on_commit(int(parts[1]), payload, now)
        elif kind == "run" and payload:
            self._on_run(_parse(payload), now)
        elif kind == "rows" and payload:
            self._on_rows(_parse(payload), now)
        elif kind == "put":
            self._on_put(payload, now)
        elif kind == "status" and payload:
            self._on_own_status(_parse(payload), now)
        elif kind in self.others:
            self.others[kind].take(payload)
        elif payload:
            raise MessageError("stranger")

    def _on_run(self, record: "dict[str, Any]", now: int) -> None:
        number = _number(record)
        if number < max(self._newest, self._run.number if self._run else 0):
            raise MessageError("run")
        if number == self._newest:
            return
        if record.get("kind") == "idle":
            self.session = None
            self._newest = number
            self.listen(None)
            self._publish_status(now)
            return
        self._make_room()
        self._run = self._load("record").read_run(record)
        self.session = None
        self._ripe = True

    def _on_rows(self, record: "dict[str, Any]", now: int) -> None:
        number = _number(record)
        if number <= max(self._newest, self._rows.number if self._rows else 0):
            return
        self._make_room()
        self.listen(self._load("record").read_rows(record))
        self.session = None
        self._count_anew()
        self._early = {}
        self._publish_status(now)
        self._ripe = True

    def _on_put(self, payload: "bytes | memoryview", now: int) -> None:
        busy = self.session is not None and not self.session.done
        gone = self._take_chunk(payload, busy)
        if gone:
            self._publish_status(now)

    def _on_own_status(self, status: "dict[str, Any]", now: int) -> None:
        """Our own word comes back: all that is retained came before it. Somebody else's: a late will, or a twin."""
        nonce = status.get("nonce")
        state = status.get("state")
        if status.get("v") != 1 or status.get("node") != self._id or not isinstance(nonce, int):
            raise CoreError("no status of this node")
        if nonce == self._nonce and state != "offline":
            if not self.settled:
                self._out.append((UNSUBSCRIBE, self._prefix + "commit/+"))
                self.settled = True
                self._ripe = True
        elif self.settled:
            urgent = self._hear_other(nonce, state)
            if urgent:
                self._publish_status(now)

    # ---- what comes of it ----

    def _drain(self, now: int) -> "list[Any]":
        """The actions of this event; a run that has just ended says its result last."""
        if self._ripe:
            # Only now, when what was read has left the heap: the run's code takes its place.
            self._ripe = False
            try:
                self._try_begin(now)
            except DataError as error:
                self._leave(error, now)
        session = self.session
        while session and session.lost:
            self.count(session.lost.pop())
        if session and session.done and not session.reported:
            session.reported = True
            report = session.result()
            report["ms"] = ticks.diff(now, self._began)
            self._add_cost(report)
            session.tell("result", report)
            if session.run.latest:
                session.latest = self._load("latest").where(session.points, session.held, session.run.latest)
            self._publish_status(now)
            if session.run.kind == "survey":
                session.make_points(self._memory.get("made"))  # type: ignore[union-attr]
        for other in self.others:
            self._out.extend(self.others[other].due(self, now))
        actions = list(self._out)
        # Cleared, not replaced: the session appends to this same list.
        del self._out[:]
        return actions


def _parse(payload: "bytes | memoryview") -> "dict[str, Any]":
    try:
        value = loads(bytes(payload))
    except (ValueError, RuntimeError):
        # RuntimeError: brackets in brackets, deeper than the parser goes. No `from`: MicroPython can't, and says so.
        raise CoreError("no JSON")
    if not isinstance(value, dict):
        raise CoreError("no object")
    return value


def _number(record: "dict[str, Any]") -> int:
    number = record.get("run")
    if record.get("v") != 1 or type(number) is not int or number < 1:
        raise CoreError("run is %r" % number)
    return number
