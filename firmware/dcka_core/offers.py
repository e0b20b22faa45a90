"""A node's offer in a round of k-means++: a point of its own, drawn by D², and a random key (docs/starts.md)."""

from array import array

from dcka_core.starts import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.lloyd import Kernel
    from dcka_core.points import Points

    # E, T, and the n coordinates of the point.
    Offer = tuple[int, int, list[int]]

_E_BITS = 40
# Where the mantissa's leading bit stands.
_MANTISSA = 62
MOST_E = 33 << _E_BITS


def exponential(word: int) -> int:
    """-log2((2w + 1) / 2^33) with 40 binary digits: an exponential number, from a random word of 32 bits.

    The digits of the logarithm come one by one: the mantissa is squared, and where that doubles it, the digit is 1.
    """
    value = 2 * word + 1
    logarithm = 0
    while value >> logarithm + 1:
        logarithm += 1
    mantissa = value << (_MANTISSA - logarithm)
    for _ in range(_E_BITS):
        mantissa = mantissa * mantissa >> _MANTISSA
        bit = mantissa >> (_MANTISSA + 1)
        mantissa >>= bit
        logarithm = 2 * logarithm + bit
    return MOST_E - logarithm


def wide_below(stream: Stream, bound: int) -> int:
    """0 ... bound - 1, each as likely as the others, of two words; for bounds up to 2^63."""
    limit = (1 << 64) - (1 << 64) % bound
    while True:
        pair = stream.word() << 32
        pair |= stream.word()
        if pair < limit:
            return pair % bound


def make_offer(points: "Points", centres: "list[int]", drawn: int, seed: int, node: int) -> "Offer | None":
    """The node's offer once `drawn` centres, n integers each, are there; None where all of its weights are 0.

    A weight is 1 in round 0, then the squared distance to the nearest centre: the SSD of the point alone. So the
    kernels of a K-means step sum weights, and halving a block finds the point: a file is read once a round.
    """
    n = points.n
    weights = None
    total = points.count
    if drawn:
        weights = _Weights(points, array("H", centres[: drawn * n]), drawn)
        total = weights.total
    if not total:
        return None
    stream = Stream(seed, b"plus" + node.to_bytes(4, "little") + drawn.to_bytes(4, "little"))
    e = exponential(stream.word())
    target = wide_below(stream, total)
    if weights:
        block, at = weights.find(target)
    else:
        block = points.blocks[target // points.per_block][0]
        at = target % points.per_block
    return e, total, [block[at * n + j] for j in range(n)]


class _Weights:
    """What the points of a node weigh, block by block. total: all of them."""

    def __init__(self, points: "Points", centres: "array[int]", drawn: int) -> None:
        self._points = points
        self._centres = centres
        self._drawn = drawn
        self._kernel = points.kernel or _kernel(points)
        self._blocks = array("Q", bytes(8 * len(points.blocks)))
        self.total = 0
        for number, (block, count) in enumerate(points.blocks):
            self._blocks[number] = weight = self._weigh(block, count)
            self.total += weight

    def _weigh(self, block: "array[int]", count: int) -> int:
        """What the first `count` points of a block weigh."""
        rows = self._drawn * (self._points.n + 1)
        sums = array("i", bytes(4 * (rows + 2)))
        self._kernel(block, count, self._points.n, self._centres, self._drawn, sums)
        return sums[rows] + (sums[rows + 1] << 16)

    def find(self, target: int) -> "tuple[array[int], int]":
        """(block, place in it) of the first point at which the running sum of the weights exceeds `target`."""
        number = 0
        while target >= self._blocks[number]:
            target -= self._blocks[number]
            number += 1
        block, high = self._points.blocks[number]
        low = 0
        while high - low > 1:
            middle = (low + high) >> 1
            if self._weigh(block, middle) > target:
                high = middle
            else:
                low = middle
        return block, low


def _kernel(points: "Points") -> "Kernel":
    """One that needs no table; what an earlier run's has taken of the heap is given back first."""
    points.plan = None
    from dcka_core import kernels

    return kernels.bare(points)
