"""Small instances of the airtime benchmark: a few nodes, a few readings."""

import numpy as np

from dcka.bench.pinned import Instance, whole
from dcka.inject.dataset import from_values
from dcka.topology import Graph


def small(graph, k=2, seed=1, readings=12, dims=2):
    """`readings` of `dims` dimensions at each node of `graph`, in two heaps."""
    numbers = np.random.default_rng(seed)
    values = {}
    for node in graph.ids:
        heap = numbers.integers(0, 2, size=(readings, 1)) * 10
        values[node] = heap + numbers.normal(size=(readings, dims))
    names = [f"c{j}" for j in range(dims)]
    return Instance("small", graph, whole(graph), from_values("small", names, values), k, seed)


def line(nodes=3):
    """Nodes 1 … N in a row, one phase."""
    return Graph.build(range(1, nodes + 1), [[(i, i + 1) for i in range(1, nodes)]])
