"""`distributed_plus_plus` of the reference, pick for pick, compiled: only the node that wins looks for its point."""

from collections.abc import Sequence

import numpy as np

from dcka.engine.compiled import Ints, compiled
from dcka.reference import Pick, Stream, exponential


@compiled
def _nearer(points: Ints, centre: Ints, weights: Ints, afresh: bool) -> int:
    """weights (m,) ← least squared distance of points (m, n) to the centres so far; returns their sum."""
    total = 0
    for i in range(len(points)):
        squared = 0
        for j in range(points.shape[1]):
            squared += (points[i, j] - centre[j]) ** 2
        if afresh or squared < weights[i]:
            weights[i] = squared
        total += weights[i]
    return total


def plus_plus(node_points: Sequence[Ints], node_ids: Sequence[int], k: int, seed: int) -> list[Pick]:
    """K picks, those of `dcka.reference.distributed_plus_plus`. Raises ValueError for fewer than K distinct points."""
    weights = [np.ones(len(own), np.int64) for own in node_points]
    totals = [len(own) for own in node_points]
    picks: list[Pick] = []
    for turn in range(k):
        best, least, chosen = -1, 0, 0
        for place, (node, total) in enumerate(zip(node_ids, totals, strict=True)):
            if total == 0:
                continue
            stream = Stream(seed, b"plus" + node.to_bytes(4, "little") + turn.to_bytes(4, "little"))
            e = exponential(stream.word())
            if best < 0 or e * totals[best] < least * total:
                best, least, chosen = place, e, stream.wide_below(total)
        if best < 0:
            raise ValueError(f"Only {turn} of the points are distinct; {k} starting points need {k}.")
        row = int(np.searchsorted(np.cumsum(weights[best]), chosen, side="right"))
        picks.append((best, row))
        centre = node_points[best][row]
        totals = [_nearer(own, centre, weights[place], turn == 0) for place, own in enumerate(node_points)]
    return picks
