"""The run record and a node's rows, checked key by key (protocol, section 3)."""

from dcka_core.errors import RecordError
from dcka_core.quantise import MAX_DIMENSIONS, bits_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ID = 65535
_SEED_LIMIT = (1 << 63) - 1
_KINDS = ("tree", "gossip", "idle")
_INITS = ("local", "shared", "given")


def _whole(record: "dict[str, Any]", key: str, low: int, high: int) -> int:
    value = record.get(key)
    if type(value) is not int or not low <= value <= high:
        raise RecordError("%s is %r: a whole number from %d to %d is needed" % (key, value, low, high))
    return value


def _word(record: "dict[str, Any]", key: str, words: "tuple[str, ...]") -> str:
    value = record.get(key)
    if value not in words:
        raise RecordError("%s is %r: one of %s is needed" % (key, value, ", ".join(words)))
    return value  # type: ignore[no-any-return]


def _ids(values: object, key: str) -> "list[int]":
    if not isinstance(values, list):
        raise RecordError("%s is no list of ids" % key)
    for value in values:
        if type(value) is not int or not 1 <= value <= MAX_ID:
            raise RecordError("%s names %r, which is no id" % (key, value))
    if len(set(values)) != len(values):
        raise RecordError("%s names an id twice" % key)
    return values


def ceil_log2(value: int) -> int:
    """The smallest e with 2^e >= value."""
    exponent = 0
    while 1 << exponent < value:
        exponent += 1
    return exponent


class Run:
    """A run as every node sees it. `Run(dict)` raises RecordError for whatever is not as the protocol has it."""

    def __init__(self, record: "dict[str, Any]") -> None:
        if not isinstance(record, dict):
            raise RecordError("the run record is no object")
        _whole(record, "v", 1, 1)
        self.number = _whole(record, "run", 1, _SEED_LIMIT)
        self.kind = _word(record, "kind", _KINDS)
        if self.kind == "idle":
            return
        self.members = _ids(record.get("members"), "members")
        self.root = record.get("root", 0)
        if self.kind == "tree" and self.root not in self.members:
            raise RecordError("root is %r: no member" % (self.root,))
        self.dataset = bytes.fromhex(str(record.get("dataset")))
        self.points = _whole(record, "points", 0, 1 << 40)
        self.n = _whole(record, "n", 1, MAX_DIMENSIONS)
        self.bits = _whole(record, "bits", 1, bits_for(self.n))
        self.k = _whole(record, "k", 1, 65535)
        self.init = _word(record, "init", _INITS)
        self.seed = _whole(record, "seed", 0, _SEED_LIMIT)
        self.centres = _centres(record, self.k * self.n, self.bits) if self.init == "given" else None
        self.max_steps = _whole(record, "max_steps", 1, 1 << 20)
        self.patience_ms = _whole(record, "patience_ms", 10, 1 << 24)
        self.rows = self.k * (self.n + 1)
        if self.kind == "gossip":
            self._gossip(record)

    def _gossip(self, record: "dict[str, Any]") -> None:
        self.slots = _whole(record, "slots", 0, 1 << 20)
        self.max_slots = _whole(record, "max_slots", 1, 1 << 20)
        self.window = _whole(record, "window", 1, 1 << 16)
        self.tolerance = _whole(record, "tolerance", 0, 1 << 24)
        if self.slots % self.window:
            raise RecordError("slots is %d: a multiple of the window, %d, is needed" % (self.slots, self.window))
        # Fraction bits of the mass, and bits of a running sum: protocol, section 5.
        total_bits = self.bits + ceil_log2(self.points + 1)
        self.fraction = 20 + ceil_log2(len(self.members))
        if total_bits + self.fraction > 63:
            raise RecordError("%d points at %d nodes don't fit 63 bits of mass" % (self.points, len(self.members)))
        self.modulus_bits = total_bits + self.fraction + 1

    def index(self, node: int) -> int:
        """The index of a member; RecordError for anybody else."""
        if node not in self.members:
            raise RecordError("node %d is no member" % node)
        return self.members.index(node)


def _centres(record: "dict[str, Any]", length: int, bits: int) -> "list[int]":
    centres = record.get("centres")
    if not isinstance(centres, list) or len(centres) != length:
        raise RecordError("centres: %d numbers are needed" % length)
    for value in centres:
        if type(value) is not int or not 0 <= value < 1 << bits:
            raise RecordError("centres holds %r: 0 to %d is needed" % (value, (1 << bits) - 1))
    return centres


class Phase:
    """One phase of a node's gossip rows: shares [(divisor, neighbours)], hear {neighbour: group}."""

    def __init__(self, row: "dict[str, Any]") -> None:
        self.shares = []
        for divisor, count in row["share"]:
            if not (type(divisor) is int and type(count) is int and 1 <= count < divisor):
                raise RecordError("share %r of %r neighbours" % (divisor, count))
            self.shares.append((divisor, count))
        self.hear = {}
        for neighbour, group in row["hear"]:
            self.hear[neighbour] = group


class Rows:
    """A node's own rows of the schedule. Raises RecordError."""

    def __init__(self, record: "dict[str, Any]") -> None:
        if not isinstance(record, dict):
            raise RecordError("the rows are no object")
        _whole(record, "v", 1, 1)
        self.number = _whole(record, "run", 1, _SEED_LIMIT)
        self.near = _ids(record.get("near"), "near")
        self.phases: list[Phase] = []
        self.parent = 0
        self.children: list[int] = []
        if "phases" in record:
            try:
                self.phases = [Phase(row) for row in record["phases"]]
            except (KeyError, TypeError, ValueError) as error:
                raise RecordError("phases: %r" % error) from error
        else:
            self.parent = _whole(record, "parent", 0, MAX_ID)
            self.children = _ids(record.get("children"), "children")
