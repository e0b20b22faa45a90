"""Sums, SSD and silhouettes of a block in plain Python: what the machine code has to equal, bit for bit."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array


def score(block: "array[int]", count: int, n: int, centres: "array[int]", k: int, sums: "array[int]") -> None:
    """Add `count` points to the rows of their nearest centres, the lowest index winning a tie; then their SSD in two
    halves, and the sum of their silhouettes: 2^15 − ⌊2^15·√(A / B)⌋, A the squared distance to the nearest centre, B
    to the next one; 0 where B is 0, or there is no other.
    """
    low = k * (n + 1)
    for at in range(0, count * n, n):
        best = second = -1
        nearest = 0
        for cluster in range(k):
            distance = 0
            for j in range(n):
                difference = block[at + j] - centres[cluster * n + j]
                distance += difference * difference
            if distance < best or best < 0:
                second = best
                best = distance
                nearest = cluster
            elif distance < second or second < 0:
                second = distance
        row = nearest * (n + 1)
        sums[row] += 1
        for j in range(n):
            sums[row + 1 + j] += block[at + j]
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        if second > 0:
            sums[low + 2] += 32768 - _root((best << 30) // second)


def _root(value: int) -> int:
    """The whole part of the square root of a number of 30 bits and a bit, digit by digit."""
    found = 0
    digit = 1 << 30
    while digit:
        if value >= found + digit:
            value -= found + digit
            found = (found >> 1) + digit
        else:
            found >>= 1
        digit >>= 2
    return found
