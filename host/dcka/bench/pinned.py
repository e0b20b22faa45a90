"""The cases: the same graphs, data and starts for every method, and in every run of the benchmark."""

import math
from dataclasses import dataclass

from dcka.datasets import gaussians
from dcka.inject.dataset import Dataset
from dcka.topology import Graph, Shape, named

GRAPHS = 20
PHASES = 3
CLUSTERS = 9

# Of random graphs: the first seeds from 1 on whose graph is connected at `radius`.
SEEDS = {
    "exp1": tuple(range(1, GRAPHS + 1)),
    "n20": (2, 7, 9, 13, 16, 19, 27, 28, 34, 43, 49, 50, 52, 55, 58, 60, 64, 65, 68, 69),
    "n100": (1, 2, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24, 25),
}


@dataclass(frozen=True, eq=False)
class Instance:
    """One data set on one graph.

    `graph`: with the phases of the switching topology. `tree_links`: the links that a tree may use, in one phase.
    `k`, `seed`: of the run; every node starts from its own draw (`local`). `replayed`: the phases are a recording,
    which goes on from one outer step to the next; otherwise each step begins with the first phase.
    """

    name: str
    graph: Graph
    tree_links: Graph
    dataset: Dataset
    k: int
    seed: int
    replayed: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        return self.graph.ids


def radius(nodes: int) -> float:
    """√(2 ln N / (π N)): twice the area at which random geometric graphs begin to be connected (P. Gupta, P. Kumar,
    "Critical power for asymptotic connectivity in wireless networks", 1998), 2 ln N neighbours on average."""
    return math.sqrt(2 * math.log(nodes) / (math.pi * nodes))


def random_graph(nodes: int, seed: int, phases: int = PHASES) -> Graph:
    """A random geometric graph at `radius`, its links dealt to the phases in turn. Raises TopologyError for one that
    is not connected."""
    return named(range(1, nodes + 1), Shape("random", split=phases, seed=seed, radius=radius(nodes)))


def whole(graph: Graph) -> Graph:
    """All links of a graph in one phase."""
    return Graph.build(graph.ids, [sorted({link for phase in graph.phases for link in phase})])


def instance(case: str, seed: int) -> Instance:
    """`case` exp1: nine Gaussians, 5 nodes of 900 points, the paper's two phases; the seed is of data and start. n20,
    n100: a random graph in three phases, nine Gaussians with 900 points a node, all from the seed."""
    graph = _EXPERIMENT_1 if case == "exp1" else random_graph(int(case[1:]), seed)
    dataset = gaussians(seed, len(graph.ids))
    return Instance(f"{case} seed {seed}", graph, whole(graph), dataset, CLUSTERS, seed)


_EXPERIMENT_1 = named(range(1, 6), Shape("experiment1"))
