"""`partition`: the first sums of a node go by random labels, before anybody has centres (docs/starts.md)."""

from dcka_core.starts import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.points import Points


def sums_by_labels(points: "Points", k: int, seed: int, node: int) -> "list[int]":
    """K rows of (m, u_1 ... u_n) as one list: point j counts for the cluster that its stream says."""
    n = points.n
    stream = Stream(seed, b"partition" + node.to_bytes(4, "little"))
    sums = [0] * (k * (n + 1))
    for block, count in points.blocks:
        for at in range(0, count * n, n):
            row = stream.below(k) * (n + 1)
            sums[row] += 1
            for j in range(n):
                sums[row + 1 + j] += block[at + j]
    return sums
