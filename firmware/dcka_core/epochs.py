"""Who is root, and whose child a node is (protocol, section 5; the rules' numbers are those of the protocol).

Epoch 0 is the scheduled tree. A root that misses nodes, and whoever misses the root, mints a higher epoch; its flood
makes a new tree of those who are there. What is summed, and when it is committed, is the subclass's.
"""

from dcka_core import session, ticks
from dcka_core.actions import SUBSCRIBE, UNSUBSCRIBE
from dcka_core.errors import MessageError
from dcka_core.tree_messages import read_place, write_place

# How often a node says its epoch again to neighbours that have not said theirs: they may have died.
_TELLINGS = 8
# Waits double with each epoch that came to nothing but the first, so often.
_DOUBLINGS = 4
# Below half a period of the clock, whatever patience the host asks for.
_LONGEST_MS = 1 << 28


class Session(session.Session):
    """The node's place in the tree of the newest epoch that it knows.

    epoch: (number, node, boot). root: whether this node commits in it. parent: 0 without one. children: those whose
    sums are waited for. stalled: a root that has too few of the members. The subclass overrides `enter_epoch` and
    `go_on_without`.
    """

    def open_epochs(self, now: int) -> None:
        """Begin in the scheduled tree."""
        run = self.run
        # Rule 5: a root that comes back is no root any more, or two commits of one step could differ.
        self.root = run.root == self.node and not self.returned
        self.epoch = (0, run.root, 0)
        self.parent = self.rows.parent
        self.children = list(self.rows.children)
        self.stalled = False
        # Neighbours that have not said yet whose children they are in this epoch; in epoch 0 the schedule says it.
        self._unheard: list[int] = []
        self._tellings = 0
        self._told_at: int | None = None
        self._highest = 0
        # Epochs in a row of which this node is the root; epoch 0 counts as one of R0's.
        self._founded = 1 if self.root else 0
        # Epochs since the last commit.
        self._vain = 0
        self._looking: int | None = None
        self._stall_at = ticks.add(now, self._wait())
        if self.returned:
            # It may have missed an epoch: who knows of one will say so.
            self._tell(now)

    def enter_epoch(self, now: int) -> None:
        """The tree has changed."""
        raise NotImplementedError

    def go_on_without(self, now: int) -> bool:
        """A root's patience has run out: whether it goes on without those who are missing (rule 10)."""
        raise NotImplementedError

    # ---- messages ----

    def receive_epoch(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """Rule 7: a neighbour says which epoch it is in, and whose child."""
        named, step, epoch, parent = read_place(payload, self.run)
        if named != sender:
            raise MessageError("sender")
        if sender not in self.rows.near:
            raise MessageError("stranger")
        self.heard += 1
        self._highest = max(self._highest, epoch[0])
        if self.done:
            if self.held and step < self.held.step:
                self.publish_held()
        elif epoch == self.epoch:
            self._sort_in(sender, parent)
        elif epoch < self.epoch:
            self.correct(now)
        elif parent != self.node:
            # Never under one's own child: after a power cut it may still be in an epoch that we have forgotten.
            self.epoch = epoch
            self.root = False
            self.parent = sender
            self._founded = 0
            self._enter(now)

    def correct(self, now: int) -> None:
        """A neighbour is in an older epoch: tell it ours, unless that was only just said."""
        if self._told_at is None or ticks.diff(now, self._told_at) * 2 >= self.run.patience_ms:
            self._tell(now)

    def adopted_child(self, sender: int) -> None:
        """Its sums say that it is our child, so what it said of it before was lost, or is out of date."""
        if sender not in self.children:
            self.children.append(sender)

    def _sort_in(self, sender: int, parent: int) -> None:
        if sender in self._unheard:
            self._unheard.remove(sender)
        if parent == self.node:
            self.adopted_child(sender)
        elif sender in self.children:
            self.children.remove(sender)

    def _tell(self, now: int) -> None:
        self._told_at = now
        step = self.held.step if self.held else 0
        self.send(
            "epoch/%d" % self.node,
            write_place(self.run, self.node, self.boot, step, self.epoch, self.parent),
        )

    # ---- new epochs ----

    def _enter(self, now: int) -> None:
        """Forget the children, keep the commit, and flood on."""
        self.children = []
        self._unheard = [who for who in self.rows.near if who != self.parent]
        self._tellings = 0
        self.stalled = False
        self._stop_looking()
        for who in self.rows.near:
            self.ask("x/0/%d" % who)
            self.ask("commit/%d" % who)
        self._tell(now)
        self.publish_held()
        self._vain += 1
        self._stall_at = ticks.add(now, self._wait())
        self.enter_epoch(now)

    def _mint(self, now: int) -> None:
        """Rule 6: one above everything that was seen, in epochs and in commits."""
        seen = max(self._highest, self.epoch[0], self.held.epoch[0] if self.held else 0)
        self.epoch = (seen + 1, self.node, self.boot)
        self._founded += 1
        self.root = True
        self.parent = 0
        self._enter(now)

    def _look(self, now: int) -> None:
        """Rule 14: before it mints, a node reads what everybody has committed; a moment later it has come."""
        self._looking = ticks.add(now, self.run.patience_ms)
        self.out.append((SUBSCRIBE, self.prefix + "commit/+"))

    def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking = None
            self.out.append((UNSUBSCRIBE, self.prefix + "commit/+"))

    def may_commit(self, sender: int) -> bool:
        """Whose commits are listened to: the neighbours', and everybody's before a mint."""
        return sender in self.rows.near or (self._looking is not None and sender in self.run.members)

    # ---- time ----

    def progressed(self, now: int) -> None:
        """A new commit: nobody is missed."""
        self._stop_looking()
        self._vain = 0
        self.stalled = False
        self._stall_at = ticks.add(now, self._wait())

    def watch(self, now: int) -> None:
        """Rule 15: who has waited too long mints, or as a root goes on without those who are missing (rule 10)."""
        if self._looking is not None:
            if ticks.diff(now, self._looking) >= 0:
                self._stop_looking()
                self._mint(now)
        elif ticks.diff(now, self._stall_at) >= 0 and not self.go_on_without(now):
            self._look(now)

    def watch_deadline(self) -> int:
        """When `watch` is due."""
        return self._stall_at if self._looking is None else self._looking

    def has_reminted(self) -> bool:
        """Rule 10: whether this is not the first epoch of which this node is the root."""
        return self._founded > 1

    def repeat_epoch(self, now: int) -> None:
        """After a patience: those who have said nothing are told again, a few times, and not waited for any more."""
        if self._unheard and self._tellings < _TELLINGS:
            self._tellings += 1
            self._tell(now)
        elif not self.root and not self.parent:
            # A scheduled root that has come back (rule 5): does anybody know an epoch?
            self._tell(now)

    def has_unheard(self) -> bool:
        """Whether a neighbour has not said yet whose child it is."""
        return len(self._unheard) > 0

    def all_children_known(self) -> bool:
        """Whether every neighbour has said whose child it is, or has had a patience to do so."""
        return not self._unheard or self._tellings > 0

    def _wait(self) -> int:
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
        return min(_LONGEST_MS, wait << min(max(0, self._vain - 1), _DOUBLINGS))
