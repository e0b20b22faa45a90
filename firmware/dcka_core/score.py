"""A score: what is needed to judge a clustering's K, in one step over the tree (protocol, section 5, "Score")."""

from array import array

from dcka_core import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.messages import Commit
    from dcka_core.points import Points


class Session(tree.Session):
    """A node in a score: no centre moves, and the root commits what the readings and the centres add up to."""

    of_points = False

    def measure(self, centres: "list[int]") -> "tuple[list[int], int]":
        """Rows of (m, u_1 ... u_n) of each cluster, one of (all readings, their silhouettes), zeros; and the SSD."""
        run = self.run
        totals = tally(self.points, run.scored, len(run.scored) // run.n)
        low, high, silhouettes = totals[-3:]
        rows = totals[:-3] + [self.points.count, silhouettes]
        return rows + [0] * (run.rows - len(rows)), low + (high << 16)

    def moment(self, sums: "list[int]") -> int:
        """Squares are the SSD here: nothing of it changes from step to step."""
        return 0

    def decide(self, commit: "Commit", sums: "list[int]", previous: "list[int]") -> None:
        """The state: 1, the spread in five numbers of 16 bits, the silhouettes in four."""
        run = self.run
        commit.flags = 0
        whole = spread(sums, run.scored, run.n, commit.ssd)
        silhouettes = sums[len(run.scored) // run.n * (run.n + 1) + 1]
        commit.centres = state = list(previous)
        state[0] = 1
        for place in range(1, 6):
            state[place] = whole >> (16 * place - 16) & 0xFFFF
        for place in range(6, 10):
            state[place] = silhouettes >> (16 * place - 96) & 0xFFFF

    def result(self) -> "dict[str, Any]":
        """With the indices that follow from the commit."""
        report = super().result()
        report.update(self.load("indices").indices(self.run, self.held))
        return report


def tally(points: "Points", centres: "list[int]", k: int) -> "list[int]":
    """K rows of (m, u_1 ... u_n), the SSD's low halves and high halves, and the silhouettes of a node's points.

    centres: K·n integers on the points' grid.
    """
    kernel = _kernel()
    flat = array("H", centres)
    sums = array("i", bytes(4 * (k * (points.n + 1) + 3)))
    totals = [0] * len(sums)
    for block, count in points.blocks:
        kernel(block, count, points.n, flat, k, sums)
        # Within a block nothing leaves 31 bits: at most 4,096 points, of which each adds up to 2^16.
        for index in range(len(sums)):
            totals[index] += sums[index]
            sums[index] = 0
    return totals


def spread(sums: "list[int]", centres: "list[int]", n: int, ssd: int) -> int:
    """⌊Σ‖y − ȳ‖²⌋ over all points, from the sums by cluster and the SSD to the centres; 0 without points.

    Σ‖y‖² = SSD + Σ c·(2u − m·c), and Σ‖y − ȳ‖² = Σ‖y‖² − ‖Σy‖² / M.
    """
    moment = ssd
    total = square = 0
    for row in range(0, len(centres) // n * (n + 1), n + 1):
        total += sums[row]
        for j in range(n):
            centre = centres[row // (n + 1) * n + j]
            moment += centre * (2 * sums[row + 1 + j] - sums[row] * centre)
    for j in range(n):
        column = sum([sums[row + 1 + j] for row in range(0, len(centres) // n * (n + 1), n + 1)])
        square += column * column
    return (moment * total - square) // total if total else 0


def _kernel() -> "Callable[..., object]":
    try:
        from dcka_core.score_viper import score

        return score
    except (ImportError, ValueError, SyntaxError):
        # No emitter for this machine: ImportError on CPython.
        from dcka_core import score_plain

        return score_plain.score
