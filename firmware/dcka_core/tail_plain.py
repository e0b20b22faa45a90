"""Squared distances of a block in plain Python: what the machine code has to equal, bit for bit."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array


def distances(
    block: "array[int]", count: int, n: int, centres: "array[int]", k: int, out: "array[int]"
) -> None:
    """Put the squared distance of each of `count` points to its nearest of K centres into `out`; below 2^31."""
    for point in range(count):
        at = point * n
        best = -1
        for cluster in range(k):
            distance = 0
            for j in range(n):
                difference = block[at + j] - centres[cluster * n + j]
                distance += difference * difference
            if distance < best or best < 0:
                best = distance
        out[point] = best
