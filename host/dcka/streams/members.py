"""Who takes part in a clustering of a stream: those who hold the window, and hear each other."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from dcka.config import Config
from dcka.topology import Graph
from dcka.topology.graph import connected_parts


@dataclass(frozen=True)
class Part:
    """`config`: of the network of those who take part. `away`: who does not hold the window. `cut_off`: who does, and
    has no way to the others without those who are away.
    """

    config: Config
    away: tuple[int, ...]
    cut_off: tuple[int, ...]


def part_of(config: Config, there: Collection[int]) -> Part | None:
    """The largest part of the network whose nodes are `there`, of equals that with the lowest id; None for nobody."""
    present = sorted(set(config.ids) & set(there))
    if not present:
        return None
    away = tuple(node for node in config.ids if node not in present)
    graph = _without(config.graph, present)
    parts = connected_parts(graph.union())
    best = max(parts, key=len)
    if len(best) < len(present):
        graph = _without(config.graph, best)
    root = config.topology.root if config.topology.root in best else None
    made = replace(
        config,
        network=replace(config.network, nodes=tuple(best)),
        topology=replace(config.topology, root=root),
        graph=graph,
    )
    return Part(made, away, tuple(node for node in present if node not in best))


def _without(graph: Graph, ids: Collection[int]) -> Graph:
    """The graph of these nodes alone; a phase in which nobody of them hears another is left out, but for the last."""
    phases = tuple(tuple(link for link in phase if set(link) <= set(ids)) for phase in graph.phases)
    return Graph(tuple(sorted(ids)), tuple(phase for phase in phases if phase) or ((),))
