"""Weight matrices A of one slot, x_i ← Σ_h a_ih x_h, and the rate at which a schedule of them converges."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dcka.reference.arrays import FloatArray
from dcka.reference.graphs import Link, degrees, hears


def metropolis(links: Iterable[Link], ids: Sequence[int], known: Iterable[Link] | None = None) -> FloatArray:
    """(N, N), symmetric and doubly stochastic: a_ih = 1 / (1 + max(d_i, d_h)) on a link, the rest at home.

    d is the degree in this phase (L. Xiao, S. Boyd, S. Lall, "Distributed average consensus with
    time-varying Metropolis weights", 2006), or among the `known` links, of which these are some: then a link has one
    weight whenever it is awake. Raises ValueError for links that do not fit the ids.
    """
    linked = list(links)
    counted = degrees(linked if known is None else known, ids)
    degree = np.array([counted[node] for node in ids], dtype=np.float64)
    matrix = np.where(hears(linked, ids), 1.0 / (1.0 + np.maximum(degree[:, None], degree)), 0.0)
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


def equal_shares(arcs: Iterable[Link], ids: Sequence[int]) -> FloatArray:
    """(N, N), column stochastic: a node keeps as much as it sends to each hearer, 1 / (1 + out-degree).

    `arcs` are directed, (sender, hearer); for a link heard both ways give both. Sums are conserved and the
    ratio of two of them still agrees in the end. Raises ValueError for an unknown id, an arc to itself, or
    one given twice.
    """
    place = {node: i for i, node in enumerate(ids)}
    matrix = np.eye(len(ids))
    for sender, hearer in arcs:
        if sender not in place or hearer not in place:
            raise ValueError(f"The arc {sender}→{hearer} names a node that is not one of {sorted(place)}.")
        if matrix[place[hearer], place[sender]]:
            raise ValueError(f"The arc {sender}→{hearer} is there twice, or leads back to its sender.")
        matrix[place[hearer], place[sender]] = 1.0
    return np.asarray(matrix / matrix.sum(axis=0), dtype=np.float64)


def is_column_stochastic(matrix: FloatArray, tolerance: float = 1e-12) -> bool:
    """No entry is negative, and each column sums to 1: mass is conserved."""
    return bool((matrix >= 0).all() and np.abs(matrix.sum(axis=0) - 1).max() <= tolerance)


def is_doubly_stochastic(matrix: FloatArray, tolerance: float = 1e-12) -> bool:
    """Column stochastic, and each row sums to 1 too: a state that agrees stays as it is."""
    return is_column_stochastic(matrix, tolerance) and is_column_stochastic(matrix.T, tolerance)


@dataclass(frozen=True)
class Rate:
    """The factor by which the distance from consensus shrinks in the long run; 1 where there is none."""

    per_period: float
    per_slot: float


def predicted_rate(matrices: Sequence[FloatArray]) -> Rate:
    """|λ2| of the product over one period, newest first, A(P−1) … A(0); per slot its P-th root."""
    product = np.eye(len(matrices[0]))
    for matrix in matrices:
        product = matrix @ product
    sizes = np.sort(np.abs(np.linalg.eigvals(product)))
    per_period = float(sizes[-2]) if len(sizes) > 1 else 0.0
    return Rate(per_period, per_period ** (1 / len(matrices)))
