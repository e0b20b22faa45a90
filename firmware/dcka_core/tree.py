"""`tree`: exact consensus up a spanning tree (protocol, section 5; the rules' numbers are those of the protocol).

Sums go up (`sums`), the root commits, everybody adopts.
"""

from dcka_core import ticks
from dcka_core.errors import MessageError
from dcka_core.lloyd import update_centres
from dcka_core.messages import CONVERGED, FINAL, KEPT, Commit, is_change, read_commit
from dcka_core.possible import size
from dcka_core.session import EPOCH_PHASE
from dcka_core.sums import FULL_STEPS, Sums
from dcka_core.tree_messages import encode_change, read_change, read_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.epochs import Epochs


# Below half a period of the clock, whatever patience the host asks for.
_LONGEST_MS = 1 << 28
# A final that lacks somebody is said so often, after waits that double: others may have ended with another one.
_FAREWELLS = 6


class Session(Sums):
    """A node in a run of `tree`: its own sums of the current step, and the latest message of each child.

    epoch: (number, node, boot). root: whether this node commits in it. parent: 0 without one. children: those whose
    sums are waited for. unheard: neighbours that have not said yet whose children they are; in epoch 0 the rows say it.
    stall_at: when a commit is overdue. What is done about that is in `Epochs`, which is loaded when it is needed.
    """

    def start(self, held: "Commit | None", now: int) -> None:
        """Enter the run: from the start, or from the commit that flash or a neighbour held."""
        run = self.run
        self._everyone = (1 << len(run.members)) - 1
        self._add_nothing()
        self._absent = 0
        self._farewells = 0
        self._answered_at: int | None = None
        self._repeat_at = now
        self._epochs: Epochs | None = None
        # Rule 5: a root that comes back is no root any more, or two commits of one step could differ.
        self.root = run.root == self.node and not self.returned
        self.epoch = (0, run.root, 0)
        self.parent = self.rows.parent
        self.children = list(self.rows.children)
        self.unheard: list[int] = []
        self.stall_at = ticks.add(now, self.stall_ms(0))
        if held and held.epoch[1] in run.members and self.is_lawful(held):
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
            self.require_epoch(commit.epoch)
            if not self.is_lawful(commit):
                raise MessageError("root")
            if self.root and commit.epoch == self.epoch:
                # This node's own, and it has not made it.
                raise MessageError("epoch")
            self._adopt(commit, now)
            self._settle(now)
        elif self.done and commit.flags & FINAL and self.held and self.held.beats(commit):
            self.answer(now)

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
        if sender in self.rows.near:
            return True
        return self._epochs is not None and self._epochs.looks_at(sender) and str(sender) not in self.struck

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
        self.stalled = 2 * size(inside) <= len(self.run.members)
        if not self.stalled:
            self._absent = self._everyone & ~inside
        return not self.stalled

    def forget(self, who: int, now: int) -> None:
        """A neighbour is in quarantine: what it has said does not count, and a parent is as good as dead."""
        self._latest.pop(who, None)
        if self.parent == who:
            self.parent = 0
            self.stall_at = ticks.add(now, self.stall_ms(0))
        self._settle(now)

    def answer(self, now: int) -> None:
        """Somebody lacks what this node holds: say it, twice in a patience at most, however often one asks."""
        if self._answered_at is None or ticks.diff(now, self._answered_at) * 2 >= self.run.patience_ms:
            self._answered_at = now
            self.publish_held()

    # ---- sums ----

    def _receive_sums(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        if sender not in (self.rows.near if self.epoch[0] else self.rows.children):
            raise MessageError("stranger")
        try:
            message = read_up(payload, self.run, self._latest, self.held)
        except MessageError as error:
            if error.reason == "base" and self.epoch[0] and sender not in self.children:
                # Differences for somebody else.
                return
            raise
        if message.sender != sender:
            raise MessageError("sender")
        if message.epoch < self.epoch and not self.done:
            self._trouble().correct(now)
            raise MessageError("epoch")
        if message.parent != self.node and self.epoch[0]:
            # In a new epoch all neighbours are listened to, and most speak to others.
            return
        if message.step < self._step or self.done:
            self.answer(now)
            raise MessageError("stale")
        self._take(message)
        if sender not in self.children:
            # What it said of it before was lost, or is out of date.
            self.children.append(sender)
        self.waiting = []

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

    def decide(self, commit: Commit, sums: "list[int]", previous: "list[int]") -> None:
        """What the root makes of the total: the commit's centres, and its flags but for those of the end."""
        commit.centres = update_centres(sums, self.run.k, self.run.n, previous)
        commit.flags = KEPT if 0 in commit.counts else 0

    def _begin(self, step: int, centres: "list[int] | None", now: int) -> None:
        self._measure_step(step, centres)
        self.waiting = []
        self._repeat_at = ticks.add(now, self.run.patience_ms)

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
        self._answered_at = None
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
            if before and commit.step % FULL_STEPS:
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
