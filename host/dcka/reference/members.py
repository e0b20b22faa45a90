"""What each node of a grid run holds, starts from, and adds up by itself; `tree` and `gossip` share it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import IntArray, grid_table
from dcka.reference.grid import bits_for
from dcka.reference.lloyd import tally
from dcka.reference.starts import local_start, shared_start

INITS = ("local", "shared", "given")


@dataclass(frozen=True, eq=False)
class Members:
    """The nodes of a run, in index order.

    `points`: for each node (m_i, n). `starts`: for each node its centres (K, n) of step 0, None where it drew
    nothing. `basis`: (K, n), what a cluster without mass in step 0 ends with: its shared centre in `local`,
    its starting centre otherwise.
    """

    ids: tuple[int, ...]
    points: tuple[IntArray, ...]
    k: int
    n: int
    bits: int
    starts: tuple[IntArray | None, ...]
    basis: IntArray


def prepare(
    node_points: Sequence[Any],
    node_ids: Sequence[int],
    k: int,
    init: str,
    seed: int,
    extents: Any,
    given: Any | None,
) -> Members:
    """Check a run's input, draw its starts (protocol, section 1). Raises ValueError where it does not fit."""
    if len(node_points) != len(node_ids):
        raise ValueError(f"{len(node_points)} tables of points do not fit {len(node_ids)} node ids.")
    limits = np.atleast_2d(np.asarray(extents))
    n = limits.shape[-1]
    bits = bits_for(n)
    limits = grid_table(limits, "the extents", bits)
    points = tuple(
        grid_table(table, f"the points of node {node}", bits)
        for table, node in zip(node_points, node_ids, strict=True)
    )
    _check_shape(points, node_ids, k, n)
    if init == "local":
        own = tuple(local_start(table, k, seed, node) for table, node in zip(points, node_ids, strict=True))
        return Members(tuple(node_ids), points, k, n, bits, own, shared_start(limits[0], k, seed))
    common = _common_start(init, given, limits[0], k, seed, bits)
    return Members(tuple(node_ids), points, k, n, bits, (common,) * len(points), common)


def _check_shape(points: Sequence[IntArray], node_ids: Sequence[int], k: int, n: int) -> None:
    if not points:
        raise ValueError("A run needs at least one node.")
    if len(set(node_ids)) != len(node_ids) or not all(1 <= node <= 65535 for node in node_ids):
        raise ValueError(f"Node ids must differ and be within 1 and 65535, not {list(node_ids)}.")
    if k < 1:
        raise ValueError(f"K is {k}; at least one cluster is needed.")
    for table, node in zip(points, node_ids, strict=True):
        if table.shape[1] != n:
            raise ValueError(f"Node {node} has points of {table.shape[1]} dimensions; the extents have {n}.")


def _common_start(init: str, given: Any | None, extents: IntArray, k: int, seed: int, bits: int) -> IntArray:
    if init == "shared":
        return shared_start(extents, k, seed)
    if init != "given":
        raise ValueError(f"The start {init!r} is unknown; choose one of {', '.join(INITS)}.")
    if given is None:
        raise ValueError("The start 'given' needs its centres.")
    centres = grid_table(given, "the given centres", bits)
    if centres.shape != (k, len(extents)):
        raise ValueError(f"The given centres are of shape {centres.shape}, not {(k, len(extents))}.")
    return centres


def contribution(points: IntArray, centres: IntArray | None, k: int) -> tuple[IntArray, int]:
    """(sums (K, n + 1), SSD) of a node: [:, 0] the counts m, [:, 1:] the sums u; zeros without centres."""
    sums = np.zeros((k, points.shape[1] + 1), dtype=np.int64)
    if centres is None:
        return sums, 0
    own = tally(points, centres)
    sums[:, 0], sums[:, 1:] = own.counts, own.sums
    return sums, int(own.ssd)
