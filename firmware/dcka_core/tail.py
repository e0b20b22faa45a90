"""A tail: the squared distance that only an agreed part of all readings exceeds, over the tree (protocol, section 5,
"Tail").

As in a survey the root narrows a search, digit by digit; what is counted are distances to the nearest of the record's
centres. When the run has ended each node holds its own readings against what was found.
"""

from array import array
from json import dumps

from dcka_core import tree
from dcka_core.actions import PUBLISH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dcka_core.messages import Commit
    from dcka_core.points import Points
    from dcka_core.record import Run
    from dcka_core.tree_messages import Up

    # Squared distance, place in the node's data, and the point.
    Far = tuple[int, int, list[int]]

# Distances that are worked out at a time: 1 KB, whatever a block has.
_PIECE_POINTS = 256


class Session(tree.Session):
    """A node in a tail; when it has ended, what is far away here."""

    of_points = False

    def measure(self, centres: "list[int]") -> "tuple[list[int], int]":
        """How many of the node's distances are below each inner bound of what is still open."""
        run = self.run
        found = below(self.points, run, known(centres), shift_of(run, centres[2]))
        rows = [0] * run.rows
        for at in range(len(found)):
            row = at // run.n * (run.n + 1)
            rows[row] = self.points.count
            rows[row + 1 + at % run.n] = found[at]
        return rows, 0

    def moment(self, sums: "list[int]") -> int:
        """Counts have no squares."""
        return 0

    def decide(self, commit: "Commit", sums: "list[int]", previous: "list[int]") -> None:
        """The next digit of the distance."""
        run = self.run
        total = sums[0]
        rank = total - 1 - run.tail_ppm * total // 1000000
        digit = 0
        while total and digit < run.bins - 1 and counted(run, sums, digit) <= rank:
            digit += 1
        found = known(previous) + (digit << shift_of(run, previous[2]))
        commit.flags = 0
        commit.centres = state = list(previous)
        state[0], state[1], state[2] = found >> 16, found & 0xFFFF, previous[2] + 1

    # ---- what nobody says who keeps to the rules ----

    def doubt_sums(self, message: "Up", earlier: "Up | None") -> str:
        """Counts rise from bound to bound, up to the points of who is in; what stands for nothing is 0."""
        run = self.run
        sums = message.sums
        points = sums[0]
        place = 0 if self.epoch[0] else run.members.index(message.sender)
        if message.squares or not self._is_size(points, message.contributors, place, False):
            return "points"
        last = 0
        for at in range(run.k * run.n):
            count = counted(run, sums, at)
            if at < run.bins - 1:
                if sums[at // run.n * (run.n + 1)] != points or not last <= count <= points:
                    return "points"
                last = count
            elif count or (not at % run.n and sums[at // run.n * (run.n + 1)]):
                return "points"
        return "conflict" if earlier and earlier.sums[0] != points else ""

    def is_lawful(self, commit: "Commit") -> bool:
        """As many digits as steps, of a distance that the grid has; and the points of who is in, in rows that count."""
        run = self.run
        state = commit.centres
        points = commit.counts[0]
        counting = (run.bins + run.n - 2) // run.n
        open_bits = shift_of(run, commit.step - 1)
        return (
            open_bits >= 0
            and state[2] == commit.step
            and not max(state[3:], default=0)
            and not known(state) & (1 << open_bits) - 1
            and known(state) <= run.n * ((1 << run.data_bits) - 1) ** 2
            and commit.counts == [points] * counting + [0] * (run.k - counting)
            and not commit.ssd
            and commit.flags < 2
            and self._is_size(points, commit.contributors, 0, False)
            and super().is_lawful(commit)
        )

    # ---- when it has ended ----

    def _adopt(self, commit: "Commit", now: int) -> None:
        super()._adopt(commit, now)
        if self.done:
            # Here, where data that can't be read are expected, and not while the result is said.
            limit = known(commit.centres) if commit.counts[0] else 1 << 32
            self._beyond, self._farthest = beyond(self.points, self.run, limit)

    def result(self) -> "dict[str, Any]":
        """How many readings of its own are beyond; and where the record asks for it, before, the farthest of them."""
        run = self.run
        for distance, index, point in self._farthest:
            event = {"v": 1, "run": run.number, "node": self.node, "index": index, "distance": distance}
            event["point"] = point  # type: ignore[assignment]
            self.out.append((PUBLISH, "%sevent/%d" % (self.prefix, self.node), dumps(event), False))
        report = super().result()
        report["beyond"] = self._beyond
        report["threshold"] = known(self.held.centres)  # type: ignore[union-attr]
        return report


def known(state: "list[int]") -> int:
    """The distance as far as it is known; its open digits are 0."""
    return (state[0] << 16) + state[1]


def shift_of(run: "Run", made: int) -> int:
    """How many bits stand below the digit that step `made` seeks; negative where all are known."""
    digit = 1
    while 1 << digit < run.bins:
        digit += 1
    return 32 - (made + 1) * digit


def counted(run: "Run", sums: "list[int]", at: int) -> int:
    """The number `at` of the counts, which fill the `u` of the rows one after the other."""
    return sums[at // run.n * (run.n + 1) + 1 + at % run.n]


def below(points: "Points", run: "Run", base: int, shift: int) -> "list[int]":
    """How many distances are less than base + 2^shift, base + 2 * 2^shift ..., bins - 1 of them."""
    found = [0] * (run.bins - 1)
    limit = run.bins - 1 << shift
    for _, _, distances, count in pieces(points, run):
        for place in range(count):
            above = distances[place] - base
            if above < limit:
                found[above >> shift if above > 0 else 0] += 1
    for bound in range(1, len(found)):
        found[bound] += found[bound - 1]
    return found


def beyond(points: "Points", run: "Run", limit: int) -> "tuple[int, list[Far]]":
    """(how many distances are greater, the farthest of these: `reveal` at most, the first in the data of equals)."""
    total = 0
    farthest: list[Far] = []
    for first, block, distances, count in pieces(points, run):
        for place in range(count):
            distance = distances[place]
            if distance > limit:
                total += 1
                if len(farthest) < run.reveal or (farthest and distance > farthest[-1][0]):
                    start = place * run.n
                    put_in(
                        farthest, (distance, first + place, list(block[start : start + run.n])), run.reveal
                    )
    return total, farthest


def put_in(farthest: "list[Far]", far: "Far", most: int) -> None:
    """Into its place among the greatest, behind its equals."""
    at = len(farthest)
    while at and farthest[at - 1][0] < far[0]:
        at -= 1
    farthest.insert(at, far)
    del farthest[most:]


def pieces(points: "Points", run: "Run") -> "Iterator[tuple[int, Any, array[int], int]]":
    """(place of its first in the data, the points, their squared distances, how many) of each piece of the data."""
    n = run.n
    flat = array("H", run.scored)
    kernel = _kernel()
    out = array("i", bytes(4 * _PIECE_POINTS))
    done = 0
    for block, count in points.blocks:
        whole = memoryview(block)
        for first in range(0, count, _PIECE_POINTS):
            here = min(_PIECE_POINTS, count - first)
            piece = whole[first * n : (first + here) * n]
            kernel(piece, here, n, flat, len(flat) // n, out)
            yield done + first, piece, out, here
        done += count


def _kernel() -> "Callable[..., object]":
    try:
        from dcka_core.tail_viper import distances

        return distances
    except (ImportError, ValueError, SyntaxError):
        # No emitter for this machine: ImportError on CPython.
        from dcka_core import tail_plain

        return tail_plain.distances
