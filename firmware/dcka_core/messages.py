"""The binary messages of the consensus: bytes to objects and back (protocol, section 4)."""

from dcka_core.codec import Reader, put_set, put_varint
from dcka_core.errors import MessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Run

_VERSION = 1
UP = 1
COMMIT = 2
SHARE = 3
CHUNK = 5

FINAL = 1
CONVERGED = 2
GOSSIP = 4
KEPT = 8

_ANY = (1 << 64) - 1
_MAX_ID = 65535
HASH_BYTES = 8


class Head:
    """What every binary message starts with."""

    def __init__(self, kind: int, run: int, sender: int, boot: int, step: int) -> None:
        self.kind = kind
        self.run = run
        self.sender = sender
        self.boot = boot
        self.step = step

    def encode(self) -> bytearray:
        out = bytearray([_VERSION << 4 | self.kind])
        for value in (self.run, self.sender, self.boot, self.step):
            put_varint(out, value)
        return out


def read_head(reader: Reader, kind: int) -> Head:
    """The head of a message that has to be of `kind`."""
    first = reader.byte()
    if first != _VERSION << 4 | kind:
        raise MessageError("version")
    return Head(kind, reader.varint(_ANY), reader.varint(_MAX_ID), reader.varint(_ANY), reader.varint(_ANY))


def _put_epoch(out: bytearray, epoch: "tuple[int, int, int]") -> None:
    for value in epoch:
        put_varint(out, value)


def _read_epoch(reader: Reader) -> "tuple[int, int, int]":
    return reader.varint(_ANY), reader.varint(_MAX_ID), reader.varint(_ANY)


class Up:
    """Type 1: the sums of a subtree on the way to the root.

    sums: K rows of (m, u_1 ... u_n); contributors: a bit mask of indices.
    """

    def __init__(
        self,
        head: Head,
        epoch: "tuple[int, int, int]",
        start: bytes,
        parent: int,
        contributors: int,
        sums: "list[int]",
        ssd: int,
    ) -> None:
        self.head = head
        self.epoch = epoch
        self.start = start
        self.parent = parent
        self.contributors = contributors
        self.sums = sums
        self.ssd = ssd

    def encode(self, n: int) -> bytearray:
        out = self.head.encode()
        _put_epoch(out, self.epoch)
        out.extend(self.start)
        put_varint(out, self.parent)
        put_set(out, self.contributors)
        for row in range(0, len(self.sums), n + 1):
            put_varint(out, self.sums[row])
            if self.sums[row]:
                for j in range(n):
                    put_varint(out, self.sums[row + 1 + j])
        put_varint(out, self.ssd)
        return out


def read_up(payload: "bytes | memoryview", run: "Run") -> Up:
    """A type 1 message of `run`; MessageError for one of another run or shape."""
    reader = Reader(payload)
    head = read_head(reader, UP)
    if head.run != run.number:
        raise MessageError("run")
    epoch = _read_epoch(reader)
    start = bytes(reader.take(HASH_BYTES))
    parent = reader.varint(_MAX_ID)
    contributors = reader.set(len(run.members))
    top = (1 << run.bits) - 1
    sums = []
    for _ in range(run.k):
        count = reader.varint(run.points)
        sums.append(count)
        for _ in range(run.n):
            sums.append(reader.varint(count * top) if count else 0)
    ssd = reader.varint(_ANY)
    reader.end()
    return Up(head, epoch, start, parent, contributors, sums, ssd)


class Commit:
    """Type 2: the outcome of a step. `head.step` is the step of the centres that it carries.

    contributors, missing: bit masks of indices; centres: K·n integers; counts: K integers.
    """

    def __init__(
        self,
        head: Head,
        flags: int,
        epoch: "tuple[int, int, int]",
        contributors: int,
        missing: int,
        centres: "list[int]",
        counts: "list[int]",
        ssd: int,
    ) -> None:
        self.head = head
        self.flags = flags
        self.epoch = epoch
        self.contributors = contributors
        self.missing = missing
        self.centres = centres
        self.counts = counts
        self.ssd = ssd

    @property
    def final(self) -> bool:
        return bool(self.flags & FINAL)

    def rank(self) -> int:
        """2 a final with nobody ever missing (PASS), 1 another final (PARTIAL), 0 the rest."""
        if not self.final:
            return 0
        return 1 if self.missing else 2

    def beats(self, other: "Commit | None") -> bool:
        """Rule 12: greater by (run, rank, step, fewest ever missing, epoch)."""
        return other is None or self._order() > other._order()

    def _order(self) -> "tuple[int, int, int, int, tuple[int, int, int]]":
        return (self.head.run, self.rank(), self.head.step, -_count(self.missing), self.epoch)

    def encode(self) -> bytearray:
        out = self.head.encode()
        out.append(self.flags)
        _put_epoch(out, self.epoch)
        put_set(out, self.contributors)
        put_set(out, self.missing)
        for value in self.centres:
            out.append(value & 0xFF)
            out.append(value >> 8)
        for value in self.counts:
            put_varint(out, value)
        put_varint(out, self.ssd)
        return out


def _count(members: int) -> int:
    number = 0
    while members:
        members &= members - 1
        number += 1
    return number


def peek_run(payload: "bytes | memoryview") -> int:
    """The run of a message of any type of this version."""
    reader = Reader(payload)
    if reader.byte() >> 4 != _VERSION:
        raise MessageError("version")
    return reader.varint(_ANY)


def peek_commit(payload: "bytes | memoryview") -> "tuple[int, int, int]":
    """(run, sender, step) of a commit, without its shape."""
    head = read_head(Reader(payload), COMMIT)
    return head.run, head.sender, head.step


def read_commit(payload: "bytes | memoryview", run: "Run") -> Commit:
    """A type 2 message of `run`; MessageError for one of another run or shape."""
    reader = Reader(payload)
    head = read_head(reader, COMMIT)
    if head.run != run.number:
        raise MessageError("run")
    flags = reader.byte()
    if flags > 15 or bool(flags & GOSSIP) != (run.kind == "gossip"):
        raise MessageError("value")
    epoch = _read_epoch(reader)
    contributors = reader.set(len(run.members))
    missing = reader.set(len(run.members))
    centres = [reader.integer(2) for _ in range(run.k * run.n)]
    if max(centres) >> run.bits:
        raise MessageError("value")
    counts = [reader.varint(run.points) for _ in range(run.k)]
    ssd = reader.varint(_ANY)
    reader.end()
    return Commit(head, flags, epoch, contributors, missing, centres, counts, ssd)


def message_bound(run: "Run", groups: int = 1) -> int:
    """The most bytes that a consensus message of this run can have; `groups`: the most that a gossip row has."""
    size = len(run.members)
    members = 3 + min(6 * ((size + 1) // 2), 6 * size)
    head = 1 + 10 + 3 + 10 + 10 + 23
    commit = head + 1 + 2 * members + 2 * run.k * run.n + _varint_bytes(run.points) * run.k + 10
    if run.kind == "gossip":
        width = (run.modulus_bits + 7) // 8
        share = head + groups * run.rows * width + members + 1 + 2 * 4 * run.k * run.n
        return max(commit, share)
    largest = run.points * ((1 << run.bits) - 1)
    up = head + HASH_BYTES + 3 + members + run.rows * _varint_bytes(largest) + 10
    return max(commit, up)


def _varint_bytes(value: int) -> int:
    size = 1
    while value > 0x7F:
        value >>= 7
        size += 1
    return size
