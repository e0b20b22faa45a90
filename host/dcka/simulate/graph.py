"""Graphs of many nodes, as sparse matrices: links that switch, their Metropolis weights, and a spanning tree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial import KDTree

Pairs = NDArray[np.int64]
"""Links (L, 2) of positions 0 … N − 1, lower first, each once."""

PHASES = 3
TRIES = 100


@dataclass(frozen=True, eq=False)
class Graph:
    """`phases`: the links of each phase, in turn."""

    nodes: int
    phases: Sequence[Pairs]


def chords(nodes: int) -> Graph:
    """Phase p links i and i + 2^p (modulo N), for 2^p ≤ N/2: any two nodes are about log2 N links apart.

    A network in which a broker carries messages between any two nodes; not one of radio neighbours.
    """
    here = np.arange(nodes)
    phases = []
    step = 1
    while 2 * step <= max(nodes, 2):
        pairs = np.stack([here, (here + step) % nodes], axis=1)
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        phases.append(pairs[pairs[:, 0] != pairs[:, 1]])
        step *= 2
    return Graph(nodes, phases)


def geometric(nodes: int, seed: int) -> Graph:
    """A random geometric graph in the unit square, its links dealt to three phases in turn: radio neighbours.

    The radius is √(2 ln N / (π N)), or as much more as makes it connected. (P. Gupta, P. Kumar, "Critical power for
    asymptotic connectivity in wireless networks", 1998.)
    """
    places = np.random.default_rng(seed).random((nodes, 2))
    tree = KDTree(places)
    radius = math.sqrt(2 * math.log(max(nodes, 2)) / (math.pi * nodes))
    for _ in range(TRIES):
        pairs = np.sort(tree.query_pairs(radius, output_type="ndarray").astype(np.int64), axis=1)
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        if csgraph.connected_components(_adjacency(nodes, pairs), directed=False)[0] == 1:
            break
        radius *= 1.1
    return Graph(nodes, [pairs[phase::PHASES] for phase in range(PHASES)])


def _adjacency(nodes: int, pairs: Pairs) -> sparse.csr_array:
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return sparse.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(nodes, nodes))


def metropolis(nodes: int, pairs: Pairs) -> sparse.csr_array:
    """The weights of one phase, doubly stochastic: 1 / (1 + max(d_i, d_h)) on a link, the rest at home."""
    degree = np.bincount(pairs.ravel(), minlength=nodes)
    weight = 1.0 / (1.0 + np.maximum(degree[pairs[:, 0]], degree[pairs[:, 1]]))
    home = 1.0 - np.bincount(pairs.ravel(), np.repeat(weight, 2), minlength=nodes)
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], np.arange(nodes)])
    columns = np.concatenate([pairs[:, 1], pairs[:, 0], np.arange(nodes)])
    values = np.concatenate([weight, weight, home])
    return sparse.csr_array((values, (rows, columns)), shape=(nodes, nodes))


@dataclass(frozen=True, eq=False)
class Tree:
    """`order`: the root first, every parent before its children. `parents` (N,): −1 at the root. `levels`: for each
    depth from 1 on, its nodes. `inner`: how many have children."""

    order: NDArray[np.int64]
    parents: NDArray[np.int64]
    levels: Sequence[NDArray[np.int64]]
    inner: int


def breadth_first(graph: Graph) -> Tree:
    """The tree of shortest paths from node 0, over the links of all phases."""
    pairs = (
        np.unique(np.concatenate(list(graph.phases)), axis=0)
        if graph.nodes > 1
        else np.empty((0, 2), np.int64)
    )
    order, before = csgraph.breadth_first_order(_adjacency(graph.nodes, pairs), 0, directed=False)
    parents = np.where(before < 0, -1, before).astype(np.int64)
    depth = np.zeros(graph.nodes, np.int64)
    for node in order[1:]:
        depth[node] = depth[parents[node]] + 1
    levels = [np.flatnonzero(depth == d) for d in range(1, int(depth.max()) + 1)]
    return Tree(order.astype(np.int64), parents, levels, len(np.unique(parents[parents >= 0])))
