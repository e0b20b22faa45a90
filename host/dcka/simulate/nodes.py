"""What many nodes hold, as one array, and the sums that each makes of its own points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.datasets.nine_gaussians import DEVIATION, MEANS
from dcka.reference import Grid, fit_grid, local_indices

BLOCK = 1 << 22
"""Distances at a time: the room that an assignment takes, whatever the number of nodes."""

Table = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nodes:
    """`points` (N, m, n) in the user's units, `whole` the same on the grid."""

    points: Table
    whole: Whole
    grid: Grid

    @property
    def count(self) -> int:
        return len(self.points)


def nine_gaussians(nodes: int, per_gaussian: int, seed: int) -> Nodes:
    """Each node with `per_gaussian` points of each of the paper's nine Gaussians."""
    means = np.repeat(np.array(MEANS, dtype=np.float64), per_gaussian, axis=0)
    noise = np.random.default_rng(seed).standard_normal((nodes, *means.shape))
    points = means + DEVIATION * noise
    flat = points.reshape(-1, points.shape[2])
    grid = fit_grid(flat)
    return Nodes(points, grid.quantise(flat)[0].astype(np.int64).reshape(points.shape), grid)


def local_draws(nodes: Nodes, k: int, seed: int) -> Whole:
    """(N, K): the indices of every node's own draw, start `local`. Raises ValueError where a node has fewer points."""
    drawn = [local_indices(nodes.points.shape[1], k, seed, node) for node in range(1, nodes.count + 1)]
    if any(own is None for own in drawn):
        raise ValueError(f"{k} centres cannot be drawn from {nodes.points.shape[1]} points.")
    return np.array(drawn, dtype=np.int64)


def own_sums(
    points: NDArray[np.float64] | Whole, centres: NDArray[np.float64] | Whole
) -> tuple[Table, float]:
    """(sums (N, K, n + 1), counts first; SSD) of points (N, m, n) by centres (N, K, n), or (K, n) for all.

    In float64; of whole numbers below 2^15 exact.
    """
    nodes, size, dimensions = points.shape
    k = centres.shape[-2]
    sums = np.zeros((nodes, k, dimensions + 1))
    ssd = 0.0
    step = max(1, BLOCK // (size * k))
    for first in range(0, nodes, step):
        own = points[first : first + step].astype(np.float64)
        theirs = centres[first : first + step] if centres.ndim == 3 else centres[None]
        squared = np.zeros((len(own), size, k))
        for j in range(dimensions):
            squared += (own[:, :, None, j] - theirs[:, None, :, j]) ** 2
        labels = squared.argmin(axis=2)
        ssd += float(np.take_along_axis(squared, labels[..., None], axis=2).sum())
        place = (labels + k * np.arange(len(own))[:, None]).ravel()
        block = sums[first : first + step].reshape(-1, dimensions + 1)
        block[:, 0] = np.bincount(place, minlength=len(block))
        for j in range(dimensions):
            block[:, j + 1] = np.bincount(place, own[:, :, j].ravel(), minlength=len(block))
    return sums, ssd
