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

# Flags of a commit.
FINAL = 1
CONVERGED = 2
GOSSIP = 4
KEPT = 8
UNDECIDED = 16

_ANY = (1 << 64) - 1
_MAX_ID = 65535
HASH_BYTES = 8


def put_head(kind: int, run: int, sender: int, boot: int, step: int) -> bytearray:
    """The beginning of every binary message."""
    out = bytearray([_VERSION << 4 | kind])
    for value in (run, sender, boot, step):
        put_varint(out, value)
    return out


def read_head(reader: Reader, kind: int) -> "tuple[int, int, int, int]":
    """(run, sender, boot, step) of a message that has to be of `kind`."""
    if reader.byte() != _VERSION << 4 | kind:
        raise MessageError("version")
    return reader.varint(_ANY), reader.varint(_MAX_ID), reader.varint(_ANY), reader.varint(_ANY)


def peek_run(payload: "bytes | memoryview") -> int:
    """The run of a message of any type of this version."""
    reader = Reader(payload)
    if reader.byte() >> 4 != _VERSION:
        raise MessageError("version")
    return reader.varint(_ANY)


def peek_commit(payload: "bytes | memoryview") -> "tuple[int, int, int]":
    """(run, sender, step) of a commit of any shape."""
    run, sender, _, step = read_head(Reader(payload), COMMIT)
    return run, sender, step


class Up:
    """Type 1: the sums of a subtree on the way to the root.

    epoch: (number, node, boot); start: 8 bytes; contributors: a bit mask of indices; sums: K rows of (m, u_1 ... u_n).
    """

    sender: int
    boot: int
    step: int
    epoch: "tuple[int, int, int]"
    start: bytes
    parent: int
    contributors: int
    sums: "list[int]"
    ssd: int

    def encode(self, run: "Run") -> bytearray:
        out = put_head(UP, run.number, self.sender, self.boot, self.step)
        for value in self.epoch:
            put_varint(out, value)
        out.extend(self.start)
        put_varint(out, self.parent)
        put_set(out, self.contributors)
        for row in range(0, run.rows, run.n + 1):
            # An empty cluster's sums are zeros that nobody has to send.
            for index in range(row, row + run.n + 1 if self.sums[row] else row + 1):
                put_varint(out, self.sums[index])
        put_varint(out, self.ssd)
        return out


def _read_common(message: "Up | Commit", reader: Reader, kind: int, run: "Run") -> None:
    number, message.sender, message.boot, message.step = read_head(reader, kind)
    if number != run.number:
        raise MessageError("run")


def _read_epoch(reader: Reader) -> "tuple[int, int, int]":
    return reader.varint(_ANY), reader.varint(_MAX_ID), reader.varint(_ANY)


def read_up(payload: "bytes | memoryview", run: "Run") -> Up:
    """A type 1 message of `run`; MessageError for one of another run or shape."""
    reader = Reader(payload)
    message = Up()
    _read_common(message, reader, UP, run)
    message.epoch = _read_epoch(reader)
    message.start = bytes(reader.take(HASH_BYTES))
    message.parent = reader.varint(_MAX_ID)
    message.contributors = reader.set(len(run.members))
    message.sums = sums = []
    for _ in range(run.k):
        count = reader.varint(run.points)
        sums.append(count)
        most = count << run.bits
        for _ in range(run.n):
            sums.append(reader.varint(most) if count else 0)
    message.ssd = reader.varint(_ANY)
    reader.end()
    return message


class Commit:
    """Type 2: the outcome of a step. `step` is that of the centres that it carries.

    contributors, missing (ever, in its chain): bit masks of indices; centres: K·n integers; counts: K integers.
    """

    sender: int
    boot: int
    step: int
    flags: int
    epoch: "tuple[int, int, int]"
    contributors: int
    missing: int
    centres: "list[int]"
    counts: "list[int]"
    ssd: int

    def beats(self, other: "Commit | None") -> bool:
        """Rule 12, within a run: greater by (rank, step, fewest ever missing, epoch)."""
        return other is None or self._order() > other._order()

    def _order(self) -> "tuple[int, int, int, tuple[int, int, int]]":
        missing = 0
        while self.missing >> missing:
            missing += 1
        lost = sum([self.missing >> index & 1 for index in range(missing)])
        # 2: a final with nobody ever missing (PASS), 1: another final (PARTIAL), 0: the rest.
        rank = (1 if lost else 2) if self.flags & FINAL else 0
        return (rank, self.step, -lost, self.epoch)

    def encode(self, run: "Run") -> bytearray:
        out = put_head(COMMIT, run.number, self.sender, self.boot, self.step)
        out.append(self.flags)
        for value in self.epoch:
            put_varint(out, value)
        put_set(out, self.contributors)
        put_set(out, self.missing)
        for value in self.centres:
            out.append(value & 0xFF)
            out.append(value >> 8)
        for value in self.counts:
            put_varint(out, value)
        put_varint(out, self.ssd)
        return out


def read_commit(payload: "bytes | memoryview", run: "Run") -> Commit:
    """A type 2 message of `run`; MessageError for one of another run or shape."""
    reader = Reader(payload)
    commit = Commit()
    _read_common(commit, reader, COMMIT, run)
    commit.flags = reader.byte()
    if commit.flags > 31 or bool(commit.flags & GOSSIP) != (run.kind == "gossip"):
        raise MessageError("value")
    commit.epoch = _read_epoch(reader)
    commit.contributors = reader.set(len(run.members))
    commit.missing = reader.set(len(run.members))
    commit.centres = [reader.integer(2) for _ in range(run.k * run.n)]
    if max(commit.centres) >> run.bits:
        raise MessageError("value")
    # In `gossip` a count is N times a node's mass, which may be all there is.
    most = run.points * (len(run.members) if commit.flags & GOSSIP else 1)
    commit.counts = [reader.varint(most) for _ in range(run.k)]
    commit.ssd = reader.varint(_ANY)
    reader.end()
    return commit
