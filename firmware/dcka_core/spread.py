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
                # Floors can lift the ratio of tiny masses above the grid; what is sent has to be a level.
                level = min(mass[row + 1 + j] * _SCALE // below, _MAX_LEVEL) if below else -1
                self.low[cluster * n + j] = level
                self.high[cluster * n + j] = level

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

    def put(self, out: bytearray, current: bool) -> None:
        """Append the window's part of a type 3 message; one that knows nothing, where the window is not `current`."""
        put_set(out, self.ready if current else 0)
        put_set(out, self.lacking if current else 0)
        out.append(1 if self.moved and current else 0)
        for index in range(len(self.low)):
            low = self.low[index] if current else -1
            put_varint(out, low + 1)
            if low >= 0:
                put_varint(out, self.high[index] - low)

    def read(self, reader: Reader, merge: bool) -> None:
        """Read the window's part of a message, and take in what the neighbour knows where `merge` is set.

        Read it without first: what is malformed must not be taken in half.
        """
        ready = reader.set(self._size)
        lacking = reader.set(self._k)
        moved = reader.byte()
        if moved > 1:
            raise MessageError("value")
        if merge:
            self.ready |= ready
            self.lacking |= lacking
            self.moved = self.moved or moved == 1
        for index in range(len(self.low)):
            low = reader.varint(_MAX_LEVEL + 1) - 1
            if low < 0:
                continue
            high = low + reader.varint(_MAX_LEVEL)
            if merge:
                if self.low[index] < 0 or low < self.low[index]:
                    self.low[index] = low
                if high > self.high[index]:
                    self.high[index] = high
