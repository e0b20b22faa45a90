"""`tree`: exact consensus up a spanning tree (protocol, section 5; the rules' numbers are those of the protocol).

Sums go up, the root commits, everybody adopts. What stands here twice can't be added twice: a child's sum replaces the
last one, and sets that overlap are refused.
"""

from hashlib import sha256

from dcka_core import session, ticks
from dcka_core.errors import MessageError
from dcka_core.lloyd import assign, update_centres
from dcka_core.messages import CONVERGED, FINAL, KEPT, Commit, is_change, read_commit
from dcka_core.session import EPOCH_PHASE
from dcka_core.tree_messages import HASH_BYTES, Up, centres_hash, encode_change, read_change, read_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.epochs import Epochs


# Every so many steps sums and commits are said in full, whoever could do with the differences.
_FULL_STEPS = 32
# Below half a period of the clock, whatever patience the host asks for.
_LONGEST_MS = 1 << 28
# A final that lacks somebody is said so often, after waits that double: others may have ended with another one.
_FAREWELLS = 6


class Session(session.Session):
    """A node in a run of `tree`: its own sums of the current step, and the latest message of each child.

    epoch: (number, node, boot). root: whether this node commits in it. parent: 0 without one. children: those whose
    sums are waited for. unheard: neighbours that have not said yet whose children they are; in epoch 0 the rows say it.
    stall_at: when a commit is overdue. What is done about that is in `Epochs`, which is loaded when it is needed.
    """

    def start(self, held: "Commit | None", now: int) -> None:
        """Enter the run: from the start, or from the commit that flash or a neighbour held."""
        run = self.run
        self._everyone = (1 << len(run.members)) - 1
        self._step = -1
        # What the step starts from; None where every node has centres of its own.
        self._centres: list[int] | None = None
        # By child; one of the last step is what the next one's differences are added to.
        self._latest: dict[int, Up] = {}
        self._sent_members = 0
        self._told: Up | None = None
        self._twice = -1
        self._absent = 0
        self._farewells = 0
        self._repeat_at = now
        self._epochs: Epochs | None = None
        # Rule 5: a root that comes back is no root any more, or two commits of one step could differ.
        self.root = run.root == self.node and not self.returned
        self.epoch = (0, run.root, 0)
        self.parent = self.rows.parent
        self.children = list(self.rows.children)
        self.unheard: list[int] = []
        self.stall_at = ticks.add(now, self.stall_ms(0))
        if held:
            self._adopt(held, now)
        else:
            self._begin(0, self.start_centres(), now)
        if self.returned and not self.done:
            # It may have missed an epoch: who knows of one will say so.
            self._trouble().tell(now)
        self._settle(now)

    # ---- events ----

    def receive(self, phase: int, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A message on an x topic, a child's sums; or on the epoch topic."""
        if phase == EPOCH_PHASE:
            self._trouble().receive(sender, payload, now)
        else:
            self._receive_sums(sender, payload, now)
        self._settle(now)

    def receive_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A neighbour's commit: adopted where it is greater than what is held (rule 12)."""
        change = is_change(payload)
        commit = read_change(payload, self.run, self.held) if change else read_commit(payload, self.run)
        if commit.beats(self.held):
            self._adopt(commit, now)
            self._settle(now)
        elif self.done and commit.flags & FINAL and self.held and self.held.beats(commit):
            self.publish_held()

    def tick(self, now: int) -> "list[int]":
        """Patience has run out: say again what was said, with what has come since; name who is missed."""
        if self.done:
            self._farewells -= 1
            self.publish_held()
            self._wait_for_others(now)
            return self.waiting
        if ticks.diff(now, self._repeat_at) >= 0:
            self._repeat_at = ticks.add(now, self.run.patience_ms)
            self._repeat(now)
        if ticks.diff(now, self.stall_at) >= 0:
            self._trouble().stall(now)
        self._settle(now)
        return self.waiting

    def reconnected(self, now: int) -> None:
        """The link is back: what was said into the outage is said again."""
        self.publish_held()
        if not self.done and not self.root:
            self._sent_members = 0
            # Nobody knows what the parent has had of this step.
            self._twice = self._step
            self._settle(now)

    # ---- where nodes are missed ----

    def _trouble(self) -> "Epochs":
        if self._epochs is None:
            epochs: Epochs = self.load("epochs").Epochs(self)
            self._epochs = epochs
            return epochs
        return self._epochs

    def may_commit(self, sender: int) -> bool:
        """Whose commits are listened to: the neighbours', and everybody's before a mint."""
        return sender in self.rows.near or (self._epochs is not None and self._epochs.looks_at(sender))

    def stall_ms(self, doublings: int) -> int:
        """How long to wait for a commit, in ms.

        A root waits for what the tree's depth takes where each hop has to say it again; others three times as long
        and a part by chance, so that they don't mint all at once. A scheduled root that has come back need not wait:
        it knows.
        """
        run = self.run
        wait = run.patience_ms
        if self.root or self.parent:
            wait *= 2 + 2 * run.depth
        if not self.root:
            chance = (self.node * 7919 + self.boot * 104729 + self.epoch[0] * 15485863) % 1024
            wait = 3 * wait + (wait * chance >> 9)
        return min(_LONGEST_MS, wait << doublings)

    def enter_epoch(self, now: int) -> None:
        """The tree has changed: the step goes on, with the sums of new children."""
        self._latest = {}
        self._sent_members = 0
        self._told = None
        self._absent = 0
        self._repeat_at = ticks.add(now, self.run.patience_ms)

    def go_on_without(self) -> bool:
        """Rule 10: commit without those who are missing, where more than half are there; False where they aren't."""
        inside = self._contributors()
        self.stalled = 2 * _size(inside) <= len(self.run.members)
        if not self.stalled:
            self._absent = self._everyone & ~inside
        return not self.stalled

    # ---- sums ----

    def _receive_sums(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        try:
            message = read_up(payload, self.run, self._latest, self.held)
        except MessageError as error:
            if error.reason == "base" and self.epoch[0] and sender not in self.children:
                # Differences for somebody else.
                return
            raise
        if message.sender != sender:
            raise MessageError("sender")
        if sender not in (self.rows.near if self.epoch[0] else self.rows.children):
            raise MessageError("stranger")
        if message.epoch < self.epoch and not self.done:
            self._trouble().correct(now)
            raise MessageError("epoch")
        if message.parent != self.node and self.epoch[0]:
            # In a new epoch all neighbours are listened to, and most speak to others.
            return
        if message.step < self._step or self.done:
            self.publish_held()
            raise MessageError("stale")
        self._take(message)
        if sender not in self.children:
            # What it said of it before was lost, or is out of date.
            self.children.append(sender)
        self.waiting = []

    def _take(self, message: Up) -> None:
        """Rules 8 and 9: keep a child's latest; MessageError with the reason for which it is dropped."""
        if message.parent != self.node:
            raise MessageError("parent")
        if message.epoch != self.epoch:
            raise MessageError("epoch")
        if message.step != self._step:
            raise MessageError("stale")
        # Differences have none: they are to the sums of this very commit.
        if message.start and message.start != self._start:
            raise MessageError("hash")
        if message.squares < self.moment(message.sums):
            raise MessageError("value")
        sender = message.sender
        known = self._latest.pop(sender, None)
        fresh = known if known and known.step == self._step else None
        if not message.contributors or message.contributors & self._contributors():
            reason = "overlap"
        elif fresh is None or fresh.contributors != message.contributors:
            self._latest[sender] = message
            return
        else:
            same = fresh.sums == message.sums and fresh.squares == message.squares
            reason = "duplicate" if same else "conflict"
        if known:
            self._latest[sender] = known
        raise MessageError(reason)

    def _contributors(self) -> int:
        members = self.own
        for message in self._latest.values():
            if message.step == self._step:
                members |= message.contributors
        return members

    def _total(self) -> "tuple[list[int], int]":
        """The subtree's sums and squares: whole numbers, so in whatever order they came, the same bits."""
        sums = list(self._sums)
        squares = self._squares
        for message in self._latest.values():
            if message.step == self._step:
                for index in range(len(sums)):
                    sums[index] += message.sums[index]
                squares += message.squares
        return sums, squares

    def moment(self, sums: "list[int]") -> int:
        """What points of these sums have in squares beyond their SSD: Σ‖y‖² − Σ‖y − c‖² = Σ c·(2u − m·c).

        Squares stay the same while points go from cluster to cluster, so nobody has to say them again. In step 0 of
        `local` there are no centres that all share: 0.
        """
        n = self.run.n
        total = 0
        for index, value in enumerate(self._centres or ()):
            row = index + index // n + 1
            total += value * (2 * sums[row] - sums[row - index % n - 1] * value)
        return total

    def _send_up(self, whole: bool = False) -> None:
        message = Up()
        message.sender = self.node
        message.boot = self.boot
        message.step = step = self._step
        message.epoch = self.epoch
        message.start = self._start
        message.parent = self.parent
        message.contributors = self._sent_members = self._contributors()
        message.sums, message.squares = self._total()
        base = self._told
        self._told = message
        if base and base.step == step and base.contributors != message.contributors:
            self._twice = step
        # The parent has had the last step's, or there would be no commit of it; once only, or it might have another.
        # What stands for squares in step 0 of `local` is none, and a commit of another epoch not its step's only one.
        if (
            whole
            or not step % _FULL_STEPS
            or self.run.kind == "survey"
            or (step == 1 and self.run.init == "local")
            or not (base and base.step == step - 1 != self._twice)
            or base.contributors != message.contributors
            or not (self.held and self.held.epoch == self.epoch)
        ):
            base = None
        self.send("x/0/%d" % self.node, message.encode(self.run, base, self._centres))

    def _repeat(self, now: int) -> None:
        """A patience has passed: say again what was said; who is silent isn't waited for in the next step."""
        if self._epochs:
            self._epochs.tell_again(now)
        if self.root:
            self.waiting = self.ids(self._everyone & ~self._contributors())
            return
        silent = [child for child in self.children if not self._has_come(child)]
        # A root that has come back has no parent, and is itself who is missed (rule 5).
        self.waiting = silent or [self.parent or self.node]
        if self.epoch[0]:
            self.children = [child for child in self.children if self._has_come(child)]
        if self.parent:
            # In full: what was said may be lost, and what it was based on.
            self._send_up(True)

    # ---- steps ----

    def measure(self, centres: "list[int]") -> "tuple[list[int], int]":
        """What this node puts into a step: K rows of (m, u_1 ... u_n) as one list, and the SSD."""
        return assign(self.points, centres, self.run.k)

    def decide(self, commit: Commit, sums: "list[int]", previous: "list[int]") -> None:
        """What the root makes of the total: the commit's centres, and its flags but for those of the end."""
        commit.centres = update_centres(sums, self.run.k, self.run.n, previous)
        commit.flags = KEPT if 0 in commit.counts else 0

    def _begin(self, step: int, centres: "list[int] | None", now: int) -> None:
        run = self.run
        if step == self._step:
            # A better commit of the same step: sums of two starts are about.
            self._twice = step
        self._step = step
        if centres is None:
            self._sums, ssd = [0] * run.rows, 0
        else:
            self._sums, ssd = self.measure(centres)
        self._centres = centres if step or run.init != "local" else None
        self._start = _start_hash(run.seed) if self._centres is None else centres_hash(self._centres)
        self._squares = ssd + self.moment(self._sums)
        if self._twice == step:
            self._latest = {}
        self._sent_members = 0
        self.waiting = []
        self._repeat_at = ticks.add(now, run.patience_ms)

    def _settle(self, now: int) -> None:
        """Go on as far as what has come allows; a loop, since a network of one node commits to itself."""
        while self.root and not self.done and self._contributors() | self._absent == self._everyone:
            self._adopt(self._commit(), now)
        if self.done:
            return
        complete = self.parent and (self._epochs is None or self._epochs.all_heard())
        complete = complete and not [child for child in self.children if not self._has_come(child)]
        if complete and self._contributors() != self._sent_members:
            self._send_up()
        self.deadline = ticks.earliest(self._repeat_at, self.stall_at)

    def _has_come(self, child: int) -> bool:
        message = self._latest.get(child)
        return message is not None and message.step == self._step

    def _commit(self) -> Commit:
        run = self.run
        sums, squares = self._total()
        previous = self.shared_centres() if self._centres is None else self._centres
        commit = Commit()
        commit.step = self._step + 1
        commit.epoch = self.epoch
        commit.contributors = self._contributors()
        self._absent &= ~commit.contributors
        commit.missing = self._absent | (self.held.missing if self.held else 0)
        commit.counts = [sums[row] for row in range(0, run.rows, run.n + 1)]
        commit.ssd = squares - self.moment(sums)
        self.decide(commit, sums, previous)
        if commit.centres == self._centres:
            commit.flags |= FINAL | CONVERGED
        elif commit.step >= run.max_steps:
            commit.flags |= FINAL
        return commit

    def _adopt(self, commit: Commit, now: int) -> None:
        own = self.root and commit.epoch == self.epoch
        before = self.held
        self.keep(commit)
        self._spread(before)
        if self._epochs:
            self._epochs.progressed(now)
        else:
            self.stall_at = ticks.add(now, self.stall_ms(0))
        if own:
            self._report(commit)
        if commit.flags & FINAL:
            self.done = True
            self.reported = False
            self._farewells = _FAREWELLS if commit.missing else 0
            self._wait_for_others(now)
            self.waiting = []
        else:
            self._begin(commit.step, commit.centres, now)

    def _wait_for_others(self, now: int) -> None:
        """Two parts of a network may have ended without each other: the lesser final has to hear of the greater."""
        self.deadline = None
        if self._farewells:
            wait = self.run.patience_ms << (_FAREWELLS - self._farewells)
            self.deadline = ticks.add(now, min(_LONGEST_MS, wait))

    def _spread(self, before: "Commit | None") -> None:
        """Say the commit that is held: all of it where it is the last, or others may lack the one `before`."""
        commit = self.held
        if commit is None:
            return
        if not commit.flags & FINAL:
            if not self.children and not self.unheard:
                # A leaf: nobody waits for its word. It answers who asks.
                return
            if before and commit.step % _FULL_STEPS:
                change = encode_change(commit, before, self.run)
                if change:
                    self.send("commit/%d" % self.node, change)
                    return
        self.publish_held()

    def _report(self, commit: Commit) -> None:
        """The root tells the host of the step, and who was not in it."""
        report: dict[str, Any] = {"step": commit.step - 1, "ssd": commit.ssd, "flags": commit.flags}
        if commit.epoch[0]:
            report["epoch"] = list(commit.epoch)
        absent = self._everyone & ~commit.contributors
        if absent:
            report["missing"] = self.ids(absent)
        self.tell("step", report)


def _size(members: int) -> int:
    count = 0
    while members:
        members &= members - 1
        count += 1
    return count


def _start_hash(seed: int) -> bytes:
    """The hash of step 0 of `local`, where every node has centres of its own."""
    whole: bytes = sha256(b"local" + seed.to_bytes(8, "little")).digest()
    return whole[:HASH_BYTES]
