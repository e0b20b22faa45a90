"""The sweep for any number of dimensions: what cannot have changed is passed over, the rest done 32 points a time.

After a full look at a point, the distances to its nearest and second nearest centre differ by `gap`. Its label holds
until the centres have moved so far that the gap may be used up: by at most its own centre's drift plus the largest
drift of another in each step (G. Hamerly, "Making k-means even faster", 2010). These amounts are added up per cluster,
in `spent`, and a point only keeps the `deadline` up to which it is safe: nothing per point is written in a step in
which nothing happens to it.
"""

import numpy as np

from dcka.engine.compiled import EPS, Floats, Ints, Labels, compiled, move

TILE = 32
"""Points a tile: four registers of eight float64; 16 and 64 took longer."""


@compiled
def nearest_two(
    tile: Floats, centres: Floats, squared: Floats, first: Floats, second: Floats, who: Ints
) -> None:
    """For each of the points in `tile` (n, TILE): the least squared distance to a centre (K, n), its index, and the
    second least. The lowest index wins a tie. `squared` is room to work in.

    Squares are added up from the first dimension to the last, as numpy's reference does.
    """
    dimensions = centres.shape[1]
    fours = dimensions - dimensions % 4
    for i in range(TILE):
        first[i] = second[i] = np.inf
        who[i] = 0
    for k in range(len(centres)):
        for i in range(TILE):
            squared[i] = 0.0
        for j in range(0, fours, 4):  # by fours, so that the running sums are loaded and stored less often
            c0, c1, c2, c3 = centres[k, j], centres[k, j + 1], centres[k, j + 2], centres[k, j + 3]
            for i in range(TILE):
                d0, d1 = tile[j, i] - c0, tile[j + 1, i] - c1
                d2, d3 = tile[j + 2, i] - c2, tile[j + 3, i] - c3
                squared[i] = (((squared[i] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
        for j in range(fours, dimensions):
            c0 = centres[k, j]
            for i in range(TILE):
                d0 = tile[j, i] - c0
                squared[i] += d0 * d0
        for i in range(TILE):
            now = squared[i]
            nearer = now < first[i]
            second[i] = first[i] if nearer else (now if now < second[i] else second[i])
            who[i] = k if nearer else who[i]
            first[i] = now if nearer else first[i]


@compiled
def sweep(
    points: Floats,
    centres: Floats,
    labels: Labels,
    deadline: Floats,
    spent: Floats,
    slack: float,
    begin: int,
    end: int,
    total: Floats,
    rest: Floats,
    counts: Ints,
) -> int:
    """Assign the points `begin` … `end` − 1 of (M, n) anew where that may be needed; returns how many have moved.

    `labels` (M,), −1 at first. `slack`: of distances, for rounding. Moves go into `total`, `rest`, `counts`.
    """
    dimensions = points.shape[1]
    tile = np.zeros((dimensions, TILE))
    squared, first, second = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    who, ids = np.empty(TILE, np.int64), np.empty(TILE, np.int64)
    moved, i = 0, begin
    while i < end:
        filled = 0
        while i < end and filled < TILE:
            if labels[i] < 0 or not spent[labels[i]] < deadline[i]:
                ids[filled] = i
                filled += 1
            i += 1
        for q in range(filled):
            for j in range(dimensions):
                tile[j, q] = points[ids[q], j]
        if filled:
            nearest_two(tile, centres, squared, first, second, who)
        for q in range(filled):
            one, new, old = ids[q], who[q], labels[ids[q]]
            gap = np.sqrt(second[q]) - np.sqrt(first[q])
            deadline[one] = spent[new] + gap - slack - 4 * EPS * (spent[new] + gap)
            if new != old:
                moved += 1
                labels[one] = new
                move(total, rest, counts, points[one], old, new)
    return moved


@compiled
def spend(spent: Floats, drift: Floats) -> None:
    """Add to `spent` (K,) what a step in which the centres went `drift` (K,) may take from a gap, rounded up."""
    most, next_most, farthest = 0.0, 0.0, -1
    for k in range(len(drift)):
        if drift[k] > most:
            most, next_most, farthest = drift[k], most, k
        elif drift[k] > next_most:
            next_most = drift[k]
    for k in range(len(drift)):
        step = (drift[k] + (next_most if k == farthest else most)) * (1 + 1e-12)
        if step > 0:
            spent[k] += step + 4 * EPS * (spent[k] + step)
