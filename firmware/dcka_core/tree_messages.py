"""The messages that only `tree` has: sums on their way up, changes of a commit, epochs (protocol, section 4)."""

from array import array
from hashlib import sha256

from dcka_core.codec import Reader, put_set, put_signed, put_varint
from dcka_core.errors import MessageError
from dcka_core.messages import (
    ANY,
    CHANGE,
    DELTA,
    FIRST,
    GOSSIP,
    MAX_ID,
    UP,
    Commit,
    put_head,
    read_common,
    read_epoch,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Run

HASH_BYTES = 4
# Enough for a commit whose base is known by its epoch and step: only damage is left to be found.
_CHECK_BYTES = 2


class Up:
    """Type 1: the sums of a subtree on the way to the root.

    epoch: (number, node, boot); start: 4 bytes, empty where differences were read: the commit of this epoch and step
    is what they start from; contributors: a bit mask of indices; sums: K rows of (m, u_1 ... u_n); squares: over all
    their points the sum of the squared lengths, in a step 0 without common centres the SSD.
    """

    sender: int
    boot: int
    step: int
    epoch: "tuple[int, int, int]"
    start: bytes
    parent: int
    contributors: int
    sums: "list[int]"
    squares: int

    def encode(self, run: "Run", base: "Up | None" = None, centres: "list[int] | None" = None) -> bytearray:
        """The message; with a `base`, that of the step before, as differences to it. centres: with a base those that
        the step starts from.
        """
        out = put_head(UP, run.number, self.sender, self.boot, self.step)
        put_epoch(out, DELTA if base else 0, self.epoch, run)
        put_varint(out, self.parent)
        if base:
            put_rows(out, self.sums, base.sums, run.n + 1, centres)
            return out
        put_set(out, self.contributors)
        out.extend(self.start)
        for row in range(0, run.rows, run.n + 1):
            # An empty cluster's sums are zeros that nobody has to send.
            for index in range(row, row + run.n + 1 if self.sums[row] else row + 1):
                put_varint(out, self.sums[index])
        put_varint(out, self.squares)
        return out


def put_epoch(out: bytearray, form: int, epoch: "tuple[int, int, int]", run: "Run") -> None:
    """Append the form of a message and its epoch, the run's first being one bit of it."""
    if epoch == (0, run.root, 0):
        out.append(form | FIRST)
        return
    out.append(form)
    for value in epoch:
        put_varint(out, value)


def _read_form(reader: Reader, run: "Run") -> "tuple[int, tuple[int, int, int]]":
    """(form without the epoch's bit, epoch)."""
    form = reader.byte()
    if form > DELTA | FIRST:
        raise MessageError("value")
    first = (0, run.root, 0)
    epoch = first if form & FIRST else read_epoch(reader)
    if epoch == first and not form & FIRST:
        # There is one form only.
        raise MessageError("value")
    return form & DELTA, epoch


def put_rows(
    out: bytearray, values: "list[int]", before: "list[int]", width: int, centres: "list[int] | None" = None
) -> None:
    """Append which rows of `width` numbers have changed, a bit a row, and the differences in these.

    centres: the rows are sums (m, u) of points that have only gone from cluster to cluster. A point lies near the
    centre that it left, so of u what m does not explain is said; and the last row is what the others leave of nothing.
    """
    changed = []
    bits = 0
    for row in range(0, len(values), width):
        if values[row : row + width] != before[row : row + width]:
            changed.append(row)
            bits |= 1 << row // width
    out.extend(bits.to_bytes((len(values) // width + 7) // 8, "little"))
    for row in changed[:-1] if centres else changed:
        more = values[row] - before[row]
        put_signed(out, more)
        for index in range(row + 1, row + width):
            explained = more * centres[index - row // width - 1] if centres else 0
            put_signed(out, values[index] - before[index] - explained)


def read_rows_onto(
    reader: Reader, values: "list[int]", width: int, centres: "list[int] | None" = None
) -> None:
    """Add the differences that `put_rows` wrote to `values`."""
    rows = len(values) // width
    bits = reader.integer((rows + 7) // 8)
    if bits >> rows:
        raise MessageError("value")
    left = [0] * width
    for row in range(0, len(values), width):
        if not bits >> row // width & 1:
            continue
        last = centres and not bits >> row // width + 1
        more = 0
        for j in range(width):
            explained = more * centres[row - row // width + j - 1] if j and centres else 0
            change = left[j] if last else reader.signed() + explained
            more = more if j else change
            values[row + j] += change
            left[j] -= change


def read_up(
    payload: "bytes | memoryview",
    run: "Run",
    bases: "dict[int, Up] | None" = None,
    held: "Commit | None" = None,
) -> Up:
    """A type 1 message of `run`; MessageError for one of another run or shape.

    bases: the latest message of each sender; held: the commit that the reader's step starts from. Where the message of
    the step before isn't there, or the commit is another one, differences are refused as 'base'.
    """
    reader = Reader(payload)
    message = Up()
    read_common(message, reader, UP, run)
    form, message.epoch = _read_form(reader, run)
    message.parent = reader.varint(MAX_ID)
    if form == DELTA:
        _read_delta(reader, message, run, (bases or {}).get(message.sender), held)
    else:
        message.contributors = reader.set(len(run.members))
        message.start = bytes(reader.take(HASH_BYTES))
        message.sums = sums = []
        for _ in range(run.k):
            count = reader.varint(run.points)
            sums.append(count)
            most = count << run.bits
            for _ in range(run.n):
                sums.append(reader.varint(most) if count else 0)
        message.squares = reader.varint(ANY)
    reader.end()
    return message


def _read_delta(reader: Reader, message: Up, run: "Run", base: "Up | None", held: "Commit | None") -> None:
    """The sums as differences to the same sender's of the step before.

    In one boot and epoch a sender says differences only to a step of which it has said one sum, so there is one base;
    and in one epoch there is one commit of a step, so neither sums nor centres have to be compared.
    """
    if (
        base is None
        or held is None
        or run.kind != "tree"
        or (message.step == 1 and not run.common)
        or (held.epoch, held.step) != (message.epoch, message.step)
        or (base.boot, base.epoch, base.step + 1) != (message.boot, message.epoch, message.step)
    ):
        raise MessageError("base")
    message.contributors = base.contributors
    message.start = b""
    message.squares = base.squares
    message.sums = sums = list(base.sums)
    read_rows_onto(reader, sums, run.n + 1, held.centres)
    for row in range(0, run.rows, run.n + 1):
        count = sums[row]
        if not 0 <= count <= run.points:
            raise MessageError("value")
        for index in range(row + 1, row + run.n + 1):
            if not 0 <= sums[index] <= count << run.bits:
                raise MessageError("value")


def encode_change(commit: Commit, base: Commit, run: "Run") -> "bytearray | None":
    """Type 6: a commit as the differences to the one of the step before; None where it has to be said in full.

    That is so where the epoch or the set of the missing is another one, or so much has changed that it is shorter.
    """
    known = (base.step + 1, base.epoch, base.contributors, base.missing)
    if known != (commit.step, commit.epoch, commit.contributors, commit.missing):
        return None
    out = put_head(CHANGE, run.number, commit.sender, commit.boot, commit.step)
    put_epoch(out, 0, commit.epoch, run)
    out.append(commit.flags)
    put_rows(out, _rows(commit, run), _rows(base, run), run.n + 1)
    put_signed(out, commit.ssd - base.ssd)
    out.extend(centres_hash(commit.centres)[:_CHECK_BYTES])
    return out if len(out) < len(commit.encode(run)) else None


def read_change(payload: "bytes | memoryview", run: "Run", held: "Commit | None") -> Commit:
    """The commit that a type 6 message of `run` makes of the one that is held.

    MessageError: 'base' where that is not the one before it, 'stale' where it is later.
    """
    reader = Reader(payload)
    commit = Commit()
    read_common(commit, reader, CHANGE, run)
    _, commit.epoch = _read_form(reader, run)
    commit.flags = reader.byte()
    if commit.flags > 31 or commit.flags & GOSSIP:
        raise MessageError("value")
    if held is not None and held.step >= commit.step:
        raise MessageError("stale")
    if held is None or (held.step + 1, held.epoch) != (commit.step, commit.epoch):
        raise MessageError("base")
    values = _rows(held, run)
    read_rows_onto(reader, values, run.n + 1)
    commit.ssd = held.ssd + reader.signed()
    check = bytes(reader.take(_CHECK_BYTES))
    reader.end()
    commit.counts = [values[row] for row in range(0, run.rows, run.n + 1)]
    commit.centres = [values[index] for index in range(run.rows) if index % (run.n + 1)]
    if (
        min(values) < 0
        or max(commit.counts) > run.points
        or max(commit.centres) >> run.bits
        or commit.ssd < 0
    ):
        raise MessageError("value")
    if centres_hash(commit.centres)[:_CHECK_BYTES] != check:
        raise MessageError("hash")
    commit.contributors = held.contributors
    commit.missing = held.missing
    return commit


def _rows(commit: Commit, run: "Run") -> "list[int]":
    """Cluster by cluster its count and its centre."""
    values = []
    for k in range(run.k):
        values.append(commit.counts[k])
        values.extend(commit.centres[k * run.n : (k + 1) * run.n])
    return values


def centres_hash(centres: "list[int]") -> bytes:
    """What a message says of centres: the first 4 bytes of SHA-256 over them as u16."""
    # Every port and desktop that runs this is little-endian.
    whole: bytes = sha256(array("H", centres)).digest()
    return whole[:HASH_BYTES]
