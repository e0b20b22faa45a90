"""What each node of a grid run holds, starts from, and adds up by itself; `tree` and `gossip` share it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.reference.arrays import IntArray, grid_table
from dcka.reference.grid import bits_for
from dcka.reference.lloyd import tally
from dcka.reference.seeding import distributed_plus_plus, partition_labels
from dcka.reference.starts import local_start, shared_start, snake_order, sorted_order

OWN = ("local", "sorted", "snake", "partition")
"""Starts before which no centres are common: step 0 never counts as converged."""
INITS = (*OWN, "shared", "kmeans++", "given")


@dataclass(frozen=True, eq=False)
class Members:
    """The nodes of a run, in index order.

    `points`: for each node (m_i, n). `starts`: for each node its centres (K, n) of step 0, None where it drew
    nothing. `labels`: of `partition`, for each node its points' clusters in step 0; else None. `basis`: (K, n), what a
    cluster without mass in step 0 ends with: its shared centre in the starts of OWN, its starting centre otherwise.
    """

    ids: tuple[int, ...]
    points: tuple[IntArray, ...]
    k: int
    n: int
    bits: int
    starts: tuple[IntArray | None, ...]
    basis: IntArray
    labels: tuple[IntArray, ...] | None = None


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
    if init in OWN:
        starts, labels = _own_starts(init, points, node_ids, k, seed)
        return Members(tuple(node_ids), points, k, n, bits, starts, shared_start(limits[0], k, seed), labels)
    if init == "kmeans++":
        given = _drawn_together(points, node_ids, k, seed)
        init = "given"
    common = _common_start(init, given, limits[0], k, seed, bits)
    return Members(tuple(node_ids), points, k, n, bits, (common,) * len(points), common)


def _own_starts(
    init: str, points: Sequence[IntArray], node_ids: Sequence[int], k: int, seed: int
) -> tuple[tuple[IntArray | None, ...], tuple[IntArray, ...] | None]:
    """(each node's centres, each node's labels) of a start of OWN; one of the two is empty of content."""
    each = list(zip(points, node_ids, strict=True))
    if init == "partition":
        return (None,) * len(each), tuple(partition_labels(len(table), k, seed, node) for table, node in each)
    drawn = [local_start(table, k, seed, node) for table, node in each]
    if init == "local":
        return tuple(drawn), None
    order = sorted_order if init == "sorted" else snake_order
    return tuple(None if own is None else own[order(own)] for own in drawn), None


def _drawn_together(points: Sequence[IntArray], node_ids: Sequence[int], k: int, seed: int) -> IntArray:
    """`kmeans++`: the picks of the network, which takes its nodes in the order of their ids, as centres (K, n)."""
    order = sorted(range(len(node_ids)), key=node_ids.__getitem__)
    picks = distributed_plus_plus([points[i] for i in order], [node_ids[i] for i in order], k, seed)
    return np.array([points[order[place]][row] for place, row in picks], dtype=np.int64)


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


def first_contribution(members: Members, place: int) -> tuple[IntArray, int]:
    """(sums (K, n + 1), SSD) that a node puts into step 0. By the labels of `partition` the SSD is 0: nobody has
    centres to measure from."""
    if members.labels is None:
        return contribution(members.points[place], members.starts[place], members.k)
    sums = np.zeros((members.k, members.n + 1), dtype=np.int64)
    np.add.at(sums[:, 0], members.labels[place], 1)
    np.add.at(sums[:, 1:], members.labels[place], members.points[place])
    return sums, 0


def contribution(points: IntArray, centres: IntArray | None, k: int) -> tuple[IntArray, int]:
    """(sums (K, n + 1), SSD) of a node: [:, 0] the counts m, [:, 1:] the sums u; zeros without centres."""
    sums = np.zeros((k, points.shape[1] + 1), dtype=np.int64)
    if centres is None:
        return sums, 0
    own = tally(points, centres)
    sums[:, 0], sums[:, 1:] = own.counts, own.sums
    return sums, int(own.ssd)
