"""One K-means step on a node's own points: sums, counts and SSD of its clusters, exact."""

from array import array

from dcka_core import kernel
from dcka_core.kernel import FLUSH_POINTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.points import Points

# What a kernel module can fail with at import, where it is not for this machine: see kernel_viper.
_NO_EMITTER = (ImportError, ValueError, SyntaxError)

try:
    from dcka_core import kernel_viper as fast

    KERNEL = "viper"
except _NO_EMITTER:
    fast = kernel  # type: ignore[misc]
    KERNEL = "plain"


def assign(points: "Points", centres: "list[int]", k: int) -> "tuple[list[int], int]":
    """Assign every point to its nearest centre.

    centres: K·n integers on the points' grid. Returns K rows of (m, u_1 ... u_n) as one list, and the SSD
    that belongs to these centres. A node without points gets zeros.
    """
    n = points.n
    run = fast.accumulate_2d if n == 2 else fast.accumulate
    where = array("H", centres)
    rows = k * (n + 1)
    sums = array("i", bytes(4 * (rows + 2)))
    totals = [0] * rows
    ssd = pending = 0
    for block, count in points.blocks:
        if pending + count > FLUSH_POINTS:
            ssd += _flush(sums, totals, rows)
            pending = 0
        run(block, count, n, where, k, sums)
        pending += count
    return totals, ssd + _flush(sums, totals, rows)


def _flush(sums: "array[int]", totals: "list[int]", rows: int) -> int:
    """Move the accumulator into `totals`, before it leaves 31 bits; returns its SSD."""
    for index in range(rows):
        totals[index] += sums[index]
        sums[index] = 0
    ssd = sums[rows] + (sums[rows + 1] << 16)
    sums[rows] = sums[rows + 1] = 0
    return ssd
