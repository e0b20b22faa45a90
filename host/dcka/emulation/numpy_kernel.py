"""The kernel of a K-means step with numpy: the bits of `dcka_core.kernel`, for CPython alone."""

from array import array

import numpy as np

from dcka_core import kernel

# Numbers in an intermediate array, 4 bytes each, so that two of these stay in a core's cache. (With 2^20, 20,000 points
# of n = 10, K = 9 in blocks of 16,384 took one and a half times as long; a board's blocks are smaller than either.)
_CELLS = 1 << 17
# Differences of coordinates, up to which the plain kernel has done before numpy has begun.
_FEW = 200


def accumulate(
    block: "array[int]", count: int, n: int, centres: "array[int]", k: int, sums: "array[int]"
) -> None:
    """Add `count` points of `block` to the rows of their nearest centres; the lowest index wins a tie.

    block, centres: array('H') of points and of K·n numbers. sums: array('i') of K rows of (m, u_1 … u_n), then the
    sums of the SSD's low 16 bits and of its high bits; it is added to in place, and its 31 bits are the caller's care.
    """
    if count * n * k <= _FEW:
        (kernel.accumulate_2d if n == 2 else kernel.accumulate)(block, count, n, centres, k, sums)
        return
    points = np.frombuffer(block, np.uint16, count * n).reshape(count, n).astype(np.int32)
    places = np.frombuffer(centres, np.uint16, k * n).reshape(k, n).astype(np.int32)
    totals = np.frombuffer(sums, np.int32)
    rows = totals[: k * (n + 1)].reshape(k, n + 1)
    step = max(1, _CELLS // k)
    for start in range(0, count, step):
        piece = points[start : start + step]
        distances = np.zeros((len(piece), k), np.int32)  # n·(2^b − 1)² < 2^31: protocol, section 1
        difference = np.empty_like(distances)
        for j in range(n):
            np.subtract(piece[:, j, None], places[:, j], out=difference)
            np.multiply(difference, difference, out=difference)
            distances += difference
        nearest = distances.argmin(axis=1)  # the first of equals
        best = distances[np.arange(len(piece)), nearest]
        rows[:, 0] += np.bincount(nearest, minlength=k).astype(np.int32)
        for j in range(n):
            # Sums of float64, but of whole numbers far below 2^53: exact.
            rows[:, 1 + j] += np.bincount(nearest, weights=piece[:, j], minlength=k).astype(np.int32)
        totals[-2] += (best & 0xFFFF).sum(dtype=np.int32)
        totals[-1] += (best >> 16).sum(dtype=np.int32)
