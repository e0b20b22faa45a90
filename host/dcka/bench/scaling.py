"""What the real nodes send as the network grows, and as hops lose messages: broadcasts of the consensus, no set-up.

Few readings and clusters: they decide how long a message is, and not how many there are.
"""

import random
from dataclasses import asdict, dataclass

from dcka.bench.held import points_of
from dcka.bench.pinned import SEEDS, random_graph
from dcka.bench.tree_runs import Settings, TreeOutcome, run_tree
from dcka.datasets import gaussians
from dcka.emulation.in_memory import Lost
from dcka.reference import tree_run
from dcka.topology import Graph

GROWTH_SEEDS = {10: 6, 100: SEEDS["n100"][0], 1000: 1}
"""Nodes → the seed of a graph that is connected."""
MOST_PER_NODE = 2.0
LOSS = 0.2
MOST_TIMES = {20: 6.0, 100: 10.0}
"""Nodes → how many times the lossless broadcasts a run with loss may take."""
LOSS_GRAPHS = 5
_CLUSTERS = 3
_PER_GAUSSIAN = 2
_STEPS = 8


@dataclass(frozen=True)
class Growth:
    """`steps`: outer steps of the run. `exact`: every node ended with the reference's centres."""

    nodes: int
    steps: int
    broadcasts: int
    exact: bool

    @property
    def per_step(self) -> float:
        return self.broadcasts / self.steps

    def record(self) -> dict[str, object]:
        return {
            "nodes": self.nodes,
            "outer_steps": self.steps,
            "broadcasts_per_step": self.per_step,
            "per_node": self.per_step / self.nodes,
            "bit_identical": self.exact,
        }


@dataclass(frozen=True)
class Loss:
    """A graph of `nodes` nodes without loss and with: broadcasts, and milliseconds of the nodes' clocks. `exact`: with
    loss, too, all ended with the reference's centres, and nobody was missing in any step."""

    nodes: int
    seed: int
    lossless: int
    lossy: int
    lossless_ms: int
    lossy_ms: int
    exact: bool

    def record(self) -> dict[str, object]:
        return asdict(self) | {"times": self.lossy / self.lossless}


def growth(nodes: int) -> Growth:
    """A run on the pinned random geometric graph of 10, 100 or 1,000 nodes, without loss."""
    outcome, exact = _run(nodes, GROWTH_SEEDS[nodes], None)
    return Growth(nodes, outcome.steps[0], outcome.count.consensus.broadcasts, exact)


def loss(nodes: int, seed: int) -> Loss:
    """A run in which each delivery from node to node is lost with probability LOSS, beside the same without loss."""
    runs = [_run(nodes, seed, None), _run(nodes, seed, coin(seed))]
    sent, lossy = (outcome.count.consensus.broadcasts for outcome, _ in runs)
    return Loss(nodes, seed, sent, lossy, runs[0][0].elapsed_ms, runs[1][0].elapsed_ms, runs[1][1])


def coin(seed: int) -> Lost:
    """Loses each message of the consensus with probability LOSS, at each hearer by itself."""
    numbers = random.Random(seed)

    def lost(sender: int, topic: str, hearer: int, now_ms: int) -> bool:
        return topic.partition("/")[0] in ("x", "commit", "epoch") and numbers.random() < LOSS

    return lost


def _run(nodes: int, seed: int, lost: Lost | None) -> tuple[TreeOutcome, bool]:
    """A run, and whether each node ended with the reference's centres and nobody ever missing."""
    graph: Graph = random_graph(nodes, seed, phases=1)
    dataset = gaussians(seed, nodes, _PER_GAUSSIAN)
    settings = Settings(_CLUSTERS, seed, max_steps=_STEPS, lost=lost)
    outcome = run_tree(dataset, points_of(dataset), graph, settings)
    tables = [dataset.points[node] for node in graph.ids]
    reference = tree_run(tables, graph.ids, _CLUSTERS, "local", seed, dataset.grid.extents, _STEPS)
    same = bool((outcome.centres == reference.centres.ravel()).all())
    return outcome, same and not outcome.missing and set(outcome.steps) == {len(reference.steps)}
