"""A node in a run of `tree`: sums go up, the root commits, everybody adopts."""

from dcka_core import ticks
from dcka_core.assign import assign
from dcka_core.errors import MessageError
from dcka_core.messages import COMMIT, CONVERGED, FINAL, KEPT, Commit, Head, read_commit, read_up
from dcka_core.quantise import update_centres
from dcka_core.seeding import local_start_hash, start_hash
from dcka_core.session import Session
from dcka_core.tree import Tree


class TreeSession(Session):
    """The tree's rules, event by event; the sums themselves live in `Tree`."""

    def start(self, held: "Commit | None", now: int) -> None:
        """Enter the run: from the start, or from the commit that flash or a neighbour held."""
        self._tree = Tree(self.run, self.rows, self.node, self.boot)
        # Rule 5: a root that comes back is no root any more, or two commits of one step could differ.
        self._root = self.run.root == self.node and not self.returned
        self._everyone = (1 << len(self.run.members)) - 1
        self._centres: list[int] | None = None
        self._sent_members = 0
        if held:
            self._adopt(held, now)
        else:
            self._enter(0, self.start_centres(), now)
        self._settle(now)

    def receive(self, phase: int, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A message on an x topic."""
        message = read_up(payload, self.run)
        if message.head.sender != sender:
            raise MessageError("sender")
        self.heard += 1
        if self.held and message.head.step < self.held.head.step and sender in self.rows.children:
            self.publish_held()
            raise MessageError("stale")
        self._tree.take(message)
        self.waiting = []
        self._settle(now)

    def receive_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A neighbour's commit: adopted where it is greater than what is held (rule 12)."""
        commit = read_commit(payload, self.run)
        if commit.head.sender != sender:
            raise MessageError("sender")
        self.heard += 1
        if commit.beats(self.held):
            self._adopt(commit, now)
            self._settle(now)

    def tick(self, now: int) -> None:
        """Patience has run out: say again what was said, with what has come since; name who is missed."""
        if self.done:
            self.deadline = None
            return
        self._arm(now)
        self.waiting = self._missed()
        if not self._root:
            self._send_up()

    def reconnected(self, now: int) -> None:
        """The link is back: what was said into the outage is said again."""
        self.publish_held()
        if not self.done and not self._root and self._tree.complete():
            self._send_up()

    # ---- steps ----

    def _enter(self, step: int, centres: "list[int] | None", now: int) -> None:
        run = self.run
        self._centres = centres
        if centres is None:
            sums, ssd = [0] * run.rows, 0
        else:
            sums, ssd = assign(self.points, centres, run.k)
        if step == 0 and run.init == "local":
            start = local_start_hash(run.seed)
        else:
            start = start_hash(centres or [])
        self._tree.begin(step, start, sums, ssd)
        self._sent_members = 0
        self.waiting = []
        self._arm(now)

    def _settle(self, now: int) -> None:
        """Go on as far as what has come allows; a loop, since a network of one node commits to itself."""
        while self._root and not self.done and self._tree.contributors() == self._everyone:
            self._adopt(self._commit(), now)
        if not self.done and not self._root and self._tree.complete():
            if self._tree.contributors() != self._sent_members:
                self._send_up()

    def _commit(self) -> Commit:
        run = self.run
        sums, ssd = self._tree.total()
        first = self._tree.step == 0 and run.init == "local"
        previous = self.fallback_centres() if first or self._centres is None else self._centres
        centres = update_centres(sums, run.k, run.n, previous)
        counts = [sums[row] for row in range(0, run.rows, run.n + 1)]
        flags = KEPT if 0 in counts else 0
        step = self._tree.step + 1
        if centres == self._centres and not first:
            flags |= FINAL | CONVERGED
        elif step >= run.max_steps:
            flags |= FINAL
        head = Head(COMMIT, run.number, self.node, self.boot, step)
        return Commit(head, flags, self._tree.epoch, self._everyone, 0, centres, counts, ssd)

    def _adopt(self, commit: Commit, now: int) -> None:
        self.hold(commit)
        if self._root:
            step = commit.head.step
            self.tell("step", {"step": step - 1, "ssd": commit.ssd, "flags": commit.flags})
        if commit.final:
            self.done = True
            self.deadline = None
            self.waiting = []
        else:
            self._enter(commit.head.step, commit.centres, now)

    def _send_up(self) -> None:
        self._sent_members = self._tree.contributors()
        self.send("x/0/%d" % self.node, self._tree.upward())

    def _missed(self) -> "list[int]":
        if not self._root:
            return self._tree.waiting() or [self.rows.parent]
        members = self._tree.contributors()
        return [who for index, who in enumerate(self.run.members) if not members >> index & 1]

    def _arm(self, now: int) -> None:
        self.deadline = ticks.add(now, self.run.patience_ms)
