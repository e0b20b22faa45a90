"""What a node's part in one run has in common, whatever the consensus: its topics, its counters, its results."""

from json import dumps

from dcka_core.actions import PUBLISH, SAVE, SUBSCRIBE
from dcka_core.messages import CONVERGED, Commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.points import Points
    from dcka_core.record import Rows, Run

COMMIT_FILE = "commit.bin"
# Stands for the topic `epoch/<i>` where messages wait for their run.
EPOCH_PHASE = -1
# Places in the ledger (protocol, section 7).
_BROADCASTS, _BYTES, _HEARD = 2, 3, 4
# Messages of a run that come before anybody looks whether they are too many.
MANY = 2048


def topics(rows: "Rows") -> "list[str]":
    """The topics, without the network's prefix, that a node with these rows listens to during the run."""
    if not rows.phases:
        above = [rows.parent] if rows.parent else []
        found = ["x/0/%d" % child for child in rows.children] + ["commit/%d" % who for who in above]
        return found + ["epoch/%d" % who for who in rows.near]
    found = []
    for phase in range(len(rows.phases)):
        found.extend(["x/%d/%d" % (phase, who) for who in rows.phases[phase][1]])
    return found


class Session:
    """A node in a run. `out` collects the actions that the shell has to do, in their order; `asked` the topics that the
    run listens to beyond those of its rows.

    identity: (the prefix of the network's topics, id, boot count). first_boot: the boot in which the node stored the
    run; a later one means that it has come back. load: `parts.part`, or what does the same. ledger: the node's own, to
    count in. struck: neighbours in quarantine, by id as text, and why; quarantine: what sees to that, loaded when it is
    needed. asleep: in runs with slots, the action that lets the node sleep, once its status has said so. latest: once a
    run has ended that asks for it, the cluster of the latest reading, and its distance. The kinds of
    consensus add start, receive, receive_commit, reconnected, forget, and tick, which returns what is not
    empty where the status has news.
    """

    asleep: "Any" = None
    latest: "Any" = None

    def __init__(
        self,
        run: "Run",
        rows: "Rows",
        points: "Points",
        identity: "tuple[str, int, int]",
        first_boot: int,
        load: "Callable[[str], Any]",
        out: "list[Any]",
        asked: "list[str]",
        ledger: "list[int]",
    ) -> None:
        self.run = run
        self.rows = rows
        self.points = points
        self.prefix, self.node, self.boot = identity
        self.returned = self.boot != first_boot
        self.own = 1 << run.members.index(self.node)
        self.load = load
        self.out = out
        self.asked = asked
        self.held: Commit | None = None
        self.done = False
        # Whether the result of this end is said; a greater final makes a new one.
        self.reported = False
        self.deadline: int | None = None
        self.waiting: list[int] = []
        self.stalled = False
        # Reasons for which messages were dropped after they had waited.
        self.lost: list[str] = []
        self.ledger = ledger
        self.struck: dict[str, str] = {}
        self.quarantine: Any = None
        # When more has come than this, it may be too much.
        self.most = ledger[_HEARD] + MANY

    def start_centres(self) -> "list[int] | None":
        """The centres of step 0; None where the node has none: it can't draw any of its own, or sums by labels."""
        run = self.run
        if run.centres:
            return run.centres
        if run.init == "shared":
            return self.shared_centres()
        centres: list[int] | None = self.load("starts").draw_own(run, self.points, self.node)
        return centres

    def first_sums(self) -> "list[int]":
        """What a node without centres puts into step 0: nothing, but in `partition` the sums by its labels."""
        run = self.run
        if run.init != "partition":
            return [0] * run.rows
        sums: list[int] = self.load("labels").sums_by_labels(self.points, run.k, run.seed, self.node)
        return sums

    def shared_centres(self) -> "list[int]":
        """K points that are the same at every node; also what is for empty clusters in a step 0 without common ones."""
        centres: list[int] = self.load("starts").draw_shared(self.points.extents, self.run.k, self.run.seed)
        return centres

    def ids(self, mask: int) -> "list[int]":
        """The ids of a set of indices."""
        members = self.run.members
        return [members[index] for index in range(len(members)) if mask >> index & 1]

    def ask(self, topic: str) -> None:
        """Listen to one more topic until the run is over."""
        if topic not in self.asked:
            self.asked.append(topic)
            self.out.append((SUBSCRIBE, self.prefix + topic))

    def may_commit(self, sender: int) -> bool:
        """Whose commits are listened to."""
        return sender in self.rows.near

    def send(self, topic: str, payload: "bytes | bytearray", retain: bool = False) -> None:
        """Put a consensus message out, and count it."""
        self.ledger[_BROADCASTS] += 1
        self.ledger[_BYTES] += len(payload)
        self.out.append((PUBLISH, self.prefix + topic, payload, retain))

    def tell(self, kind: str, report: "dict[str, Any]") -> None:
        """Put a JSON report out: `step` or `result`."""
        report["v"] = 1
        report["run"] = self.run.number
        report["node"] = self.node
        self.out.append((PUBLISH, "%s%s/%d" % (self.prefix, kind, self.node), dumps(report), False))

    def keep(self, commit: Commit) -> None:
        """Keep a commit as this node's own, on flash before anything is said of it (rule 13)."""
        commit.sender = self.node
        commit.boot = self.boot
        self.held = commit
        self.out.append((SAVE, COMMIT_FILE, commit.encode(self.run)))

    def publish_held(self) -> None:
        """Say what this node holds, retained for everybody (rule 14)."""
        if self.held:
            self.send("commit/%d" % self.node, self.held.encode(self.run), True)

    def describe(self, status: "dict[str, Any]") -> None:
        """What the node's status says of the run beside where it is."""
        if self.waiting:
            status["waiting"] = self.waiting
        if self.stalled:
            status["stalled"] = True
        if self.struck:
            status["quarantined"] = self.struck
        if self.latest:
            status["latest"] = self.latest

    def result(self) -> "dict[str, Any]":
        """What the run came to, at this node (protocol, section 7)."""
        held = self.held
        if held is None:
            raise ValueError("a run without a commit has no result")
        report = {
            "steps": held.step,
            "converged": bool(held.flags & CONVERGED),
            "ssd": held.ssd,
            "missing": self.ids(held.missing),
            "flags": held.flags,
        }
        if self.struck:
            report["quarantined"] = self.struck
        return report
