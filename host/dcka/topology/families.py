"""Topologies by name: the two of the paper's experiments and the usual shapes, over any ids.

A family is defined over positions 1 … N; position p is the p-th smallest id. Links have a fixed order,
so that `split` phases can share them out: link e belongs to phase e mod split.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dcka.topology.graph import Graph, Link, TopologyError, checked_ids

# Beyond it, families that look at every pair of nodes would take minutes and gigabytes.
MAX_PAIRWISE_NODES = 2000

_EXPERIMENT_1 = (
    ((1, 2), (1, 3), (4, 5)),
    ((2, 3), (3, 4), (2, 4), (5, 1)),
)
_EXPERIMENT_2_NODES = 20
_EXPERIMENT_2_PHASES = 3


@dataclass(frozen=True)
class Shape:
    """The settings of a named topology; None = not given, the family's own default holds.

    `split`: phases to share the links among (default 1). `seed`, `radius`: of `random` (defaults 1, and the
    smallest radius that connects all). `columns`: of `grid` (default: the squarest grid).
    """

    kind: str
    split: int | None = None
    seed: int | None = None
    radius: float | None = None
    columns: int | None = None


def named(ids: Iterable[int], shape: Shape) -> Graph:
    """The graph of `shape` over `ids`.

    Raises TopologyError for an unknown kind, a setting that the kind does not have, a wrong number of nodes,
    more phases than links, and a radius that leaves `random` in parts.
    """
    members = checked_ids(ids)
    _refuse_foreign_settings(shape)
    if shape.kind in _FIXED:
        nodes, phases = _FIXED[shape.kind]
        if len(members) != nodes:
            raise TopologyError(
                f'"{shape.kind}" is a topology for {nodes} nodes, and there are {len(members)}; take another '
                f"kind ({', '.join(kind for kind in KINDS if kind not in _FIXED)}) or list the phases"
            )
        return Graph.build(members, _over(members, phases))
    links = _FAMILIES[shape.kind](len(members), shape)
    graph = Graph.build(members, _over(members, _shared_out(links, shape.split or 1)))
    graph.require_jointly_connected("take a larger radius, or leave it out")
    return graph


def _refuse_foreign_settings(shape: Shape) -> None:
    if shape.kind not in KINDS:
        raise TopologyError(f'there is no topology "{shape.kind}"; the kinds are {", ".join(KINDS)}')
    for setting, kinds in SETTINGS.items():
        if getattr(shape, setting) is not None and shape.kind not in kinds:
            raise TopologyError(
                f'{setting} = {getattr(shape, setting)} is no setting of kind "{shape.kind}", only of '
                f"{', '.join(kinds)}; remove it or take another kind",
                setting,
            )
    if shape.columns is not None and shape.columns < 1:
        raise TopologyError(f"columns = {shape.columns}: a grid has at least one; or leave it out", "columns")


def _over(ids: tuple[int, ...], phases: Iterable[Iterable[Link]]) -> list[list[Link]]:
    """Phases over positions 1 … N, turned into phases over ids."""
    return [[(ids[a - 1], ids[b - 1]) for a, b in links] for links in phases]


def _shared_out(links: list[Link], split: int) -> list[list[Link]]:
    if split > max(1, len(links)):
        raise TopologyError(
            f"split = {split} is more than the {len(links)} links; take {max(1, len(links))} or less",
            "split",
        )
    return [links[phase::split] for phase in range(split)]


def _experiment_2() -> tuple[tuple[Link, ...], ...]:
    """Ring links first, then the chords across; link e belongs to phase e mod 3."""
    links = _ring(_EXPERIMENT_2_NODES) + [(i, i + 10) for i in range(1, 11)]
    return tuple(tuple(phase) for phase in _shared_out(links, _EXPERIMENT_2_PHASES))


def _line(nodes: int) -> list[Link]:
    return [(i, i + 1) for i in range(1, nodes)]


def _ring(nodes: int) -> list[Link]:
    """A line whose ends meet; two nodes have one link, one has none."""
    return _line(nodes) + ([(nodes, 1)] if nodes > 2 else [])


def _star(nodes: int) -> list[Link]:
    return [(1, i) for i in range(2, nodes + 1)]


def _grid(nodes: int, shape: Shape) -> list[Link]:
    """Row by row; the last row may be short. By default as square as it gets: ⌈√N⌉ columns."""
    columns = shape.columns or next(side for side in range(1, nodes + 1) if side * side >= nodes)
    links = []
    for i in range(1, nodes + 1):
        if i % columns and i < nodes:
            links.append((i, i + 1))
        if i + columns <= nodes:
            links.append((i, i + columns))
    return links


def _complete(nodes: int) -> list[Link]:
    _refuse_too_many(nodes, "complete")
    return [(a, b) for a in range(1, nodes + 1) for b in range(a + 1, nodes + 1)]


def _random(nodes: int, shape: Shape) -> list[Link]:
    """A random geometric graph: nodes at random in the unit square, linked within the radius."""
    _refuse_too_many(nodes, "random")
    numbers = random.Random(1 if shape.seed is None else shape.seed)
    places = [(numbers.random(), numbers.random()) for _ in range(nodes)]
    reach = _connecting_reach(places) if shape.radius is None else shape.radius**2
    return [
        (a + 1, b + 1)
        for a in range(nodes)
        for b in range(a + 1, nodes)
        if _squared_distance(places[a], places[b]) <= reach
    ]


def _connecting_reach(places: list[tuple[float, float]]) -> float:
    """The smallest squared radius that connects all places: the longest edge of their minimum
    spanning tree (Prim), so the graph hangs together and is no denser than it has to be."""
    nearest = {place: _squared_distance(places[0], places[place]) for place in range(1, len(places))}
    reach = 0.0
    while nearest:
        place = min(nearest, key=lambda other: nearest[other])
        reach = max(reach, nearest.pop(place))
        for other in nearest:
            nearest[other] = min(nearest[other], _squared_distance(places[place], places[other]))
    return reach


def _squared_distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def _refuse_too_many(nodes: int, kind: str) -> None:
    if nodes > MAX_PAIRWISE_NODES:
        raise TopologyError(
            f'"{kind}" looks at every pair of nodes and takes at most {MAX_PAIRWISE_NODES} of them, '
            f"and there are {nodes}; take another kind or list the phases"
        )


_FIXED: dict[str, tuple[int, Iterable[Iterable[Link]]]] = {
    "experiment1": (5, _EXPERIMENT_1),
    "experiment2": (_EXPERIMENT_2_NODES, _experiment_2()),
}
_FAMILIES: dict[str, Callable[[int, Shape], list[Link]]] = {
    "ring": lambda nodes, shape: _ring(nodes),
    "line": lambda nodes, shape: _line(nodes),
    "grid": _grid,
    "star": lambda nodes, shape: _star(nodes),
    "complete": lambda nodes, shape: _complete(nodes),
    "random": _random,
}
KINDS: tuple[str, ...] = (*_FIXED, *_FAMILIES)
SETTINGS: dict[str, tuple[str, ...]] = {
    "split": tuple(_FAMILIES),
    "seed": ("random",),
    "radius": ("random",),
    "columns": ("grid",),
}
