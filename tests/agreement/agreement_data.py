"""Networks, schedules and settings that are drawn at random, and the laws' settings."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcka.reference import bits_for
from dcka.topology import Graph, Shape, named

laws = settings(
    derandomize=True, deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)


class Case(NamedTuple):
    """A network with data, who hears whom, and what the run record says of a start."""

    graph: Graph
    points: dict[int, NDArray[np.int64]]
    extents: list[int]
    k: int
    init: str
    seed: int
    centres: list[int] | None
    max_steps: int

    @property
    def settings(self) -> dict[str, Any]:
        """Its keys of the run record."""
        given = {} if self.centres is None else {"centres": self.centres}
        return {
            "k": self.k,
            "init": self.init,
            "seed": self.seed,
            "max_steps": self.max_steps,
            **given,
        }

    def for_reference(self, members: tuple[int, ...]) -> dict[str, Any]:
        """The arguments of `tree_run` and `gossip_run`, the nodes in this order."""
        given = None if self.centres is None else np.array(self.centres).reshape(self.k, len(self.extents))
        return {
            "node_points": [self.points[node] for node in members],
            "node_ids": members,
            "k": self.k,
            "init": self.init,
            "seed": self.seed,
            "extents": self.extents,
            "max_steps": self.max_steps,
            "given": given,
        }


def numbers(largest: int) -> st.SearchStrategy[int]:
    """Grid coordinates: small ones and both ends are frequent, so ties, repeats and extremes are too."""
    few = st.integers(0, min(6, largest))
    return st.one_of(few, st.sampled_from([0, largest]), st.integers(0, largest))


@st.composite
def tables(draw: Any, n: int, largest: int) -> NDArray[np.int64]:
    """Up to ten points of a node, or one point many times, or none."""
    row = st.lists(numbers(largest), min_size=n, max_size=n)
    alike = row.flatmap(lambda one: st.integers(1, 40).map(lambda times: [one] * times))
    rows = draw(alike if draw(st.integers(0, 5)) == 0 else st.lists(row, max_size=10))
    return np.array(rows, dtype=np.int64).reshape(-1, n)


@st.composite
def graphs(draw: Any, most: int = 6) -> Graph:
    """One to `most` nodes of any ids, on one to three phases that only together have to be connected."""
    ids = draw(st.lists(st.integers(1, 65535), min_size=1, max_size=most, unique=True))
    phases: list[set[tuple[int, int]]] = [set() for _ in range(draw(st.integers(1, 3)))]
    for place in range(1, len(ids)):
        other = ids[draw(st.integers(0, place - 1))]
        phases[draw(st.integers(0, len(phases) - 1))].add((ids[place], other))
    pairs = [(a, b) for place, a in enumerate(ids) for b in ids[:place]]
    for phase in phases:
        phase.update(pair for pair in pairs if draw(st.integers(0, 3)) == 0)
    return Graph.build(ids, phases)


@st.composite
def cases(draw: Any, most: int = 6) -> Case:
    """Networks of up to `most` nodes, some without points, some with fewer than K."""
    graph = draw(graphs(most))
    n = draw(st.sampled_from([1, 2, 2, 3, 9]))
    top = 2 ** bits_for(n) - 1
    k = draw(st.integers(1, 5))
    init = draw(st.sampled_from(["local", "sorted", "snake", "partition", "shared", "given"]))
    centres = st.lists(numbers(top), min_size=k * n, max_size=k * n)
    return Case(
        graph=graph,
        points={node: draw(tables(n, top)) for node in graph.ids},
        extents=draw(st.lists(numbers(top), min_size=n, max_size=n)),
        k=k,
        init=init,
        seed=draw(st.one_of(st.integers(0, 3), st.integers(0, 2**63 - 1))),
        centres=draw(centres) if init == "given" else None,
        max_steps=draw(st.integers(1, 9)),
    )


class Inner(NamedTuple):
    """The inner stop of `gossip`."""

    tolerance: int
    slots: int
    max_slots: int
    windows: int


@st.composite
def inner_stops(draw: Any, window: int) -> Inner:
    """Fixed slots or a tolerance, tight or so wide that the first chance decides; with room or without."""
    windows = draw(st.sampled_from([1, 1, 1, 2]))
    fixed = draw(st.sampled_from([0, 0, 1, 3])) * windows * window
    return Inner(
        tolerance=draw(st.sampled_from([0, 1, 255, 838, 60_000, 1 << 24])),
        slots=fixed,
        max_slots=max(fixed, draw(st.integers(1, 40))),
        windows=windows,
    )


def corner(points: dict[int, object], k: int = 3, init: str = "local", n: int = 2) -> Case:
    """A case on a line of nodes, of the grid's full range."""
    top = 2 ** bits_for(n) - 1
    graph = named(points, Shape("line", split=min(2, max(1, len(points) - 1))))
    tables = {node: np.array(table, dtype=np.int64).reshape(-1, n) for node, table in points.items()}
    return Case(graph, tables, [top] * n, k, init, 5, None, 50)


def many(seed: int, rows: int, n: int = 2) -> np.ndarray:
    top = 2 ** bits_for(n) - 1
    return np.random.default_rng(seed).integers(0, top + 1, (rows, n))


CORNERS = {
    "a node without points": corner({1: many(1, 40), 2: [], 3: many(2, 40)}),
    "no points at all": corner({1: [], 2: []}),
    "a node with fewer than K": corner({1: many(1, 40), 2: many(3, 2), 3: many(2, 40)}),
    "every node with fewer than K": corner({1: many(1, 2), 2: many(2, 2)}),
    "K = 1": corner({1: many(1, 30), 2: many(2, 5)}, k=1),
    "all points equal": corner({1: [[7, 9]] * 20, 2: [[7, 9]] * 30}),
    "both ends of the range": corner({1: [[0, 0]] * 9, 2: [[32767, 32767]] * 9, 3: [[0, 32767]] * 3}),
    "empty clusters of a shared start": corner({1: [[0, 0]] * 9, 2: [[1, 1]] * 9}, k=5, init="shared"),
    "more points than one block and one flush": corner({1: many(1, 33_000), 2: many(2, 3_000)}, k=4),
    "one dimension": corner({1: many(1, 50, 1), 2: many(2, 50, 1)}, n=1),
    "strips": corner({1: many(1, 9), 2: many(2, 12)}, 9, "snake"),
    "labels of few points": corner({1: many(1, 2), 2: [], 3: many(2, 1)}, 5, "partition"),
    "many dimensions": corner({1: many(1, 30, 40), 2: many(2, 30, 40)}, n=40),
}
