"""Where the nodes of a graph go in a picture: places whose distances are like the hops between them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcka.topology.graph import Neighbours

Places = NDArray[np.float64]

_ROUNDS = 60
"""Of stress majorisation: on the graphs tried, later rounds move nothing that one could see."""
_WORK = 3_000_000
"""Pairs of nodes that are looked at in all rounds together: a second or two."""


def by_hops(near: Neighbours) -> Places:
    """(N, 2) places in the order of `near`, within −1 … 1; `near` connected.

    Classical scaling of the hops, then stress majorisation with weights 1/hops² (E. Gansner, Y. Koren, S. North,
    "Graph drawing by stress majorization", 2004). The same graph gives the same places.
    """
    count = len(near)
    if count < 3:
        return np.array([[-0.5, 0.0], [0.5, 0.0]])[:count]
    hops = _hops(near)
    places = _scaled(hops)
    inverse = np.linalg.pinv(_laplacian(np.where(hops > 0, 1 / np.maximum(hops, 1) ** 2, 0.0)))
    for _ in range(min(_ROUNDS, _WORK // count**2)):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = np.where((hops > 0) & (apart > 1e-9), 1 / (np.maximum(hops, 1) * np.maximum(apart, 1e-9)), 0.0)
        places = inverse @ (_laplacian(pull) @ places)
    places -= places.mean(axis=0)
    return np.asarray(places / max(1e-9, float(np.abs(places).max())))


def on_circle(count: int) -> Places:
    """(N, 2) places on a circle, the first on top, clockwise."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(count) / max(1, count)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _hops(near: Neighbours) -> NDArray[np.float64]:
    place = {node: index for index, node in enumerate(near)}
    hops = np.full((len(near), len(near)), -1.0)
    for start, index in place.items():
        front: Sequence[int] = [start]
        distance = 0
        while front:
            for node in front:
                hops[index, place[node]] = distance
            distance += 1
            front = sorted({other for node in front for other in near[node] if hops[index, place[other]] < 0})
    return hops


def _scaled(hops: NDArray[np.float64]) -> Places:
    """Torgerson's scaling, with a nudge that parts nodes which have the same hops to all others."""
    centring = np.eye(len(hops)) - 1 / len(hops)
    values, vectors = np.linalg.eigh(-0.5 * centring @ hops**2 @ centring)
    places = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-6))
    return np.asarray(places + 0.05 * on_circle(len(hops)))


def _laplacian(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.diag(weights.sum(axis=1)) - weights)
