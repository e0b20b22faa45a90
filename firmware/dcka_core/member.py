"""A node's part in runs: which one it is in, how it enters and leaves it, and what comes before that."""

from json import dumps

from dcka_core import ticks
from dcka_core.actions import SAVE, SUBSCRIBE, UNSUBSCRIBE
from dcka_core.errors import CoreError, DataError, MessageError
from dcka_core.holder import Holder
from dcka_core.messages import commit_order, is_change, peek_commit, peek_run, read_commit
from dcka_core.session import topics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core import gossip_session, tree
    from dcka_core.messages import Commit
    from dcka_core.points import Points
    from dcka_core.record import Rows, Run

    Session = tree.Session | gossip_session.Session

RUN_FILE = "run.json"
# A status at least so often: a will that came late, or a forged "offline", is put right within it.
_HEARTBEAT_MS = 10000


class Member(Holder):
    """The layer of a node that takes part in runs.

    session: the run that it is in. settled: whether all that is retained has come.
    """

    session: "Session | None"
    settled: bool

    def _join_nothing(self, memory: "dict[str, Any]", commit: bytes) -> None:
        """What is known at boot: see `dcka_core.node.Node`."""
        self._memory = memory
        self._flash_commit = commit
        self._furthest = b""
        self._run: "Run | None" = None
        self._rows: "Rows | None" = None
        self._early: dict[tuple[int, int], bytes] = {}
        self._asked: list[str] = []
        self._newest = 0
        self._began = 0
        self._heartbeat: int | None = None
        self.settled = False
        self.session = None

    # ---- messages of runs ----

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

    # ---- in and out ----

    def _try_begin(self, now: int) -> None:
        """Enter the newest run whose record and rows are here, if the data is the run's (rule 3)."""
        run = self._run
        rows = self._rows
        if not self.settled or not run or not rows:
            return
        if run.number != rows.number or run.number <= self._newest:
            return
        points = None
        try:
            points = self._points_for(run)
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
        self._end_transfer()
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

    def _make_room(self) -> None:
        """A newer run is about to start: a small heap needs the room of one that is done. One that goes on is ended
        only by a record that turned out to be sound.
        """
        if self.session and self.session.done:
            self.session = None

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

    # ---- what is told of it ----

    def _remember_made(self, points: "Points", clipped: "list[int]") -> None:
        """Which points a survey has made, and what it clipped."""
        self._memory["made"] = points.dataset.hex()
        self._memory["clipped"] = clipped
        self._out.append((SAVE, RUN_FILE, dumps(self._memory)))

    def _publish_status(self, now: int) -> None:
        session = self.session
        live, free = self._vitals()
        status = {
            "state": "ready" if not session else "done" if session.done else "running",
            "run": session.run.number if session else self._newest,
            "kind": session.run.kind if session else "",
            "step": session.held.step if session and session.held else 0,
            "prepared": self._rows.number if self._rows else 0,
            "heap": live,
            "free": free,
        }
        self._describe_self(status)
        self._describe_data(status, self._memory)
        if session:
            session.describe(status)
        self._publish("status", status, True)
        self._heartbeat = ticks.add(now, _HEARTBEAT_MS)
