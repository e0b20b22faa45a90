"""The sweep for many points in few dimensions: neighbours share a block, and a block looks at few centres.

Points are put into blocks of 64 by halving the set along its widest dimension. In each step a block finds the centres
that can be nearest to any point of its box; where that is one, the block is done, else its points look at these few.
The idea is the filtering of k-d trees (D. Pelleg, A. Moore, 1999; T. Kanungo et al., 2002) with one level instead of a
tree, since looking at all centres from a block's middle is fast on a processor with wide registers. It remembers
nothing from step to step but labels.
"""

import numpy as np

from dcka.engine.compiled import EPS, Floats, Ints, Labels, compiled, move

BLOCK = 64
"""Points a block; 32 took a tenth longer on Birch1, 16 a half."""


@compiled
def _select(values: Floats, ids: Ints, low: int, high: int, place: int) -> None:
    """Order ids[low:high] so that ids[place] is where sorting by `values` would put it (C. Hoare's quickselect)."""
    high -= 1
    while low < high:
        a, b, c = values[ids[low]], values[ids[(low + high) >> 1]], values[ids[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[ids[i]] < pivot:
                i += 1
            while values[ids[j]] > pivot:
                j -= 1
            if i <= j:
                ids[i], ids[j] = ids[j], ids[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            return


@compiled
def _widest(columns: Floats, ids: Ints, low: int, high: int) -> int:
    """The dimension in which the points ids[low:high] of (n, M) spread most."""
    widest, most = 0, -1.0
    for j in range(len(columns)):
        least = greatest = columns[j, ids[low]]
        for i in range(low, high):
            least = min(least, columns[j, ids[i]])
            greatest = max(greatest, columns[j, ids[i]])
        if greatest - least > most:
            widest, most = j, greatest - least
    return widest


@compiled
def order_of(columns: Floats) -> Ints:
    """An order (M,) of the points (n, M) in which each BLOCK in turn lies close together."""
    points = columns.shape[1]
    ids = np.arange(points)
    stack = np.empty((128, 2), np.int64)  # halving 2^63 points goes 63 deep
    stack[0, 0], stack[0, 1] = 0, points
    top = 1
    while top > 0:
        top -= 1
        low, high = stack[top, 0], stack[top, 1]
        blocks = (high - low + BLOCK - 1) // BLOCK
        if blocks < 2:
            continue
        middle = low + (blocks + 1) // 2 * BLOCK  # whole blocks on the left, so that none lies across
        _select(columns[_widest(columns, ids, low, high)], ids, low, high, middle)
        stack[top, 0], stack[top, 1] = low, middle
        stack[top + 1, 0], stack[top + 1, 1] = middle, high
        top += 2
    return ids


@compiled
def boxes_of(columns: Floats, low: Floats, high: Floats, radius: Floats) -> None:
    """The box `low` … `high` (blocks, n) around each block of points (n, M) in order, and half its diagonal."""
    points = columns.shape[1]
    for b in range(len(low)):
        squared = 0.0
        for j in range(len(columns)):
            least = greatest = columns[j, b * BLOCK]
            for i in range(b * BLOCK, min(points, (b + 1) * BLOCK)):
                least = min(least, columns[j, i])
                greatest = max(greatest, columns[j, i])
            low[b, j], high[b, j] = least, greatest
            squared += ((greatest - least) / 2) ** 2
        radius[b] = np.sqrt(squared) * (1 + 1e-12)


@compiled
def candidates(
    low: Floats,
    high: Floats,
    radius: float,
    across: Floats,
    slack: float,
    scale: float,
    far: Floats,
    found: Ints,
) -> int:
    """Put into `found`, ascending, the centres (n, K) `across` that can be nearest to a point of a box, ties included;
    returns how many. `far` (K,) is room to work in.

    Centre k is none where it is farther than the middle's nearest centre a at the corner of the box that lies farthest
    towards k: then the whole box lies on a's side of the plane between them. `slack`, and slack·scale for squares, see
    that rounding leaves none out.
    """
    dimensions, centres = across.shape
    for k in range(centres):
        far[k] = 0.0
    for j in range(dimensions):
        middle = (low[j] + high[j]) / 2
        for k in range(centres):
            difference = middle - across[j, k]
            far[k] += difference * difference
    a = 0
    for k in range(1, centres):
        if far[k] < far[a]:
            a = k
    reach = (np.sqrt(far[a]) + 2 * radius + slack) ** 2
    count = 0
    for k in range(centres):
        if far[k] <= reach:
            farther = 0.0
            if k != a:
                for j in range(dimensions):
                    corner = high[j] if across[j, k] > across[j, a] else low[j]
                    to_k, to_a = corner - across[j, k], corner - across[j, a]
                    farther += to_k * to_k - to_a * to_a
            if farther <= slack * scale:
                found[count] = k
                count += 1
    return count


@compiled
def _look(
    columns: Floats, begin: int, end: int, across: Floats, found: Ints, count: int, least: Floats, who: Labels
) -> None:
    """who ← the nearest of the centres found[:count] for points `begin` … `end` − 1; the lowest index wins a tie."""
    for c in range(count):
        k = found[c]
        for i in range(end - begin):
            squared = 0.0
            for j in range(len(columns)):
                difference = columns[j, begin + i] - across[j, k]
                squared += difference * difference
            if c == 0 or squared < least[i]:
                least[i] = squared
                who[i] = k


@compiled
def sweep(
    columns: Floats,
    across: Floats,
    labels: Labels,
    sole: Ints,
    low: Floats,
    high: Floats,
    radius: Floats,
    slack: float,
    scale: float,
    begin: int,
    end: int,
    total: Floats,
    rest: Floats,
    counts: Ints,
) -> int:
    """Assign the points of the blocks `begin` … `end` − 1 anew; returns how many have moved.

    `columns` (n, M) and `labels` (M,), −1 at first, in blocks' order; `across` (n, K). `sole` (blocks,): the label that
    all of a block's points have, −1 where that is not known. Moves go into `total`, `rest`, `counts`.
    """
    far, found = np.empty(across.shape[1]), np.empty(across.shape[1], np.int64)
    least, who, point = np.empty(BLOCK), np.empty(BLOCK, np.int32), np.empty(len(columns))
    moved = 0
    for b in range(begin, end):
        count = candidates(low[b], high[b], radius[b], across, slack, scale, far, found)
        if count == 1 and sole[b] == found[0]:
            continue
        sole[b] = found[0] if count == 1 else -1
        start, stop = b * BLOCK, min(columns.shape[1], (b + 1) * BLOCK)
        _look(columns, start, stop, across, found, count, least, who)
        for i in range(start, stop):
            if who[i - start] != labels[i]:
                for j in range(len(columns)):
                    point[j] = columns[j, i]
                move(total, rest, counts, point, labels[i], who[i - start])
                labels[i] = who[i - start]
                moved += 1
    return moved


def slack_of(dimensions: int, scale: float, offset: float) -> float:
    """What a computed distance may be off, and more: below `scale`, squares, their sum and a root round n + 4 times;
    the middle of a box rounds as the coordinates do, whose largest is `offset`."""
    return EPS * (64 * (dimensions + 4) * scale + 4 * offset)
