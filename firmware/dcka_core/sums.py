"""The sums of a subtree: a node's own and each child's latest, and how they are said (protocol, section 5; rules 8, 9).

What stands here twice can't be added twice: a child's sum replaces the last one, and sets that overlap are refused.
"""

from hashlib import sha256

from dcka_core import session
from dcka_core.errors import MessageError
from dcka_core.lloyd import assign
from dcka_core.tree_messages import HASH_BYTES, Up, centres_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Run

# Every so many steps sums and commits are said in full, whoever could do with the differences.
FULL_STEPS = 32


class Sums(session.Session):
    """The layer of a node in a run of `tree` that adds up; what a step starts from, and when it is said, is above it.

    epoch: (number, node, boot). parent: 0 without one.
    """

    epoch: "tuple[int, int, int]"
    parent: int

    def _add_nothing(self) -> None:
        """Before the first step."""
        self._step = -1
        # What the step starts from; None where every node has centres of its own.
        self._centres: list[int] | None = None
        # By child; one of the last step is what the next one's differences are added to.
        self._latest: dict[int, Up] = {}
        self._sent_members = 0
        # What was said last, and the last step of which two sums were said.
        self._told: Up | None = None
        self._twice = -1

    # ---- its own ----

    def measure(self, centres: "list[int]") -> "tuple[list[int], int]":
        """What this node puts into a step: K rows of (m, u_1 ... u_n) as one list, and the SSD."""
        return assign(self.points, centres, self.run.k)

    def _measure_step(self, step: int, centres: "list[int] | None") -> None:
        """Begin a step with this node's own sums; those of the last one stay as what differences are to."""
        run = self.run
        if step == self._step:
            # A better commit of the same step: sums of two starts are about.
            self._twice = step
        self._step = step
        if centres is None:
            self._sums, ssd = self.first_sums(), 0
        else:
            self._sums, ssd = self.measure(centres)
        self._centres = centres if step or run.common else None
        self._start = _start_hash(run) if self._centres is None else centres_hash(self._centres)
        self._squares = ssd + self.moment(self._sums)
        if self._twice == step:
            self._latest = {}
        self._sent_members = 0

    # ---- its children's ----

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

    def _has_come(self, child: int) -> bool:
        message = self._latest.get(child)
        return message is not None and message.step == self._step

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

        Squares stay the same while points go from cluster to cluster, so nobody has to say them again. Where a step 0
        has no centres that all share: 0.
        """
        n = self.run.n
        total = 0
        for index, value in enumerate(self._centres or ()):
            row = index + index // n + 1
            total += value * (2 * sums[row] - sums[row - index % n - 1] * value)
        return total

    # ---- to the parent ----

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
        # A step 0 without common centres has no squares, and a commit of another epoch is not its step's only one.
        if (
            whole
            or not step % FULL_STEPS
            or self.run.kind != "tree"
            or (step == 1 and not self.run.common)
            or not (base and base.step == step - 1 != self._twice)
            or base.contributors != message.contributors
            or not (self.held and self.held.epoch == self.epoch)
        ):
            base = None
        self.send("x/0/%d" % self.node, message.encode(self.run, base, self._centres))


def _start_hash(run: "Run") -> bytes:
    """The hash of step 0 where no centres are common: of the start's name and the seed."""
    whole: bytes = sha256(run.init.encode() + run.seed.to_bytes(8, "little")).digest()
    return whole[:HASH_BYTES]
