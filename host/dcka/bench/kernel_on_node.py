"""What `dcka bench kernel` runs on MicroPython, on this computer or on a board: it is sent as text.

`case(settings)` and `adversity(settings, kind)` return dicts. All kernels take turns in each round, each going the same
way of Lloyd steps, so that whatever else the machine does hits all of them. `us` is a step's median over the rounds;
`best_us` adds up the least time of each step, which what else the machine does has not touched.
"""

import gc
import time
from array import array
from binascii import hexlify
from hashlib import sha256

from dcka_core import kernel, kernels, lloyd
from dcka_core.points import new_points
from dcka_core.starts import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.points import Points

    Table = list[list[float]]

# CPython, which has neither, makes the same points.
ticks_us: "Any" = getattr(time, "ticks_us", None)
ticks_diff: "Any" = getattr(time, "ticks_diff", None)


def naive(points: "Table", centres: "Table") -> "tuple[Table, list[int], float]":
    """One step as anybody writes it first: lists of lists of floats, the SSD, and the first of equal centres."""
    n = len(centres[0])
    sums = [[0.0] * n for _ in centres]
    counts = [0] * len(centres)
    ssd = 0.0
    for point in points:
        best: float | None = None
        nearest = 0
        for k in range(len(centres)):
            centre = centres[k]
            distance = 0.0
            for j in range(n):
                difference = point[j] - centre[j]
                distance += difference * difference
            if best is None or distance < best:
                best = distance
                nearest = k
        counts[nearest] += 1
        row = sums[nearest]
        for j in range(n):
            row[j] += point[j]
        ssd += best or 0.0
    return sums, counts, ssd


def rows(values: "Any", n: int) -> "Table":
    """Rows of n floats."""
    return [[float(value) for value in values[at : at + n]] for at in range(0, len(values), n)]


def made_points(n: int, bits: int, count: int, middles: int, seed: int) -> "Points":
    """Points around `middles` places, on a grid of places in the plane; the sum of four bytes is nearly normal."""
    stream = Stream(seed, b"kernel")
    top = (1 << bits) - 1
    side = 1
    while side**2 < middles:
        side += 1
    places: list[tuple[int, ...]]
    if n == 2:
        size = (top + 1) // side
        places = [(size * (i % side) + size // 2, size * (i // side) + size // 2) for i in range(middles)]
    else:
        size = (top + 1) // 4
        places = [tuple([size // 2 + stream.below(top + 1 - size) for _ in range(n)]) for _ in range(middles)]
    points = new_points(n, bits, count, bytes(8), [top] * n)
    left = count
    while left:
        here = min(left, points.per_block)
        block = array("H", bytes(2 * n * here))
        for at in range(here):
            place = places[stream.below(middles)]
            for j in range(n):
                four = stream.below(1 << 30)
                noise = (four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 22 & 255) - 510
                block[at * n + j] = max(0, min(top, place[j] + noise * size // 1024))
        points.blocks.append((block, here))  # type: ignore[union-attr]
        left -= here
    return points


def spoil_points(points: "Points", kind: str) -> None:
    """Make all points equal, or only their first coordinates."""
    n = points.n
    first = points.blocks[0][0]
    for block, count in points.blocks:
        for at in range(count):
            for j in range(n):
                if kind == "equal" or (kind == "line" and j == 0):
                    block[at * n + j] = first[j]


def start(points: "Points", k: int) -> "list[int]":
    """K of the points, evenly spread over their order: another seed in another case."""
    centres = []
    for index in range(k):
        at = index * points.count // k
        block, _ = points.blocks[at // points.per_block]
        at = at % points.per_block * points.n
        centres += list(block[at : at + points.n])
    return centres


def way_of(points: "Points", k: int, steps: int) -> "tuple[Any, str]":
    """The centres before each of so many Lloyd steps, and the digest of what all the steps add."""
    digest = sha256()
    way = []
    centres = start(points, k)
    for _ in range(steps):
        way.append(array("H", centres))
        sums, ssd = lloyd.assign(points, centres, k)
        digest.update(repr((sums, ssd)).encode())
        centres = lloyd.update_centres(sums, k, points.n, centres)
    return way, hexlify(digest.digest()).decode()


class Runner:
    """One of those that take turns. `times`: µs of each round, over the whole way; `least`: the least µs of each step
    in any round.

    `name`: "naive", "bytecode", "node" (all of a node's step), or a module and, after a space, "plain" (nothing is
    pruned), "labels" or "useless labels".
    """

    def __init__(self, name: str, points: "Points", k: int, slow_points: int) -> None:
        self.name, self.points, self.k = name, points, k
        self.times: list[float] = []
        self.least: list[float] = []
        self.prepare: Any = None
        self.where: Any = None
        self.blocks: Any = points.blocks
        self.share = 1.0
        module = name.split(" ")[0]
        if module == "node":
            plan: Any = points.plan  # `way_of` has made it
            self.where = plan[3]
            return
        if module in ("naive", "bytecode"):
            # Each point costs these the same, and they are slow: some of the points stand for all.
            block, count = points.blocks[0]
            some = min(count, slow_points)
            self.share = points.count / some
            self.blocks = [(rows(block[: some * points.n], points.n) if module == "naive" else block, some)]
            self.run: Any = kernel.accumulate_2d if points.n == 2 else kernel.accumulate
            return
        code = getattr(__import__("dcka_core." + module), module)
        self.run = code.accumulate
        if module == "kernel_viper_bare":
            return
        self.prepare = code.prepare
        self.where = kernels.where_for(module, points, k, "labels" in name)
        if name.endswith(" plain"):
            self.where[3] = 0  # without separations nothing ends early

    def go(self, way: "Any", sums: "Any", zeros: "Any", digest: "Any" = None) -> float:
        """All steps of the way; the µs that they took. `digest` is told what each step adds."""
        n, k = self.points.n, self.k
        size = k * (n + 1)
        if self.where and self.where[2]:
            self.where[2] = 1  # the first step knows no labels
        took: list[float] = []
        for centres in way:
            if self.where and self.where[2] == 2 and "useless" in self.name:
                self.spoil()
            sums[:] = zeros
            took.append(self.step(rows(centres, n) if self.name == "naive" else centres, sums) * self.share)
            if digest:
                digest.update(repr((list(sums[:size]), sums[size] + (sums[size + 1] << 16))).encode())
        self.least = [min(a, b) for a, b in zip(took, self.least or took)]
        return sum(took)

    def step(self, centres: "Any", sums: "Any") -> "Any":
        """One step; the µs that it took. Of itself it allocates nothing."""
        if self.name == "node":
            began = ticks_us()
            lloyd.assign(self.points, centres, self.k)
            return ticks_diff(ticks_us(), began)
        run = self.run
        where = self.where
        n = self.points.n
        if self.name == "naive":
            gc.collect()  # its own waste is its own time, that of others is not
            began = ticks_us()
            naive(self.blocks[0][0], centres)
            return ticks_diff(ticks_us(), began)
        began = ticks_us()
        table = centres
        if where:
            table = where
            self.prepare(centres, n, self.k, where)
        for block, count in self.blocks:
            run(block, count, n, table, self.k, sums)
        return ticks_diff(ticks_us(), began)

    def spoil(self) -> None:
        """Put labels into the table that say nothing."""
        word = 12345
        for at in range(len(self.where) - (self.points.count + 3) // 4, len(self.where)):
            word = (word * 75 + 74) % 65537
            low, high = word % self.k, (word >> 6) % self.k
            self.where[at] = low | high << 8 | low << 16 | min(high, 127) << 24

    def allocated(self, centres: "Any", sums: "Any") -> int:
        """The bytes that two steps leave on the heap."""
        gc.collect()
        gc.disable()
        before: int = gc.mem_alloc()  # type: ignore[attr-defined]
        self.step(centres, sums)
        self.step(centres, sums)
        after: int = gc.mem_alloc()  # type: ignore[attr-defined]
        gc.enable()
        return after - before


def median(values: "list[float]") -> float:
    """The middle one, or the lower of the two."""
    return sorted(values)[(len(values) - 1) // 2]


def compare(names: "list[str]", points: "Points", k: int, settings: "dict[str, int]") -> "Any":
    """(way, its digest, {name: us (a step), ratio, best_ratio (to the first's), bit_identical, alloc_bytes})."""
    way, digest = way_of(points, k, settings["steps"])
    words = k * (points.n + 1) + 2
    sums, zeros = memoryview(array("i", bytes(4 * words))), memoryview(array("i", bytes(4 * words)))
    runners = [Runner(name, points, k, settings["slow_points"]) for name in names]
    found: dict[str, Any] = {}
    for runner in runners:
        row: dict[str, Any] = {}
        found[runner.name] = row
        if runner.name.startswith("kernel_"):
            own = sha256()
            runner.go(way, sums, zeros, own)
            row["bit_identical"] = hexlify(own.digest()).decode() == digest
            row["alloc_bytes"] = runner.allocated(way[-1], sums)
    for turn in range(settings["rounds"]):
        for runner in runners:
            runner.times.append(runner.go(way, sums, zeros))
        print("round", turn + 1)
    first = runners[0].times
    for runner in runners:
        found[runner.name]["us"] = median(runner.times) / len(way)
        # Round by round, as the machine is slower in one than in another.
        found[runner.name]["ratio"] = median([mine / its for mine, its in zip(runner.times, first)])
        found[runner.name]["best_us"] = sum(runner.least) / len(way)
        found[runner.name]["best_ratio"] = sum(runner.least) / sum(runners[0].least)
    return way, digest, found


def kernels_for(n: int, k: int, count: int) -> "list[str]":
    """The names of the kernels in machine code for a case, an unpruned one first."""
    unrolled = "kernel_viper_%d" % n if 2 <= n <= 8 or n == 16 else "kernel_viper"
    names = [unrolled + " plain"] + [unrolled]
    if n <= 3:
        names.append("kernel_viper_sorted_%d" % n)
    if k <= 256 and count <= 8192:
        names += [name + " labels" for name in names[1:]]
    return names


def case(settings: "dict[str, int]") -> "dict[str, Any]":
    """One case: the naive step, the bytecode, every kernel, and the one that the node chooses."""
    n, k, count = settings["n"], settings["k"], settings["points"]
    points = made_points(n, settings["bits"], count, settings["middles"], settings["seed"])
    names = kernels_for(n, k, count)
    if "kernel_viper" not in names:
        names.append("kernel_viper")
    names.append("kernel_viper_bare")
    _, digest, found = compare(["naive", "bytecode", "node"] + names, points, k, settings)
    plan: Any = points.plan
    return {
        "digest": digest,
        "kernels": found,
        "chosen": plan[4] + (" labels" if plan[2] and plan[3][2] else ""),
    }


def adversity(settings: "dict[str, int]", kind: str) -> "Any":
    """Where pruning finds nothing: the kernels' rows as in `compare`, the unpruned one first."""
    n, k, count = settings["n"], settings["k"], settings["points"]
    if kind == "k_is_m":
        k = count = 250
    points = made_points(n, settings["bits"], count, settings["middles"], settings["seed"])
    names = kernels_for(n, k, count)
    if kind == "useless_labels":
        names = names[:1] + [name[:-6] + "useless labels" for name in names if name.endswith(" labels")]
    else:
        spoil_points(points, kind)
    return compare(names, points, k, settings)[2]
