"""A node as a state machine: events in, actions out, time passed in.

A shell connects it to a broker, a clock and a file system, and does what it asks for (`actions`). It feeds
`connected`, `receive`, `tick` when `deadline` has come, and `data_loaded` or `data_failed` after an `Adopt`.
"""

from json import dumps, loads

from dcka_core import ticks
from dcka_core.actions import DROP, PUBLISH, SAVE, SUBSCRIBE, UNSUBSCRIBE
from dcka_core.errors import CoreError, DataError, MessageError
from dcka_core.messages import commit_order, is_change, peek_commit, peek_run, read_commit
from dcka_core.parts import part
from dcka_core.session import EPOCH_PHASE, topics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core import gossip_session, tree
    from dcka_core.messages import Commit
    from dcka_core.points import Points
    from dcka_core.record import Rows, Run

    Session = tree.Session | gossip_session.Session

VERSION = "0.1.0"
RUN_FILE = "run.json"
# A status at least so often: a will that came late, or a forged "offline", is put right within it.
_HEARTBEAT_MS = 10000
# A second node of our id is told of until it has been silent for so many heartbeats.
_TWIN_BEATS = 3
# Places in the ledger; protocol, section 7 has them all.
_HEARD, _HEARD_BYTES = 4, 5
_LEDGER = 7


class Node:
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
        self._prefix = "dcka/%s/" % network
        self._id = node
        self._boot = boot
        self._nonce = nonce
        self._memory = memory or {}
        self._flash_commit = commit
        self._furthest = b""
        self._max_message = max_message
        self._runtime = runtime
        self._vitals = vitals
        self._load = load
        self._out: list[Any] = []
        self.points: Points | None = None
        # What opens the readings, and their dataset's id in hex.
        self._open: Callable[[], Points | None] | None = None
        self._readings = ""
        self._run: "Run | None" = None
        self._rows: "Rows | None" = None
        self._early: dict[tuple[int, int], bytes] = {}
        self._asked: list[str] = []
        self.settled = False
        self._ripe = False
        self._online = False
        self._twin = 0
        self._wills = 0
        self._newest = 0
        self.problem = ""
        self._began = 0
        self._heartbeat: int | None = None
        self._intake: Any = None
        self.session: Session | None = None
        self.dropped: dict[str, int] = {}
        self.ledger = [0] * _LEDGER
        # What it was when the run's rows were taken.
        self._before = [0] * _LEDGER

    # ---- what the shell asks ----

    def standing_topics(self) -> "list[str]":
        """What a node always listens to; on boot also every commit that is retained (rule 2)."""
        own = "/%d" % self._id
        names = ["run", "rows" + own, "put" + own, "status" + own]
        return [self._prefix + name for name in names + ([] if self.settled else ["commit/+"])]

    def will(self) -> "tuple[str, str]":
        """(topic, payload) of what the broker says for a node that has gone without a word."""
        status = {"v": 1, "node": self._id, "boot": self._boot, "state": "offline"}
        status["nonce"] = self._nonce
        return self._topic("status"), dumps(status)

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
        except DataError as error:
            self._leave(error, now)
        except (CoreError, ValueError):
            self.count("json")
        return self._drain(now)

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
            self._twin = max(0, self._twin - 1)
            self._publish_status(now)
        return self._drain(now)

    def data_loaded(self, points: "Points", now: int) -> "list[Any]":
        """A data file was read: at boot, or after an `Adopt`."""
        self.points = points
        self.problem = ""
        return self._stored(now)

    def _stored(self, now: int) -> "list[Any]":
        if self._intake is not None and self._intake.pending:
            self.problem = ""
            self._publish("got", self._intake.finish(""))
        if self._online:
            self._ripe = True
            self._publish_status(now)
        return self._drain(now)

    def readings_held(self, dataset: bytes, load: "Callable[[], Points | None]", now: int) -> "list[Any]":
        """There are readings of this data set, at boot or after an `Adopt`. load: reads them, or raises CoreError."""
        self._readings = dataset.hex()
        self._open = load
        return self._stored(now)

    def points_made(self, points: "Points", clipped: "list[int]", now: int) -> "list[Any]":
        """A survey's points are in the data file, after a `Make`. clipped: `SurveyGrid.told`, for the status."""
        self._memory["made"] = points.dataset.hex()
        self._memory["clipped"] = clipped
        self._out.append((SAVE, RUN_FILE, dumps(self._memory)))
        return self.data_loaded(points, now)

    def forget_data(self) -> None:
        """A new data file is about to be read: a small heap has no room for two."""
        self.points = None

    def data_failed(self, error: str, now: int) -> "list[Any]":
        """The data file could not be stored or read: the old one stays."""
        self.problem = error
        if self._intake is not None and self._intake.under_way:
            self._publish("got", self._intake.finish(error))
        if self._online:
            self._publish_status(now)
        return self._drain(now)

    def count(self, reason: str) -> None:
        """Count a message that was dropped."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    # ---- messages ----

    def _dispatch(self, topic: str, payload: "bytes | memoryview", now: int) -> None:
        if not topic.startswith(self._prefix):
            raise MessageError("stranger")
        parts = topic[len(self._prefix) :].split("/")
        kind = parts[0]
        if kind in ("x", "epoch", "commit"):
            self.ledger[_HEARD] += 1
            self.ledger[_HEARD_BYTES] += len(payload)
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
        elif payload:
            raise MessageError("stranger")

    def _on_sums(self, phase: int, sender: int, payload: "bytes | memoryview", now: int) -> None:
        number = peek_run(payload)
        if self.session and number == self.session.run.number:
            self.session.receive(phase, sender, payload, now)
        elif self._rows and number == self._rows.number > self._newest:
            # A neighbour has the run record already: its message waits until we have it too.
            if len(payload) > self._max_message:
                raise MessageError("oversize")
            self._early[(phase, sender)] = bytes(payload)
        else:
            raise MessageError("run")

    def _on_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        if not payload:
            return
        number, named, _ = peek_commit(payload)
        if named != sender:
            raise MessageError("sender")
        session = self.session
        if session and number == session.run.number:
            if sender == self._id:
                return
            if not session.may_commit(sender):
                raise MessageError("stranger")
            session.receive_commit(sender, payload, now)
        elif number > self._newest and not is_change(payload):
            # Of a run whose record hasn't come yet: only the greatest is kept.
            if not self._furthest or commit_order(payload) > commit_order(self._furthest):
                self._furthest = bytes(payload)
        else:
            raise MessageError("run")

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
        self._before = list(self.ledger)
        self._early = {}
        self._publish_status(now)
        self._ripe = True

    def _make_room(self) -> None:
        """A newer run is about to start: a small heap needs the room of one that is done. One that goes on is ended
        only by a record that turned out to be sound.
        """
        if self.session and self.session.done:
            self.session = None

    def _on_put(self, payload: "bytes | memoryview", now: int) -> None:
        if self.session is not None and not self.session.done:
            transfer = int.from_bytes(payload[1:5], "little")
            self._publish("got", {"v": 1, "transfer": transfer, "next": 0, "error": "busy"})
            return
        if self._intake is None:
            self._intake = self._load("intake").Intake()
        actions, answer = self._intake.take(payload)
        self._out.extend(actions)
        if answer:
            self._publish("got", answer)
        if actions and actions[0][0] == DROP:
            self.points = self._open = None
            self._readings = ""
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
            # One foreign will is our last boot's, come late. Where the broker throws two of one id out in turn,
            # each sees but the other's wills.
            self._wills += 1 if state == "offline" and nonce != self._nonce else 0
            known = self._twin
            if state != "offline" or self._wills > 1:
                self._twin = _TWIN_BEATS
                self.count("twin")
            # To a living twin we speak once, or two of us would answer each other for ever.
            if state == "offline" or not known:
                self._publish_status(now)

    # ---- a run ----

    def _try_begin(self, now: int) -> None:
        """Enter the newest run whose record and rows are here, if the data is the run's (rule 3)."""
        run = self._run
        rows = self._rows
        if not self.settled or not run or not rows:
            return
        if run.number != rows.number or run.number <= self._newest:
            return
        points = self.points
        try:
            if run.kind == "survey":
                points = self._open() if self._open else None
            self.problem = self._why_not(run, rows, points)
        except CoreError as error:
            self.problem = str(error)
        if self.problem or points is None:
            self._publish_status(now)
            return
        digest = points.digest.hex()
        if self._memory.get("run") != run.number:
            self._memory = {"run": run.number, "boot": self._boot, "data": digest}
            self._out.append((SAVE, RUN_FILE, dumps(self._memory)))
        self._newest = run.number
        self._intake = None
        self.session = None
        held = self._best_commit(run)
        self._began = now
        identity = (self._prefix, self._id, self._boot)
        module = self._load(run.part)
        self.session = module.Session(
            run, rows, points, identity, self._memory["boot"], self._load, self._out, self._asked, self.ledger
        )
        module = None
        self._publish_status(now)
        self.session.start(held, now)
        # The code that drew the start has done its work.
        self._load("")
        self._take_early(now)

    def _leave(self, error: DataError, now: int) -> None:
        """The data are not what they were: no sums of them are sent, and the others go on as without a dead node."""
        if self.session and self.session.run.kind != "survey":
            self.points = None
        self.session = None
        self.problem = "the data can't be read: %s" % error
        self.listen(None)
        self._publish_status(now)

    def _why_not(self, run: "Run", rows: "Rows", points: "Points | None") -> str:
        if self._id not in run.members:
            return "no member of run %d" % run.number
        if (run.kind == "gossip") != bool(rows.phases):
            return "rows of another kind than the run"
        if points is None:
            if run.kind == "survey":
                return "no readings"
            return self.problem if self.problem.startswith("the data") else "no data"
        if points.dataset != run.dataset or points.n != run.n or points.bits != run.data_bits:
            return "data of another dataset"
        if self._memory.get("run") == run.number and self._memory.get("data") != points.digest.hex():
            return "data changed since run %d began" % run.number
        return ""

    def _best_commit(self, run: "Run") -> "Commit | None":
        """The greatest commit of this run that flash or a neighbour's retained word holds."""
        best = None
        for payload in (self._flash_commit, self._furthest):
            # Flash holds an older run's at the start of every run.
            if not payload or peek_run(payload) != run.number:
                continue
            try:
                commit = read_commit(payload, run)
            except MessageError as error:
                self.count(error.reason)
                continue
            if commit.beats(best):
                best = commit
        self._flash_commit = self._furthest = b""
        return best

    def _take_early(self, now: int) -> None:
        early = self._early
        self._early = {}
        for phase, sender in early:
            try:
                self._on_sums(phase, sender, early[(phase, sender)], now)
            except MessageError as error:
                self.count(error.reason)

    def listen(self, rows: "Rows | None") -> None:
        """Take these rows, and change the subscriptions from the old ones' topics to theirs.

        A board begins with those that it was provisioned with, of run 0.
        """
        before = self._asked + (topics(self._rows) if self._rows else [])
        wanted = topics(rows) if rows else []
        prefix = self._prefix
        self._out.extend([(UNSUBSCRIBE, prefix + topic) for topic in before if topic not in wanted])
        self._out.extend([(SUBSCRIBE, prefix + topic) for topic in wanted if topic not in before])
        del self._asked[:]
        self._rows = rows

    # ---- what is said ----

    def _topic(self, kind: str) -> str:
        return "%s%s/%d" % (self._prefix, kind, self._id)

    def _publish(self, kind: str, report: "dict[str, Any]", retain: bool = False) -> None:
        self._out.append((PUBLISH, self._topic(kind), dumps(report, separators=(",", ":")), retain))

    def _publish_status(self, now: int) -> None:
        session = self.session
        points = self.points
        live, free = self._vitals()
        state = "ready" if not session else "done" if session.done else "running"
        status = {
            "v": 1,
            "node": self._id,
            "boot": self._boot,
            "nonce": self._nonce,
            "state": state,
            "run": session.run.number if session else self._newest,
            "kind": session.run.kind if session else "",
            "step": session.held.step if session and session.held else 0,
            "prepared": self._rows.number if self._rows else 0,
            "dataset": points.dataset.hex() if points else "",
            "rows": points.count if points else 0,
            "heap": live,
            "free": free,
            "max_message": self._max_message,
            "firmware": VERSION,
            "runtime": self._runtime,
            "dropped": self.dropped,
            "ledger": self.ledger,
        }
        if points:
            status["data"] = points.digest.hex()[:16]
        if self._readings:
            status["readings"] = self._readings
        clipped = self._memory.get("clipped")
        if clipped and points and self._memory["made"] == status["dataset"]:
            status["clipped"] = clipped
        if session:
            session.describe(status)
        if self.problem:
            status["problem"] = self.problem
        if self._twin:
            status["twin"] = True
        self._publish("status", status, True)
        self._heartbeat = ticks.add(now, _HEARTBEAT_MS)

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
            spent = list(self.ledger)
            for index in range(_LEDGER):
                spent[index] -= self._before[index]
            report["ledger"] = spent
            report["slots"], _, report["sent"], report["bytes"], report["heard"], _, _ = spent
            report["boot"] = self._boot
            report["ms"] = ticks.diff(now, self._began)
            report["heap"] = self._vitals()[0]
            session.tell("result", report)
            self._publish_status(now)
            if session.run.kind == "survey":
                session.make_points(self._memory.get("made"))  # type: ignore[union-attr]
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
