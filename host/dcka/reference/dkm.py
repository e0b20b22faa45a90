"""DKM, the other distributed K-means: consensus on the centres by ADMM, one exchange with the neighbours an iteration.

P. Forero, A. Cano, G. Giannakis, "Distributed clustering using wireless sensor networks", IEEE J. Sel. Topics Signal
Process. 5:707–724, 2011; hard assignment, cost ½‖·‖².
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import FloatArray, IntArray, float_table
from dcka.reference.graphs import Link, hears
from dcka.reference.lloyd import tally


@dataclass(frozen=True, eq=False)
class DkmRun:
    """`centres`: (T + 1, N, K, n), before the first iteration and after each. `ssd`: (T + 1,) for these, each node with
    its own. `disagreement`: (T + 1,), the largest difference of a coordinate between two nodes."""

    centres: FloatArray
    ssd: FloatArray
    disagreement: FloatArray


def dkm(
    node_points: Sequence[Any], starts: Sequence[Any], links: Iterable[Link], eta: float, iterations: int
) -> DkmRun:
    """Run DKM on nodes 1 … N joined by `links`, from each node's centres (K, n); p = 0 at first.

    Each iteration assigns anew, (u_j, m_j); for every cluster, with the neighbours' centres of the iteration before,
    c_j ← [u_j − p_j + η Σ_h (c_j + c_h)] / [m_j + 2η|N_j|], then p_j ← p_j + η Σ_h (c_j − c_h) with the new ones.
    Raises ValueError for a node without neighbours, η ≤ 0, or tables that do not fit.
    """
    points = [float_table(table, f"the points of node {i + 1}") for i, table in enumerate(node_points)]
    adjacent = hears(links, range(1, len(points) + 1)).astype(np.float64)
    degree = adjacent.sum(axis=1)
    if not degree.all() or eta <= 0:
        raise ValueError(f"DKM needs a neighbour for every node and a positive eta, not {eta}.")
    centres = np.stack([float_table(start, f"the start of node {i + 1}") for i, start in enumerate(starts)])
    multiplier = np.zeros_like(centres)
    history, ssds = [centres], []
    for _ in range(iterations):
        sums, counts, ssd = _assigned(points, centres)
        ssds.append(ssd)
        heard = np.tensordot(adjacent, centres, axes=1) + degree[:, None, None] * centres
        centres = (sums - multiplier + eta * heard) / (counts + 2 * eta * degree[:, None])[..., None]
        differences = degree[:, None, None] * centres - np.tensordot(adjacent, centres, axes=1)
        multiplier = multiplier + eta * differences
        history.append(centres)
    ssds.append(_assigned(points, centres)[2])
    every = np.stack(history)
    return DkmRun(every, np.array(ssds), np.ptp(every, axis=1).max(axis=(1, 2)))


def _assigned(points: Sequence[FloatArray], centres: FloatArray) -> tuple[FloatArray, IntArray, float]:
    """(sums (N, K, n), counts (N, K), SSD), each node by its own centres."""
    own = [tally(table, centres[i]) for i, table in enumerate(points)]
    return (
        np.stack([part.sums for part in own]),
        np.stack([part.counts for part in own]),
        float(sum(part.ssd for part in own)),
    )
