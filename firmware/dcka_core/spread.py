"""What a window of `gossip` floods: the lowest and highest ratio of every coordinate, who is ready, who has moved.

The ratios x¹ / x² of all nodes lie between `low` and `high` once every node's have come; mixing mass never widens
that interval, and the sought Σu / Σm lies in it. So high - low bounds every node's error, also in the slots after the
window.
"""

from dcka_core.codec import Reader, put_set, put_varint
from dcka_core.errors import MessageError

_SCALE = 256
_MAX_LEVEL = _SCALE << 15


class Spread:
    """One window's knowledge at one node.

    low, high: K·n integers in 1/256 of a grid step, low -1 where no node that was heard has mass.
    ready: bit mask of nodes; lacking: bit mask of the clusters of which some node has no mass; moved: of any node.
    """

    def __init__(self, k: int, n: int, size: int) -> None:
        self._k = k
        self._n = n
        self._size = size
        self.low = [-1] * (k * n)
        self.high = [-1] * (k * n)
        self.ready = 0
        self.lacking = 0
        self.moved = False

    def begin(self, mass: "list[int]", ready: int, moved: bool) -> None:
        """Open a window with the node's own mass: K rows of (x², x¹_1 ... x¹_n)."""
        n = self._n
        self.ready = ready
        self.moved = moved
        self.lacking = 0
        for cluster in range(self._k):
            row = cluster * (n + 1)
            below = mass[row]
            if not below:
                self.lacking |= 1 << cluster
            for j in range(n):
                level = mass[row + 1 + j] * _SCALE // below if below else -1
                self.low[cluster * n + j] = level
                self.high[cluster * n + j] = level

    def merge(self, other: "Spread") -> None:
        """Take in what a neighbour knows of the same window."""
        self.ready |= other.ready
        self.lacking |= other.lacking
        self.moved = self.moved or other.moved
        for index in range(len(self.low)):
            level = other.low[index]
            if level < 0:
                continue
            if self.low[index] < 0 or level < self.low[index]:
                self.low[index] = level
            if other.high[index] > self.high[index]:
                self.high[index] = other.high[index]

    def settled(self, tolerance: int) -> bool:
        """Whether all are ready and agree to within `tolerance`, and no cluster has mass only at some."""
        if self.ready != (1 << self._size) - 1:
            return False
        for index in range(len(self.low)):
            if self.high[index] - self.low[index] > tolerance:
                return False
            if self.low[index] >= 0 and self.lacking >> (index // self._n) & 1:
                return False
        return True

    def put(self, out: bytearray) -> None:
        """Append the window's part of a type 3 message."""
        put_set(out, self.ready)
        put_set(out, self.lacking)
        out.append(1 if self.moved else 0)
        for index in range(len(self.low)):
            put_varint(out, self.low[index] + 1)
            if self.low[index] >= 0:
                put_varint(out, self.high[index] - self.low[index])

    def read(self, reader: Reader) -> "Spread":
        """Fill this one from the window's part of a message."""
        self.ready = reader.set(self._size)
        self.lacking = reader.set(self._k)
        moved = reader.byte()
        if moved > 1:
            raise MessageError("value")
        self.moved = moved == 1
        for index in range(len(self.low)):
            level = reader.varint(_MAX_LEVEL) - 1
            self.low[index] = level
            self.high[index] = level + reader.varint(_MAX_LEVEL) if level >= 0 else -1
        return self
