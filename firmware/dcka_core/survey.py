"""A survey: how the nodes agree on the range of their readings, over the tree (protocol, section 5, "Survey").

A running survey has no need of the grid that it leads to: `survey_grid` takes its place when it has ended.
"""

from dcka_core import tree
from dcka_core.actions import MAKE
from dcka_core.survey_state import SIGMA_ROW, STEPS_ROW, ZERO, ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from dcka_core.messages import Commit
    from dcka_core.record import Run

    Blocks = Iterable[tuple[Any, int]]

# Levels of the grid that deviations are reckoned on, and the bits of its squares that one row takes.
_LEVELS = 4095
_SQUARE_BITS = 12


class Session(tree.Session):
    """A node in a survey; its points are readings."""

    of_points = False

    def measure(self, centres: "list[int]") -> "tuple[list[int], int]":
        """Counts of the node's readings, or, in the last step of `std`, sums and squares."""
        run = self.run
        points = self.points
        shift = shift_of(run, centres[STEPS_ROW * run.n])
        lower = ends(centres, run.n)
        if shift < 0:
            rows = squares(points.blocks, run.n, lower)
        else:
            rows = counts(points.blocks, run.n, lower, shift, run.bins - 1)
        for row in range(0, len(rows), run.n + 1):
            rows[row] = points.count
        return rows + [0] * (run.rows - len(rows)), 0

    def moment(self, sums: "list[int]") -> int:
        """Counts have no squares."""
        return 0

    def decide(self, commit: "Commit", sums: "list[int]", previous: "list[int]") -> None:
        """The next digit of every end, or the deviations."""
        run = self.run
        n = run.n
        made = previous[STEPS_ROW * n]
        shift = shift_of(run, made)
        commit.flags = 0
        commit.centres = centres = list(previous)
        centres[STEPS_ROW * n] = made + 1
        if shift < 0:
            put_numbers(centres, n, SIGMA_ROW, deviations(sums, n))
            return
        found = narrowed(sums, n, ends(previous, n), shift, run.bins - 1, run.tail_ppm)
        put_numbers(centres, n, 0, [end + ZERO for end in found[:n]])
        put_numbers(centres, n, 2, [end + ZERO for end in found[n:]])

    def make_points(self, made: "str | None") -> None:
        """Ask for the points on the grid that the final commit leads to, unless they are `made`, a dataset id in hex.

        Once made, those of a later injection stay. Nothing is counted any more, so the readings are handed on.
        """
        if self.held is None:
            raise ValueError("a survey without a commit has no grid")
        grid = self.load("survey_grid").grid_of(self.run, self.held.centres)
        if made != grid.dataset(self.run.dataset).hex():
            self.out.append((MAKE, grid, self.points))
        self.points = None  # type: ignore[assignment]


def shift_of(run: "Run", made: int) -> int:
    """How many bits stand below the digit that step `made` seeks; negative where all are known."""
    digit = 1
    while 1 << digit < run.bins:
        digit += 1
    return 32 - (made + 1) * digit


def put_numbers(centres: "list[int]", n: int, row: int, numbers: "list[int]") -> None:
    """Write n numbers of 32 bits into two rows of a state."""
    for j in range(n):
        centres[row * n + j] = numbers[j] >> 16
        centres[row * n + n + j] = numbers[j] & 0xFFFF


def counts(blocks: "Blocks", n: int, lower: "list[int]", shift: int, bounds: int) -> "list[int]":
    """2 * bounds rows of (0, u_1 ... u_n): readings below each inner bound of the interval above each lower end.

    lower: n of low, n of high. bounds: how many an interval has, which are 2^shift apart.
    """
    width = n + 1
    rows = [0] * (2 * bounds * width)
    for block, count in blocks:
        for j in range(n):
            for end in (j, n + j):
                if end == j or lower[end] != lower[j]:
                    found = below(block, range(j, count * n, n), lower[end], shift, bounds)
                # Else both ends are still the same, and so are their counts.
                place = end // n * bounds * width + 1 + j
                for one in found:
                    rows[place] += one
                    place += width
    return rows


def below(block: "Any", places: "Iterable[int]", base: int, shift: int, bounds: int) -> "list[int]":
    """How many of the readings at `places` are less than base + 2^shift, base + 2 * 2^shift ..., `bounds` of them."""
    found = [0] * bounds
    limit = bounds << shift
    for place in places:
        above = block[place] - base
        if above < limit:
            found[above >> shift if above > 0 else 0] += 1
    for bound in range(1, bounds):
        found[bound] += found[bound - 1]
    return found


def narrowed(
    sums: "list[int]", n: int, lower: "list[int]", shift: int, bounds: int, tail_ppm: int
) -> "list[int]":
    """The lower ends with their next digit: as many as there are bounds with no more readings below than the rank."""
    width = n + 1
    total = sums[0]
    tail = tail_ppm * total // 1000000
    found = []
    for end in range(2 * n):
        rank = tail if end < n else total - 1 - tail
        place = end // n * bounds * width + 1 + end % n
        digit = 0
        while total and digit < bounds and sums[place] <= rank:
            digit += 1
            place += width
        found.append(lower[end] + (digit << shift))
    return found


def squares(blocks: "Blocks", n: int, range_ends: "list[int]") -> "list[int]":
    """Three rows of (0, u_1 ... u_n): the sums of q, of the lower 12 bits of its square and of those above."""
    width = n + 1
    rows = [0] * (3 * width)
    for block, count in blocks:
        for j in range(n):
            low = range_ends[j]
            extent = range_ends[n + j] - low
            total = small = large = 0
            for place in range(j, count * n, n):
                level = level_of(block[place] - low, extent, _LEVELS)
                total += level
                level *= level
                small += level & _LEVELS
                large += level >> _SQUARE_BITS
            rows[1 + j] += total
            rows[width + 1 + j] += small
            rows[2 * width + 1 + j] += large
    return rows


def level_of(above: int, extent: int, levels: int) -> int:
    """Where a reading so far above the lower end stands on a grid of 0 ... levels, clipped."""
    if above <= 0 or not extent:
        return 0
    return levels if above >= extent else (2 * above * levels + extent) // (2 * extent)


def deviations(sums: "list[int]", n: int) -> "list[int]":
    """Each dimension's standard deviation as a part of its range, in units of 2^-32; 0 without readings."""
    width = n + 1
    total = sums[0]
    found = []
    for j in range(1, width):
        square = sums[width + j] + (sums[2 * width + j] << _SQUARE_BITS)
        spread = total * square - sums[j] * sums[j]
        found.append(root(spread << 64) // (_LEVELS * total) if total else 0)
    return found


def root(value: int) -> int:
    """The whole part of the square root, by Newton's method from above."""
    if value < 2:
        return value
    guess = 1
    while guess * guess <= value:
        guess <<= 1
    while True:
        better = (guess + value // guess) >> 1
        if better >= guess:
            return guess
        guess = better
