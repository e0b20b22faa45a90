"""The gap statistic: how much tighter clusters are than those of points without any.

R. Tibshirani, G. Walther, T. Hastie, "Estimating the number of clusters in a data set via the gap statistic",
J. R. Statist. Soc. B 63:411–423, 2001.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.engine.compiled import Floats
from dcka.engine.runs import EngineError, lloyd, prepare, table_of

STARTS, OWN_STARTS = 5, 20
"""Of k-means++ for each K, on a reference set and on the readings. Points without clusters have many optima that are
about as good; of clusters a poor one looks like another K."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Gap:
    """`gap` = mean over the reference sets of log W*_k, less log W_k of the readings, W the SSD. `se`: the standard
    deviation of log W*_k times √(1 + 1/B)."""

    k: int
    gap: float
    se: float


def gap_statistic(
    points: Any, ks: Sequence[int], sets: int, seed: int, progress: Progress | None = None
) -> list[Gap]:
    """The gap of each K for points (M, n), against `sets` reference sets, uniform over the range of each dimension.

    `progress`: called with the sets that are done, the readings among them, and all. Raises EngineError for points that
    are none, fewer than two sets, or a K for which the SSD would be 0.
    """
    table = table_of(points, "the points")
    most = len(np.unique(table, axis=0))
    if sets < 2:
        raise EngineError(f"{sets} reference sets: a gap needs at least 2, for its standard error")
    if not ks or min(ks) < 1 or max(ks) >= most:
        raise EngineError(
            f"the gap statistic takes K from 1 to {most - 1}, less than the {most:,} distinct points, not {list(ks)}"
        )
    low, high = table.min(axis=0), table.max(axis=0)
    streams = np.random.default_rng(seed).spawn(sets + 1)
    logs = []
    for done, stream in enumerate(streams):
        own = table if not done else stream.uniform(low, high, table.shape)
        logs.append(_log_ssds(own, ks, STARTS if done else OWN_STARTS, stream))
        if progress is not None:
            progress(done + 1, sets + 1)
    seen, reference = logs[0], np.array(logs[1:])
    error = reference.std(axis=0) * math.sqrt(1 + 1 / sets)
    gaps = reference.mean(axis=0) - seen
    return [Gap(int(k), float(gap), float(se)) for k, gap, se in zip(ks, gaps, error, strict=True)]


def _log_ssds(table: Floats, ks: Sequence[int], starts: int, stream: np.random.Generator) -> Floats:
    """log W_k of each K, by the best of so many starts."""
    ready = prepare(table)
    return np.array(
        [math.log(min(lloyd(ready, plus_plus(table, k, stream)).ssd for _ in range(starts))) for k in ks]
    )


def plus_plus(table: Floats, k: int, stream: np.random.Generator) -> Floats:
    """K of the points (M, n), each drawn with a probability as its squared distance to those before (D. Arthur,
    S. Vassilvitskii, 2007); fewer than K distinct points give some twice."""
    picks = [int(stream.integers(len(table)))]
    near = np.square(table - table[picks[0]]).sum(axis=1)
    while len(picks) < k:
        ladder = np.cumsum(near)
        row = int(np.searchsorted(ladder, stream.random() * ladder[-1], side="right"))
        picks.append(min(row, len(table) - 1))
        near = np.minimum(near, np.square(table - table[picks[-1]]).sum(axis=1))
    return table[picks]
