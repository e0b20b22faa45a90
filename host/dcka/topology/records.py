"""The schedule as it travels: members, root, window, and the records `rows/<i>` (protocol, section 3)."""

from dataclasses import dataclass

from dcka.topology.gossip_rows import PhaseRow, gossip_rows, window_slots
from dcka.topology.graph import Graph
from dcka.topology.tree_rows import TreeRow, spanning_tree

VERSION = 1

Record = dict[str, object]


@dataclass(frozen=True)
class Schedule:
    """What a run record and its rows take from the topology.

    `members`: ids in index order, the tree's preorder in `tree`, ascending in `gossip`. `root`, `depth`: of `tree`,
    else 0. `window`: slots of a window in `gossip`, else 0. `rows`: for each id its record without `run`.
    """

    kind: str
    members: tuple[int, ...]
    root: int
    depth: int
    window: int
    rows: dict[int, Record]

    def row_records(self, run: int) -> dict[int, Record]:
        """For every id the JSON object of its `rows/<i>` in run number `run`, ready to be published."""
        return {node: {"v": VERSION, "run": run, **row} for node, row in self.rows.items()}


def schedule(graph: Graph, kind: str, root: int | None = None) -> Schedule:
    """The schedule of `kind`, "tree" or "gossip", on `graph`; `root` counts for `tree` alone.

    Raises TopologyError for a graph that is not jointly connected and a root that is no node; ValueError
    for another kind.
    """
    if kind == "tree":
        tree = spanning_tree(graph, root)
        rows = {node: _tree_record(row) for node, row in tree.rows.items()}
        return Schedule("tree", tree.members, tree.root, tree.depth, 0, rows)
    if kind == "gossip":
        near = graph.union()
        records = {node: _gossip_record(phases, near[node]) for node, phases in gossip_rows(graph).items()}
        return Schedule("gossip", graph.ids, 0, 0, window_slots(graph), records)
    raise ValueError(f"no such kind of schedule: {kind!r}")


def _tree_record(row: TreeRow) -> Record:
    return {"parent": row.parent, "children": list(row.children), "members": row.span, "near": list(row.near)}


def _gossip_record(phases: tuple[PhaseRow, ...], near: tuple[int, ...]) -> Record:
    return {
        "phases": [
            {"share": [list(group) for group in row.share], "hear": [list(heard) for heard in row.hear]}
            for row in phases
        ],
        "near": list(near),
    }
