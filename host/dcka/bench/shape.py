"""The tree of a case as the float methods need it, and when each of its nodes is awake."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.schedule.timetable import Access, Row
from dcka.schedule.tree_slots import tree_timetable
from dcka.topology import Graph, spanning_tree


@dataclass(frozen=True, eq=False)
class Branches:
    """The tree that `dcka run` takes on `graph`. `ids`, ascending; all else by position in them: `order`, the root
    first and every parent before its children; `parents`, −1 at the root; `depths`; `children`. `work` (S, N): who has
    to be awake in which slot of an outer step, where all that are ready may send in one slot (an access point and a
    broker keep them apart)."""

    ids: tuple[int, ...]
    root: int
    order: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    work: NDArray[np.bool_]

    @classmethod
    def of(cls, graph: Graph, root: int | None = None) -> "Branches":
        tree = spanning_tree(graph, root)
        place = {node: index for index, node in enumerate(graph.ids)}
        parents = [place[row.parent] if row.parent else -1 for row in map(tree.rows.__getitem__, graph.ids)]
        order = [place[node] for node in tree.members]
        depths = [0] * len(parents)
        for index in order[1:]:
            depths[index] = depths[parents[index]] + 1
        children = tuple(tuple(place[child] for child in tree.rows[node].children) for node in graph.ids)
        table = tree_timetable(
            graph.union(), {node: tree.rows[node].parent for node in graph.ids}, Access.ANY
        )
        rows = table.rows()
        work = np.array([[row is not Row.REST for row in rows[node]] for node in graph.ids])
        return cls(graph.ids, place[tree.root], tuple(order), tuple(parents), tuple(depths), children, work.T)

    @property
    def inner(self) -> Sequence[int]:
        """The positions of nodes with children, a parent before its children."""
        return [index for index in self.order if self.children[index]]
