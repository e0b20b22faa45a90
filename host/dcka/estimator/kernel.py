"""The kernel of a K-means step for large blocks: the bits of `dcka_core.kernel`, by products of matrices in float64.

Exact, since all that occurs is whole and far below 2^53: of a point y and a centre c, ‖c‖² − 2·y·c decides which is
nearest, and n·(2^b − 1)² < 2^31 (docs/protocol.md, section 1). In whatever order a product is added up, with or without
fused operations, the sum is the same.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CELLS = 1 << 15
"""Distances that are worked on at once, 8 bytes each: they stay in a core's cache."""
_FEWEST = 256
"""Points at once, at least: for fewer, numpy's calls take longer than its work."""


class Kernel:
    """`accumulate(block, count, n, centres, k, sums)` of the core, for the blocks of one node: each is made into
    columns of float64 when it is first seen, which takes 8·(n + 2) bytes a point."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Floats, Floats]] = {}

    def __call__(
        self, block: "array[int]", count: int, n: int, centres: "array[int]", k: int, sums: "array[int]"
    ) -> None:
        """Add `count` points of `block` to the rows of their nearest centres; the lowest index wins a tie.

        block, centres: array('H') of points and of K·n numbers. sums: array('i') of K rows of (m, u_1 … u_n), then the
        sums of the SSD's low 16 bits and of its high bits; added to in place, and its 31 bits are the caller's care.
        """
        columns, squares = self._columns(block, n)
        places = np.frombuffer(centres, np.uint16, k * n).reshape(k, n).astype(np.float64)
        halved = np.column_stack([-2.0 * places, np.square(places).sum(axis=1)])
        totals = np.frombuffer(sums, np.int32)
        rows = totals[: k * (n + 1)].reshape(k, n + 1)
        step = max(_FEWEST, _CELLS // k)
        for begin in range(0, count, step):
            part = slice(begin, min(count, begin + step))
            distances = halved @ columns[:, part]
            least = distances.min(axis=0)
            nearest = (distances == least).argmax(axis=0)  # the first of equals
            rows[:, 0] += np.bincount(nearest, minlength=k).astype(np.int32)
            for j in range(n):
                rows[:, 1 + j] += np.bincount(nearest, columns[j, part], k).astype(np.int32)
            best = (least + squares[part]).astype(np.int64)
            totals[-2] += (best & 0xFFFF).sum(dtype=np.int32)
            totals[-1] += (best >> 16).sum(dtype=np.int32)

    def _columns(self, block: "array[int]", n: int) -> tuple[Floats, Floats]:
        """(n + 1, m): a row a dimension, and one of ones; and (m,), the squares of each point."""
        known = self._known.get(id(block))
        if known is None:
            points = np.frombuffer(block, np.uint16).reshape(-1, n)
            columns = np.ones((n + 1, len(points)))
            columns[:n] = points.T
            known = self._known[id(block)] = columns, np.square(columns[:n]).sum(axis=0)
        return known
