"""`tree`: exact consensus up a spanning tree (protocol, section 5; the rules' numbers are those of the protocol).

One object per run. It holds the sums of the current step: the node's own, and the latest of each child. What stands
here twice can't be added twice: a child's sum replaces the last one, and sets that overlap are refused.
"""

from dcka_core.errors import MessageError
from dcka_core.messages import UP, Head, Up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Rows, Run


class Tree:
    """The sums of one node's subtree in the step that it is in."""

    def __init__(self, run: "Run", rows: "Rows", node: int, boot: int) -> None:
        self._run = run
        self._rows = rows
        self._node = node
        self._boot = boot
        self._own_index = 1 << run.index(node)
        self.epoch = (0, run.root, 0)
        self.step = -1
        self._start = b""
        self._own: list[int] = []
        self._ssd = 0
        self._latest: dict[int, Up] = {}

    def begin(self, step: int, start: bytes, sums: "list[int]", ssd: int) -> None:
        """Enter `step` with the node's own sums, made with the centres whose hash is `start`."""
        self.step = step
        self._start = start
        self._own = sums
        self._ssd = ssd
        self._latest = {}

    def take(self, message: Up) -> None:
        """Rules 8 and 9: keep a child's latest; MessageError with the reason for which it is dropped."""
        sender = message.head.sender
        if sender not in self._rows.children:
            raise MessageError("stranger")
        if message.parent != self._node:
            raise MessageError("parent")
        if message.epoch != self.epoch:
            raise MessageError("epoch")
        if message.head.step != self.step:
            raise MessageError("stale")
        if message.start != self._start:
            raise MessageError("hash")
        taken = self._own_index
        for child in self._latest:
            if child != sender:
                taken |= self._latest[child].contributors
        if message.contributors & taken or not message.contributors:
            raise MessageError("overlap")
        known = self._latest.get(sender)
        if known and known.contributors == message.contributors:
            same = known.sums == message.sums and known.ssd == message.ssd
            raise MessageError("duplicate" if same else "conflict")
        self._latest[sender] = message

    def complete(self) -> bool:
        """Whether every child has been heard in this step."""
        return len(self._latest) == len(self._rows.children)

    def waiting(self) -> "list[int]":
        """The children that haven't been heard in this step."""
        return [child for child in self._rows.children if child not in self._latest]

    def contributors(self) -> int:
        """Whose sums are in: a bit mask of indices."""
        members = self._own_index
        for child in self._latest:
            members |= self._latest[child].contributors
        return members

    def total(self) -> "tuple[list[int], int]":
        """The subtree's sums and SSD: whole numbers, so in whatever order they came, the same bits."""
        sums = list(self._own)
        ssd = self._ssd
        for child in self._latest:
            message = self._latest[child]
            for index in range(len(sums)):
                sums[index] += message.sums[index]
            ssd += message.ssd
        return sums, ssd

    def upward(self) -> bytearray:
        """The message for the parent, with what is in."""
        sums, ssd = self.total()
        head = Head(UP, self._run.number, self._node, self._boot, self.step)
        members = self.contributors()
        return Up(head, self.epoch, self._start, self._rows.parent, members, sums, ssd).encode(self._run.n)
