"""Starting centres, and the hashes by which nodes tell that they share them (protocol, sections 1 and 4)."""

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.reference.arrays import FloatArray, IntArray, float_table, grid_table
from dcka.reference.grid import MOST_BITS
from dcka.reference.lloyd import Number, Table, squared_distances
from dcka.reference.randoms import Stream, seed_bytes


def local_start(points: Any, k: int, seed: int, node_id: int) -> IntArray | None:
    """The node's own draw, (K, n): K of its points (m, n) with distinct indices; None where m < K.

    Points may coincide, and so may centres.
    """
    table = grid_table(points, "the node's points", MOST_BITS)
    drawn = local_indices(len(table), k, seed, node_id)
    return None if drawn is None else table[drawn]


def local_indices(count: int, k: int, seed: int, node_id: int) -> list[int] | None:
    """K distinct indices of a node's `count` points, in the order drawn; None where there are fewer points.

    They are `below(count)` from Stream(seed, "local" ‖ id as u32); one already drawn is skipped.
    """
    if count < k:
        return None
    stream = Stream(seed, b"local" + node_id.to_bytes(4, "little"))
    drawn: dict[int, None] = {}
    while len(drawn) < k:
        drawn[stream.below(count)] = None
    return list(drawn)


def sorted_order(centres: NDArray[Any]) -> list[int]:
    """`sorted`: the order in which a node's own draw (K, n) becomes clusters 0 … K − 1.

    Ascending by the first coordinate, where equal by the second, and so on; where all are equal, as drawn.
    """
    return [int(row) for row in np.lexsort(centres.T[::-1])]


def snake_order(centres: NDArray[Any]) -> list[int]:
    """`snake`: as `sorted`, and then strip by strip by the second coordinate.

    The sorted draw is cut into S = ⌈√K⌉ strips, strip s from place ⌊sK/S⌋ to ⌊(s + 1)K/S⌋ − 1; each is sorted anew, by
    the second coordinate, where equal as it was. In one dimension it is `sorted`.
    """
    order = sorted_order(centres)
    if centres.shape[1] < 2:
        return order
    k = len(order)
    strips = 1 + math.isqrt(k - 1)
    cuts = [s * k // strips for s in range(strips + 1)]
    second = centres[:, 1].tolist()
    return [
        row for s in range(strips) for row in sorted(order[cuts[s] : cuts[s + 1]], key=second.__getitem__)
    ]


def shared_start(extents: Any, k: int, seed: int) -> IntArray:
    """The same K points of the grid for every node, (K, n): for each k, for each j, `below(extent_j + 1)`."""
    stream = Stream(seed, b"shared")
    return np.array([[stream.below(int(extent) + 1) for extent in extents] for _ in range(k)], dtype=np.int64)


def random_points_start(points: Any, k: int, rng: np.random.Generator) -> FloatArray:
    """CKA's plain start, (K, n): K of the M points, all subsets alike. Raises ValueError where M < K."""
    table = float_table(points, "the points")
    if len(table) < k:
        raise ValueError(f"{k} starting points cannot be drawn from {len(table)} points; lower K.")
    return table[rng.choice(len(table), size=k, replace=False)]


def kmeans_plus_plus(points: Table[Number], k: int, rng: np.random.Generator) -> Table[Number]:
    """D² seeding, (K, n), of int64 or float64 points (M, n).

    The first centre is any point, each later one a point with probability D²/ΣD², D its distance to the
    nearest centre so far (D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", 2007).
    On the grid the draw is exact: an integer below ΣD² against integer prefix sums.
    Raises ValueError where there are fewer than K distinct points, or they are of another type.
    """
    if points.dtype not in (np.dtype(np.int64), np.dtype(np.float64)):
        raise ValueError(f"Points of {points.dtype} would overflow when squared; pass int64 or float64.")
    if len(points) < k:
        raise ValueError(f"{k} starting points cannot be drawn from {len(points)} points; lower K.")
    chosen = [int(rng.integers(len(points)))]
    nearest = squared_distances(points, points[chosen[-1:]])[:, 0]
    while len(chosen) < k:
        prefix = np.cumsum(nearest)
        if not prefix[-1] > 0:
            raise ValueError(f"Only {len(chosen)} of the points are distinct; {k} starting points need {k}.")
        exact = np.issubdtype(prefix.dtype, np.integer)
        offer = rng.integers(int(prefix[-1])) if exact else rng.random() * prefix[-1]
        chosen.append(int(np.searchsorted(prefix, offer, side="right")))
        nearest = np.minimum(nearest, squared_distances(points, points[chosen[-1:]])[:, 0])
    return points[chosen]


def start_hash(centres: Any) -> bytes:
    """8 bytes that name centres (K, n): the first of SHA-256 over them as u16, cluster by cluster.

    Raises ValueError for centres that no u16 holds.
    """
    table = grid_table(centres, "the centres", 16)
    return hashlib.sha256(table.astype("<u2").tobytes()).digest()[:8]


def local_start_hash(seed: int) -> bytes:
    """8 bytes that stand for step 0 of `local`, where each node has its own centres: of "local" ‖ seed."""
    return hashlib.sha256(b"local" + seed_bytes(seed)).digest()[:8]
