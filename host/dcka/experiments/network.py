"""A data set dealt to nodes, and the network's first step from each kind of start (docs/starts.md defines them)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.engine import First, Points, blend, means, prepare
from dcka.experiments.plus import plus_plus
from dcka.reference import (
    Grid,
    fit_grid,
    local_indices,
    partition_labels,
    shared_start,
    snake_order,
    sorted_order,
)

STARTS = ("local", "sorted", "snake", "shared", "partition", "kmeans++")
OWN = ("local", "sorted", "snake")
"""Starts in which every node has centres of its own."""

Table = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Network:
    """`tables`: for each node 1 … N its points (m_i, n). `whole`: the same on the grid, by which nodes draw. `points`:
    all of them, prepared for the engine; in whatever order. `grid`: fitted to all."""

    tables: Sequence[Table]
    whole: Sequence[Whole]
    points: Points
    grid: Grid

    @property
    def ids(self) -> range:
        return range(1, len(self.tables) + 1)

    @property
    def sizes(self) -> list[int]:
        return [len(own) for own in self.tables]


def network(tables: Sequence[Table], points: Points | None = None, grid: Grid | None = None) -> Network:
    """The nodes with `tables`; `points`, `grid`: of all of them, where these are known already."""
    every = np.concatenate(tables) if points is None or grid is None else None
    grid = fit_grid(every) if grid is None else grid
    points = prepare(every) if points is None else points
    return Network(tables, [grid.quantise(own)[0].astype(np.int64) for own in tables], points, grid)


def draws(net: Network, k: int, seed: int) -> list[list[int] | None]:
    """For each node the indices of its own draw, in the order drawn; None where it has fewer than K points."""
    return [local_indices(size, k, seed, node) for size, node in zip(net.sizes, net.ids, strict=True)]


def own_starts(net: Network, init: str, k: int, seed: int) -> list[Table | None]:
    """For each node its start (K, n) by `init`, one of OWN; None where it has fewer than K points."""
    found: list[Table | None] = []
    for table, whole, drawn in zip(net.tables, net.whole, draws(net, k, seed), strict=True):
        if drawn is not None and init != "local":
            order = sorted_order if init == "sorted" else snake_order
            drawn = [drawn[place] for place in order(whole[drawn])]
        found.append(None if drawn is None else table[drawn])
    return found


def basis_of(net: Network, k: int, seed: int) -> Table:
    """The shared start (K, n): what a cluster without points takes in step 0."""
    return net.grid.to_units(shared_start(net.grid.extents, k, seed))


def first_step(net: Network, init: str, k: int, seed: int) -> First | Table:
    """What the network holds after step 0, where nodes begin with centres or labels of their own; the common centres
    (K, n) where they begin alike: then step 0 is a plain one."""
    basis = basis_of(net, k, seed)
    if init in OWN:
        return blend(net.tables, own_starts(net, init, k, seed), basis)
    if init == "partition":
        sizes = zip(net.sizes, net.ids, strict=True)
        return means(net.tables, [partition_labels(size, k, seed, node) for size, node in sizes], basis)
    if init == "shared":
        return basis
    picks = plus_plus(net.whole, net.ids, k, seed)
    return np.stack([net.tables[node][row] for node, row in picks])


def central_start(net: Network, k: int, seed: int, run: int) -> Table:
    """CKA's start, (K, n): the very draw of one of the nodes, another in each run, so that methods are paired.

    Where points were dealt at random, it is K random points of all.
    """
    node = run % len(net.tables)
    drawn = local_indices(net.sizes[node], k, seed, node + 1)
    if drawn is None:
        raise ValueError(f"Node {node + 1} holds {net.sizes[node]} points, and K is {k}.")
    return net.tables[node][drawn]
