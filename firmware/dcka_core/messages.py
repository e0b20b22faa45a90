"""The binary messages of the consensus: bytes to objects and back (protocol, section 4)."""

from array import array

from dcka_core.codec import Reader, put_set, put_varint
from dcka_core.errors import MessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.record import Run

VERSION = 1
UP = 1
COMMIT = 2
SHARE = 3
EPOCH = 4
CHUNK = 5
CHANGE = 6
REMOVE = 8
UPDATE = 9

# Flags of a commit.
FINAL = 1
CONVERGED = 2
GOSSIP = 4
KEPT = 8
UNDECIDED = 16

# Forms of a message of `tree`: its numbers are differences; its epoch is the run's first, (0, R0, 0), and left out.
DELTA = 1
FIRST = 2

ANY = (1 << 64) - 1
MAX_ID = 65535


def put_head(kind: int, run: int, sender: int, boot: int, step: int) -> bytearray:
    """The beginning of every binary message."""
    out = bytearray([VERSION << 4 | kind])
    for value in (run, sender, boot, step):
        put_varint(out, value)
    return out


def read_head(reader: Reader, kind: int) -> "tuple[int, int, int, int]":
    """(run, sender, boot, step) of a message that has to be of `kind`."""
    if reader.byte() != VERSION << 4 | kind:
        raise MessageError("version")
    return reader.varint(ANY), reader.varint(MAX_ID), reader.varint(ANY), reader.varint(ANY)


def peek_run(payload: "bytes | memoryview") -> int:
    """The run of a message of any type of this version."""
    reader = Reader(payload)
    if reader.byte() >> 4 != VERSION:
        raise MessageError("version")
    return reader.varint(ANY)


def is_change(payload: "bytes | memoryview") -> bool:
    """Whether a message on a commit topic is a change, and no whole commit."""
    return len(payload) > 0 and payload[0] == VERSION << 4 | CHANGE


def peek_commit(payload: "bytes | memoryview") -> "tuple[int, int, int]":
    """(run, sender, step) of a commit of any shape, whole or a change."""
    kind = CHANGE if is_change(payload) else COMMIT
    run, sender, _, step = read_head(Reader(payload), kind)
    return run, sender, step


def commit_order(payload: "bytes | memoryview") -> "tuple[int, int, int]":
    """(run, rank, step) of a whole commit: how rule 12 has it, as far as it can be told without the run's record."""
    reader = Reader(payload)
    run, _, _, step = read_head(reader, COMMIT)
    flags = reader.byte()
    read_epoch(reader)
    reader.set(MAX_ID)
    return run, (1 if reader.set(MAX_ID) else 2) if flags & FINAL else 0, step


def read_common(message: "Any", reader: Reader, kind: int, run: "Run") -> None:
    """The head of a message of `run`, into `message`."""
    number, message.sender, message.boot, message.step = read_head(reader, kind)
    if number != run.number:
        raise MessageError("run")


def read_epoch(reader: Reader) -> "tuple[int, int, int]":
    """(number, node, boot)."""
    return reader.varint(ANY), reader.varint(MAX_ID), reader.varint(ANY)


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
        out += array("H", self.centres)  # little-endian, as every interpreter that runs this is
        for value in self.counts:
            put_varint(out, value)
        put_varint(out, self.ssd)
        return out


def read_commit(payload: "bytes | memoryview", run: "Run") -> Commit:
    """A type 2 message of `run`; MessageError for one of another run or shape."""
    reader = Reader(payload)
    commit = Commit()
    read_common(commit, reader, COMMIT, run)
    commit.flags = reader.byte()
    if commit.flags > 31 or bool(commit.flags & GOSSIP) != (run.kind == "gossip"):
        raise MessageError("value")
    commit.epoch = read_epoch(reader)
    commit.contributors = reader.set(len(run.members))
    commit.missing = reader.set(len(run.members))
    commit.centres = [reader.integer(2) for _ in range(run.k * run.n)]
    if max(commit.centres) >> run.bits:
        raise MessageError("value")
    # In `gossip` a count is N times a node's mass, which may be all there is.
    most = run.points * (len(run.members) if commit.flags & GOSSIP else 1)
    commit.counts = [reader.varint(most) for _ in range(run.k)]
    commit.ssd = reader.varint(ANY)
    reader.end()
    return commit
