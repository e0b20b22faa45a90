"""One K-means step on a node's own points, and the update of the centres: exact, in whole numbers."""

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dcka_core.points import Points

    Kernel = Callable[[array[int], int, int, array[int], int, array[int]], object]
    Prepare = Callable[[array[int], int, int, array[int]], object]
    Plan = tuple[int, Kernel, Prepare | None, array[int] | None, str]

# Points in the 32-bit accumulator between two flushes: sums of 15 bits stay below 2^30, the SSD's low halves below
# 2^31.
_FLUSH_POINTS = 32000


def fitted(points: "Points", centres: "list[int]", k: int) -> "tuple[Kernel, array[int]]":
    """The kernel for these points and K, and its form of the centres. What `points.kernel` is given stays."""
    flat = array("H", centres)
    if points.kernel:
        return points.kernel, flat
    plan = points.plan
    if plan is None or plan[0] != k:
        points.plan = None  # first: the heap has no room for two
        from dcka_core import kernels

        plan = points.plan = kernels.plan(points, k)
    _, kernel, prepare, where, _ = plan
    if prepare is None or where is None:
        return kernel, flat
    prepare(flat, points.n, k, where)
    return kernel, where


def assign(points: "Points", centres: "list[int]", k: int) -> "tuple[list[int], int]":
    """Assign every point to its nearest centre; the lowest index wins a tie.

    centres: K·n integers on the points' grid. Returns K rows of (m, u_1 ... u_n) as one list, and the SSD
    that belongs to these centres. A node without points gets zeros.
    """
    n = points.n
    kernel, where = fitted(points, centres, k)
    rows = k * (n + 1)
    sums = array("i", bytes(4 * (rows + 2)))
    totals = [0] * rows
    ssd = pending = 0
    for block, count in points.blocks:
        if pending + count > _FLUSH_POINTS:
            ssd += _flush(sums, totals, rows)
            pending = 0
        kernel(block, count, n, where, k, sums)
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


def update_centres(sums: "list[int]", k: int, n: int, previous: "list[int]") -> "list[int]":
    """Centres from sums: means rounded half up, the exact minimiser on the grid, so that the SSD never rises.

    sums: K rows of (m, u_1 ... u_n). previous: K·n integers, kept where a cluster is empty.
    """
    centres = []
    for cluster in range(k):
        row = cluster * (n + 1)
        count = sums[row]
        for j in range(n):
            total = sums[row + 1 + j]
            centres.append((2 * total + count) // (2 * count) if count else previous[cluster * n + j])
    return centres
