"""What a node's part in one run has in common, whatever the consensus: its topics, its counters, its results."""

from collections import namedtuple
from json import dumps

from dcka_core.actions import Publish, Save
from dcka_core.messages import COMMIT, CONVERGED, Commit, Head
from dcka_core.seeding import draw_local, draw_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.points import Points
    from dcka_core.record import Rows, Run

COMMIT_FILE = "commit.bin"

# Who a node is: the prefix of its topics ("dcka/<net>/"), its id, its boot count.
Identity = namedtuple("Identity", ("prefix", "node", "boot"))


def topics(rows: "Rows") -> "list[str]":
    """The topics, without the prefix, that a node with these rows listens to during the run."""
    if not rows.phases:
        relatives = rows.children + ([rows.parent] if rows.parent else [])
        return ["x/0/%d" % child for child in rows.children] + ["commit/%d" % who for who in relatives]
    found = ["commit/%d" % who for who in rows.near]
    for phase in range(len(rows.phases)):
        found.extend(["x/%d/%d" % (phase, who) for who in rows.phases[phase].hear])
    return found


class Session:
    """A node in a run. `out` collects the actions that the shell has to do, in their order.

    `first_boot` is the boot in which the node stored the run; a later one means that it has come back.
    """

    def __init__(
        self, run: "Run", rows: "Rows", points: "Points", identity: Identity, first_boot: int, out: "list[Any]"
    ) -> None:
        self.run = run
        self.rows = rows
        self.points = points
        self.prefix = identity.prefix
        self.node = identity.node
        self.boot = identity.boot
        self.returned = identity.boot != first_boot
        self.out = out
        self.held: Commit | None = None
        self.done = False
        self.deadline: int | None = None
        self.waiting: list[int] = []
        self.sent = 0
        self.sent_bytes = 0
        self.heard = 0
        self.slots = 0

    @property
    def step(self) -> int:
        return self.held.head.step if self.held else 0

    def start_centres(self) -> "list[int] | None":
        """The centres of step 0; None where the node can't draw any of its own."""
        run = self.run
        if run.init == "given":
            return run.centres
        if run.init == "shared":
            return draw_shared(self.points.extents, run.k, run.seed)
        return draw_local(self.points, run.k, run.seed, self.node)

    def fallback_centres(self) -> "list[int]":
        """What an empty cluster takes in step 0 of `local`: the same at every node."""
        return draw_shared(self.points.extents, self.run.k, self.run.seed)

    def send(self, topic: str, payload: "bytes | bytearray", retain: bool = False) -> None:
        """Put a consensus message out, and count it."""
        self.sent += 1
        self.sent_bytes += len(payload)
        self.out.append(Publish(self.prefix + topic, payload, retain))

    def tell(self, kind: str, report: "dict[str, Any]") -> None:
        """Put a JSON report out: `step` or `result`."""
        report["v"] = 1
        report["run"] = self.run.number
        report["node"] = self.node
        self.out.append(Publish("%s%s/%d" % (self.prefix, kind, self.node), dumps(report), False))

    def hold(self, commit: Commit) -> None:
        """Keep a commit as this node's own: on flash first, then retained for everybody (rules 13 and 14)."""
        self.held = commit
        commit.head = Head(COMMIT, self.run.number, self.node, self.boot, commit.head.step)
        payload = commit.encode()
        self.out.append(Save(COMMIT_FILE, payload))
        self.send("commit/%d" % self.node, payload, True)

    def publish_held(self) -> None:
        """Say again what this node holds."""
        if self.held:
            self.send("commit/%d" % self.node, self.held.encode(), True)

    def result(self) -> "dict[str, Any]":
        """What the run came to, at this node (protocol, section 7)."""
        held = self.held
        if held is None:
            raise ValueError("a run without a commit has no result")
        return {
            "steps": held.head.step,
            "converged": bool(held.flags & CONVERGED),
            "ssd": held.ssd,
            "missing": [who for index, who in enumerate(self.run.members) if held.missing >> index & 1],
            "flags": held.flags,
            "sent": self.sent,
            "bytes": self.sent_bytes,
            "heard": self.heard,
            "slots": self.slots,
        }
