"""The hot loop of a K-means step in plain Python: what every other kernel has to equal, bit for bit.

A kernel adds one block to an accumulator: array('i') of K rows of (m, u_1 ... u_n), then the SSD in two halves,
its low 16 bits' sum and its high bits' sum, so that nothing leaves 31 bits while at most lloyd are in it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array


def accumulate(
    block: "array[int]", count: int, n: int, centres: "array[int]", k: int, sums: "array[int]"
) -> None:
    """Add `count` points of `block` to the rows of their nearest centres; the lowest index wins a tie."""
    low = k * (n + 1)
    at = 0
    for _ in range(count):
        best = -1
        nearest = 0
        centre = 0
        for cluster in range(k):
            distance = 0
            for j in range(n):
                difference = block[at + j] - centres[centre + j]
                distance += difference * difference
            centre += n
            if distance < best or best < 0:
                best = distance
                nearest = cluster
        row = nearest * (n + 1)
        sums[row] += 1
        for j in range(n):
            sums[row + 1 + j] += block[at + j]
        at += n
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16


def accumulate_2d(
    block: "array[int]", count: int, n: int, centres: "array[int]", k: int, sums: "array[int]"
) -> None:
    """`accumulate` for n = 2, without the inner loop."""
    low = k * 3
    for at in range(0, 2 * count, 2):
        x = block[at]
        y = block[at + 1]
        best = -1
        nearest = 0
        centre = 0
        for cluster in range(k):
            dx = x - centres[centre]
            dy = y - centres[centre + 1]
            centre += 2
            distance = dx * dx + dy * dy
            if distance < best or best < 0:
                best = distance
                nearest = cluster
        row = nearest * 3
        sums[row] += 1
        sums[row + 1] += x
        sums[row + 2] += y
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
