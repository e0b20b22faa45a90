"""`tree`: exact consensus up a spanning tree (protocol, section 5; the rules' numbers are those of the protocol).

Sums go up, the root commits, everybody adopts. What stands here twice can't be added twice: a child's sum replaces the
last one, and sets that overlap are refused.
"""

from hashlib import sha256

from dcka_core import session, ticks
from dcka_core.errors import MessageError
from dcka_core.lloyd import assign, update_centres
from dcka_core.messages import CONVERGED, FINAL, KEPT, Commit, Up, read_commit, read_up


class Session(session.Session):
    """A node in a run of `tree`: its own sums of the current step, and the latest message of each child."""

    def start(self, held: "Commit | None", now: int) -> None:
        """Enter the run: from the start, or from the commit that flash or a neighbour held."""
        run = self.run
        # Rule 5: a root that comes back is no root any more, or two commits of one step could differ.
        self._root = run.root == self.node and not self.returned
        self._everyone = (1 << len(run.members)) - 1
        self._epoch = (0, run.root, 0)
        self._step = -1
        self._centres: list[int] | None = None
        self._latest: dict[int, Up] = {}
        self._sent_members = 0
        if held:
            self._adopt(held, now)
        else:
            self._enter(0, self.start_centres(), now)
        self._settle(now)

    # ---- events ----

    def receive(self, phase: int, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A message on an x topic: a child's sums."""
        message = read_up(payload, self.run)
        if message.sender != sender:
            raise MessageError("sender")
        if sender not in self.rows.children:
            raise MessageError("stranger")
        self.heard += 1
        if message.step < self._step or self.done:
            self.publish_held()
            raise MessageError("stale")
        self._take(message)
        self.waiting = []
        self._settle(now)

    def receive_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A neighbour's commit: adopted where it is greater than what is held (rule 12)."""
        commit = read_commit(payload, self.run)
        self.heard += 1
        if commit.beats(self.held):
            self._adopt(commit, now)
            self._settle(now)

    def tick(self, now: int) -> None:
        """Patience has run out: say again what was said, with what has come since; name who is missed."""
        self.deadline = ticks.add(now, self.run.patience_ms)
        if self._root:
            members = self.run.members
            inside = self._contributors()
            self.waiting = [members[index] for index in range(len(members)) if not inside >> index & 1]
        else:
            silent = [child for child in self.rows.children if child not in self._latest]
            # A root that has come back has no parent, and is itself who is missed (rule 5).
            self.waiting = silent or [self.rows.parent or self.node]
            if self.rows.parent:
                self._send_up()

    def reconnected(self, now: int) -> None:
        """The link is back: what was said into the outage is said again."""
        self.publish_held()
        if not self.done and not self._root:
            self._sent_members = 0
            self._settle(now)

    # ---- sums ----

    def _take(self, message: Up) -> None:
        """Rules 8 and 9: keep a child's latest; MessageError with the reason for which it is dropped."""
        if message.parent != self.node:
            raise MessageError("parent")
        if message.epoch != self._epoch:
            raise MessageError("epoch")
        if message.step != self._step:
            raise MessageError("stale")
        if message.start != self._start:
            raise MessageError("hash")
        sender = message.sender
        known = self._latest.pop(sender, None)
        if not message.contributors or message.contributors & self._contributors():
            reason = "overlap"
        elif known is None or known.contributors != message.contributors:
            self._latest[sender] = message
            return
        else:
            same = known.sums == message.sums and known.ssd == message.ssd
            reason = "duplicate" if same else "conflict"
        if known:
            self._latest[sender] = known
        raise MessageError(reason)

    def _contributors(self) -> int:
        members = self.own
        for message in self._latest.values():
            members |= message.contributors
        return members

    def _total(self) -> "tuple[list[int], int]":
        """The subtree's sums and SSD: whole numbers, so in whatever order they came, the same bits."""
        sums = list(self._sums)
        ssd = self._ssd
        for message in self._latest.values():
            for index in range(len(sums)):
                sums[index] += message.sums[index]
            ssd += message.ssd
        return sums, ssd

    def _send_up(self) -> None:
        message = Up()
        message.sender = self.node
        message.boot = self.boot
        message.step = self._step
        message.epoch = self._epoch
        message.start = self._start
        message.parent = self.rows.parent
        message.contributors = self._sent_members = self._contributors()
        message.sums, message.ssd = self._total()
        self.send("x/0/%d" % self.node, message.encode(self.run))

    # ---- steps ----

    def _enter(self, step: int, centres: "list[int] | None", now: int) -> None:
        run = self.run
        self._step = step
        self._centres = centres
        if centres is None:
            self._sums, self._ssd = [0] * run.rows, 0
        else:
            self._sums, self._ssd = assign(self.points, centres, run.k)
        first = step == 0 and run.init == "local"
        self._start = _start_hash(run.seed) if first else _centres_hash(centres or [])
        self._latest = {}
        self._sent_members = 0
        self.waiting = []
        self.deadline = ticks.add(now, run.patience_ms)

    def _settle(self, now: int) -> None:
        """Go on as far as what has come allows; a loop, since a network of one node commits to itself."""
        while self._root and not self.done and self._contributors() == self._everyone:
            self._adopt(self._commit(), now)
        if self.done or not self.rows.parent or len(self._latest) < len(self.rows.children):
            return
        if self._contributors() != self._sent_members:
            self._send_up()

    def _commit(self) -> Commit:
        run = self.run
        sums, commit_ssd = self._total()
        first = self._step == 0 and run.init == "local"
        previous = self.shared_centres() if first or self._centres is None else self._centres
        commit = Commit()
        commit.step = self._step + 1
        commit.epoch = self._epoch
        commit.contributors = self._everyone
        commit.missing = 0
        commit.centres = update_centres(sums, run.k, run.n, previous)
        commit.counts = [sums[row] for row in range(0, run.rows, run.n + 1)]
        commit.ssd = commit_ssd
        commit.flags = KEPT if 0 in commit.counts else 0
        if commit.centres == self._centres and not first:
            commit.flags |= FINAL | CONVERGED
        elif commit.step >= run.max_steps:
            commit.flags |= FINAL
        return commit

    def _adopt(self, commit: Commit, now: int) -> None:
        self.hold(commit)
        if self._root:
            self.tell("step", {"step": commit.step - 1, "ssd": commit.ssd, "flags": commit.flags})
        if commit.flags & FINAL:
            self.done = True
            self.deadline = None
            self.waiting = []
        else:
            self._enter(commit.step, commit.centres, now)


def _centres_hash(centres: "list[int]") -> bytes:
    """What a sum says of the centres it was made with: 8 bytes."""
    digest = sha256()
    for value in centres:
        digest.update(value.to_bytes(2, "little"))
    whole: bytes = digest.digest()
    return whole[:8]


def _start_hash(seed: int) -> bytes:
    """The hash of step 0 of `local`, where every node has centres of its own."""
    whole: bytes = sha256(b"local" + seed.to_bytes(8, "little")).digest()
    return whole[:8]
