"""The run record and a node's rows, checked key by key (protocol, section 3).

A node drops this file once it has read them: the classes have no methods, so that what they need is in them.
"""

from dcka_core.errors import CoreError
from dcka_core.parts import part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Slots = tuple[int, int, int, list[int]]

_MAX_ID = 65535
_SEED_LIMIT = (1 << 63) - 1
# (key, lowest, highest) of the whole numbers of a run, and those that only `gossip` has.
_NUMBERS = (
    ("points", 0, 1 << 40),
    ("n", 1, 512),
    ("bits", 1, 15),
    ("k", 1, _MAX_ID),
    ("seed", 0, _SEED_LIMIT),
    ("max_steps", 1, 1 << 20),
    ("patience_ms", 10, 1 << 24),
)
# Of the commits of a survey, a score and a tail (halves of 32 bits) and of a seeding (ids).
_STATE_BITS = 16
# One text each: of a tuple's, every one would stay among the interpreter's names.
_KINDS = "idle tree gossip survey seeding score tail"
# So many of them are read here alone; the part `<kind>_record` makes the record of another one such as these.
_OWN = 4
_STARTS = "local sorted snake partition shared kmeans++ given"
# Whose centres are in the record.
_DRAWN = "kmeans++ given"
_GOSSIP_NUMBERS = (
    ("slots", 0, 1 << 20),
    ("max_slots", 1, 1 << 20),
    ("window", 1, 1 << 16),
    ("tolerance", 0, 1 << 24),
)


class Run:
    """A run as every node sees it (protocol, section 3).

    members: ids, index = position. sizes: the points of each, in this order, the last for all that follow; empty where
    the host does not tell. centres: K·n integers for `given` and `kmeans++`, else None.
    common: whether all nodes start from the same centres. rows: numbers in a node's sums,
    K·(n + 1).
    fraction, modulus_bits: of the mass of `gossip` (section 5).
    data_bits: of the data that the run is about, 32 for the readings of a survey. grid_bits: of the grid that a survey
    leads to; its `bits`, as those of a seeding and a score, are those of a number in its commits, and its `k` their
    rows.
    latest: what a step of the grid is in the unit in which nodes tell how far their latest reading is from its centre;
    0 where they don't.
    scored: the centres that a score or a tail is about, K·n integers. reveal: of a tail, how many of its readings a
    node may say at most.
    prior: as how many points each of the given centres counts; only where the record has it.
    part: the part of the core that the run needs: its kind, "duty" for `tree` in slots, which alone has slot_ms and
    period, and others where the record has `prior`.
    """

    number: int
    kind: str
    part: str
    members: "list[int]"
    root: int
    depth: int
    dataset: bytes
    points: int
    sizes: "list[int]"
    n: int
    bits: int
    k: int
    rows: int
    init: str
    common: bool
    seed: int
    centres: "list[int] | None"
    max_steps: int
    patience_ms: int
    slots: int
    max_slots: int
    window: int
    tolerance: int
    fraction: int
    modulus_bits: int
    data_bits: int
    bins: int
    tail_ppm: int
    scale: str
    grid_bits: int
    scored: "list[int]"
    reveal: int
    prior: "list[int]"
    slot_ms: int
    period: int
    latest: "int | float"


class Rows:
    """A node's own rows of the schedule.

    `tree`: parent (0 at the root), children. `gossip`: phases, a list of (shares, hear): shares is [(divisor,
    neighbours)] by group, hear is {neighbour: group}. near: the ids within radio reach. span: how many nodes this
    node's subtree has in epoch 0; more than there are where the host does not tell. slots: (up, get, down, [hear]) of
    `tree` in slots, 0 where a node has none; None where it has no slots.
    """

    number: int
    near: "list[int]"
    parent: int
    children: "list[int]"
    span: int
    phases: "list[tuple[list[tuple[int, int]], dict[int, int]]]"
    slots: "Slots | None"


def _whole(record: "dict[str, Any]", key: str, low: int, high: int) -> int:
    value = record.get(key)
    if type(value) is not int or not low <= value <= high:
        raise CoreError("%s is %r: %d to %d is needed" % (key, value, low, high))
    return value


def _word(record: "dict[str, Any]", key: str, words: "Sequence[str]") -> str:
    value = record.get(key)
    if value not in words:
        raise CoreError("%s is %r: one of %s is needed" % (key, value, ", ".join(words)))
    return value  # type: ignore[return-value]


def _numbers(record: "dict[str, Any]", key: str, low: int, high: int) -> "list[int]":
    values = record.get(key)
    if not isinstance(values, list):
        raise CoreError("%s is no list" % key)
    for value in values:
        if type(value) is not int or not low <= value <= high:
            raise CoreError("%s holds %r: %d to %d is needed" % (key, value, low, high))
    return values


def _ids(record: "dict[str, Any]", key: str) -> "list[int]":
    ids = _numbers(record, key, 1, _MAX_ID)
    if len(set(ids)) != len(ids):
        raise CoreError("%s names an id twice" % key)
    return ids


def _dataset(record: "dict[str, Any]") -> bytes:
    try:
        dataset = bytes.fromhex(record["dataset"])
    except (KeyError, TypeError, ValueError):
        dataset = b""
    if len(dataset) != 8:
        raise CoreError("dataset is %r: 16 hex digits are needed" % record.get("dataset"))
    return dataset


def _ceil_log2(value: int) -> int:
    """The smallest e with 2^e >= value."""
    exponent = 0
    while 1 << exponent < value:
        exponent += 1
    return exponent


def read_run(record: "dict[str, Any]") -> Run:
    """The run record. Raises CoreError for whatever is not as the protocol has it."""
    run = Run()
    _whole(record, "v", 1, 1)
    run.number = _whole(record, "run", 1, _SEED_LIMIT)
    run.kind = _word(record, "kind", _KINDS.split())
    if run.kind == "idle":
        return run
    beside = run.kind in _KINDS.split()[_OWN:]
    if run.kind == "survey":
        record = _with_shape(record, run)
    elif beside:
        record = part(run.kind + "_record").read_run(record, run, _whole, _numbers)
    for key, low, high in _NUMBERS:
        setattr(run, key, _whole(record, key, low, high))
    if run.n * ((1 << run.bits) - 1) ** 2 >= 1 << 31:
        raise CoreError("bits is %d: too many for %d dimensions" % (run.bits, run.n))
    run.members = _ids(record, "members")
    if not run.members:
        raise CoreError("members is empty")
    run.sizes = _numbers(record, "rows", 0, run.points) if "rows" in record else []
    more = len(run.members) - len(run.sizes)
    if run.sizes and (more < 0 or sum(run.sizes) + run.sizes[-1] * more != run.points):
        raise CoreError("rows are not those of %d points at %d nodes" % (run.points, len(run.members)))
    run.dataset = _dataset(record)
    run.data_bits = run.bits
    if run.kind == "survey":
        run.grid_bits = run.bits
        run.data_bits, run.bits = 32, _STATE_BITS
    elif beside:
        run.bits = _STATE_BITS
    run.init = _word(record, "init", _STARTS.split())
    run.centres = None
    if run.init in _DRAWN.split():
        run.centres = _numbers(record, "centres", 0, (1 << run.bits) - 1)
        if len(run.centres) != run.k * run.n:
            raise CoreError("centres: %d numbers are needed" % (run.k * run.n))
    run.latest = 0
    if "latest" in record:
        from dcka_core.latest import read_latest

        run.latest = read_latest(record)
    run.common = run.centres is not None or run.init == "shared"
    run.rows = run.k * (run.n + 1)
    run.root = run.depth = 0
    run.part = run.kind
    if run.kind != "gossip":
        run.root = _whole(record, "root", 1, _MAX_ID)
        if run.root not in run.members:
            raise CoreError("root is %d: no member" % run.root)
        run.depth = _whole(record, "depth", 0, _MAX_ID)
        if "slot_ms" in record:
            part("slot_record").read_run(record, run, _whole, _numbers)
        if "prior" in record:
            part("prior_record").read_run(record, run, _whole, _numbers)
    else:
        _read_mass(record, run)
    return run


def survey_shape(bins: int, scale: str) -> "tuple[int, int]":
    """(K, max_steps) of a survey: the rows that count or that its state takes, and its steps (section 5)."""
    digit = _ceil_log2(bins)
    deviation = scale == "std"
    return max(2 * (bins - 1), 7 if deviation else 5), 32 // digit + (1 if deviation else 0)


def _with_shape(record: "dict[str, Any]", run: Run) -> "dict[str, Any]":
    """What a survey adds; the record with the numbers that follow from it, and a start of zeros."""
    run.bins = _whole(record, "bins", 2, 16)
    if run.bins not in (2, 4, 16):
        raise CoreError("bins is %d: 2, 4 or 16 is needed" % run.bins)
    run.tail_ppm = _whole(record, "tail_ppm", 0, 499999)
    run.scale = _word(record, "scale", ("one", "minmax", "std"))
    k, steps = survey_shape(run.bins, run.scale)
    record = dict(record)
    record.update({"k": k, "max_steps": steps, "seed": 0, "init": "given"})
    record["centres"] = [0] * (k * _whole(record, "n", 1, 512))
    return record


def _read_mass(record: "dict[str, Any]", run: Run) -> None:
    """What `gossip` adds: its numbers, the fraction bits of the mass, the bits of a running sum (section 5)."""
    for key, low, high in _GOSSIP_NUMBERS:
        setattr(run, key, _whole(record, key, low, high))
    if run.slots % run.window:
        raise CoreError("slots is %d: a multiple of the window, %d, is needed" % (run.slots, run.window))
    total_bits = run.bits + _ceil_log2(run.points + 1)
    run.fraction = 20 + _ceil_log2(len(run.members))
    if total_bits + run.fraction > 63:
        raise CoreError("%d points at %d nodes don't fit 63 bits of mass" % (run.points, len(run.members)))
    run.modulus_bits = total_bits + run.fraction + 1


def read_rows(record: "dict[str, Any]") -> Rows:
    """A node's rows; run 0 are those that it was provisioned with. Raises CoreError."""
    rows = Rows()
    _whole(record, "v", 1, 1)
    rows.number = _whole(record, "run", 0, _SEED_LIMIT)
    rows.near = _ids(record, "near")
    rows.parent = 0
    rows.children = []
    rows.span = _MAX_ID
    rows.phases = []
    rows.slots = None
    if "phases" not in record:
        rows.parent = _whole(record, "parent", 0, _MAX_ID)
        rows.children = _ids(record, "children")
        if "members" in record:
            rows.span = _whole(record, "members", 1, _MAX_ID)
        if "slots" in record:
            rows.slots = part("slot_record").read_rows(record["slots"], _whole, _numbers)
        return rows
    try:
        rows.phases = [(_shares(row["share"]), _hear(row["hear"])) for row in record["phases"]]
    except (KeyError, TypeError, ValueError) as error:
        raise CoreError("phases: %r" % error)
    return rows


def _shares(pairs: "list[list[int]]") -> "list[tuple[int, int]]":
    """[(divisor, neighbours)]: whole numbers that leave something at home."""
    whole = 1
    for divisor, count in pairs:
        if type(divisor) is not int or type(count) is not int or divisor < 2 or count < 1:
            raise CoreError("phases: share %r" % pairs)
        whole *= divisor
    if sum([whole // divisor * count for divisor, count in pairs]) >= whole:
        raise CoreError("phases: share %r gives all away" % pairs)
    return [(divisor, count) for divisor, count in pairs]


def _hear(pairs: "list[list[int]]") -> "dict[int, int]":
    hear = {}
    for who, group in pairs:
        if type(who) is not int or type(group) is not int or not 1 <= who <= _MAX_ID or group < 0:
            raise CoreError("phases: hear %r" % pairs)
        hear[who] = group
    return hear
