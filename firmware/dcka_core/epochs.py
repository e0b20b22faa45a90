"""Where nodes die and come back: who is root, and whose child a node is (protocol, section 5; rules 4 to 7, 14, 15).

Epoch 0 is the scheduled tree. A root that misses nodes, and whoever misses the root, mints a higher epoch; its flood
makes a new tree of those who are there. A node loads this file when it first misses somebody: most runs do without.
"""

from dcka_core import ticks
from dcka_core.actions import SUBSCRIBE, UNSUBSCRIBE
from dcka_core.codec import Reader, put_varint
from dcka_core.errors import MessageError
from dcka_core.messages import EPOCH, MAX_ID, put_head, read_epoch, read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Run
    from dcka_core.tree import Session

    Triple = tuple[int, int, int]

# How often a node says its epoch again to neighbours that have not said theirs: they may have died.
_TELLINGS = 8
# Waits double with each epoch that came to nothing but the first, so often.
_DOUBLINGS = 4


class Epochs:
    """What a node in trouble knows of epochs; where it stands in the tree is the session's: `epoch`, `root`, `parent`,
    `children`, `unheard`.
    """

    def __init__(self, session: "Session") -> None:
        self._node = session
        self._tellings = 0
        self._told_at: int | None = None
        self._highest = 0
        # Epochs in a row of which this node is the root; epoch 0 counts as one of R0's.
        self._founded = 1 if session.root else 0
        # Epochs since the last commit.
        self._vain = 0
        self._looking: int | None = None

    # ---- messages ----

    def receive(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """Rule 7: a neighbour says which epoch it is in, and whose child."""
        node = self._node
        named, step, epoch, parent = read_place(payload, node.run)
        if named != sender:
            raise MessageError("sender")
        if sender not in node.rows.near:
            raise MessageError("stranger")
        node.require_epoch(epoch)
        self._highest = max(self._highest, epoch[0])
        if node.done:
            if node.held and step < node.held.step:
                node.answer(now)
        elif epoch == node.epoch:
            self._sort_in(sender, parent)
        elif epoch < node.epoch:
            self.correct(now)
        elif parent != node.node:
            # Never under one's own child: after a power cut it may still be in an epoch that we have forgotten.
            node.epoch = epoch
            node.root = node.stalled = False
            node.parent = sender
            self._founded = 0
            self._enter(now)

    def correct(self, now: int) -> None:
        """A neighbour is in an older epoch: tell it ours, unless that was only just said."""
        if self._told_at is None or ticks.diff(now, self._told_at) * 2 >= self._node.run.patience_ms:
            self.tell(now)

    def _sort_in(self, sender: int, parent: int) -> None:
        node = self._node
        if sender in node.unheard:
            node.unheard.remove(sender)
        if parent == node.node:
            if sender not in node.children:
                node.children.append(sender)
        elif sender in node.children:
            node.children.remove(sender)

    def tell(self, now: int) -> None:
        """Say our place to the neighbours."""
        self._told_at = now
        node = self._node
        step = node.held.step if node.held else 0
        place = write_place(node.run, node.node, node.boot, step, node.epoch, node.parent)
        node.send("epoch/%d" % node.node, place)

    def tell_again(self, now: int) -> None:
        """After a patience: those who have said nothing are told again, a few times, and not waited for any more."""
        node = self._node
        if node.unheard and self._tellings < _TELLINGS:
            self._tellings += 1
            self.tell(now)
        elif not node.root and not node.parent:
            # A scheduled root that has come back (rule 5): does anybody know an epoch?
            self.tell(now)

    def all_heard(self) -> bool:
        """Whether every neighbour has said whose child it is, or has had a patience to do so."""
        return not self._node.unheard or self._tellings > 0

    # ---- new epochs ----

    def _enter(self, now: int) -> None:
        """Forget the children, keep the commit, and flood on."""
        node = self._node
        node.children = []
        node.unheard = [who for who in node.rows.near if who != node.parent]
        self._tellings = 0
        self.stop_looking()
        for who in node.rows.near:
            node.ask("x/0/%d" % who)
            node.ask("commit/%d" % who)
        self.tell(now)
        node.publish_held()
        self._vain += 1
        node.stall_at = ticks.add(now, self.wait())
        node.enter_epoch(now)

    def mint(self, now: int) -> None:
        """Rule 6: one above everything that was seen, in epochs and in commits."""
        node = self._node
        seen = max(self._highest, node.epoch[0], node.held.epoch[0] if node.held else 0)
        node.epoch = (seen + 1, node.node, node.boot)
        self._founded += 1
        node.root = True
        node.parent = 0
        self._enter(now)

    def stop_looking(self) -> None:
        """Listen to everybody's commits no longer."""
        if self._looking is not None:
            self._looking = None
            self._node.out.append((UNSUBSCRIBE, self._node.prefix + "commit/+"))

    def looks_at(self, sender: int) -> bool:
        """Rule 14: whether a member's commits are listened to, as all are before a mint."""
        return self._looking is not None and sender in self._node.run.members

    # ---- time ----

    def progressed(self, now: int) -> None:
        """A new commit: nobody is missed."""
        self.stop_looking()
        self._vain = 0
        self._node.stalled = False
        self._node.stall_at = ticks.add(now, self.wait())

    def stall(self, now: int) -> None:
        """Rule 15: who has waited too long mints, or as a root goes on without those who are missing (rule 10).

        Before it mints, a node reads what everybody has committed (rule 14); a moment later that has come.
        """
        node = self._node
        if self._looking is not None:
            self.stop_looking()
            self.mint(now)
        elif not (node.root and self._founded > 1 and node.go_on_without()):
            self._looking = node.stall_at = ticks.add(now, node.run.patience_ms)
            node.out.append((SUBSCRIBE, node.prefix + "commit/+"))

    def wait(self) -> int:
        """How long to wait for a commit, in ms; double for each epoch in vain but the first."""
        return self._node.stall_ms(min(_DOUBLINGS, max(0, self._vain - 1)))


def write_place(run: "Run", sender: int, boot: int, step: int, epoch: "Triple", parent: int) -> bytearray:
    """Type 4: the epoch that a node is in, its parent there (0 at the root), and the step of the commit it holds."""
    out = put_head(EPOCH, run.number, sender, boot, step)
    for value in epoch:
        put_varint(out, value)
    put_varint(out, parent)
    return out


def read_place(payload: "bytes | memoryview", run: "Run") -> "tuple[int, int, Triple, int]":
    """(sender, step, epoch, parent) of a type 4 message of `run`."""
    reader = Reader(payload)
    number, sender, _, step = read_head(reader, EPOCH)
    if number != run.number:
        raise MessageError("run")
    epoch = read_epoch(reader)
    parent = reader.varint(MAX_ID)
    reader.end()
    return sender, step, epoch, parent
