"""The rows of `tree`: a spanning tree of the union of all phases, as shallow as it can be, then quiet, then even.

Depth is latency (a step takes one trip up and one down), nodes with children are broadcasts (they pass the commit on),
the worst node's degree is its load. `speakers` says who may have children; who takes which child is a semi-matching,
balanced along alternating paths (N. Harvey, R. Ladner, L. Lovász, T. Tamir, "Semi-matchings for bipartite graphs and
load balancing", 2006): each new child goes to the least loaded parent that it can reach by moving earlier children,
which keeps the largest load as small as it can be among these parents.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dcka.topology.graph import Graph, Neighbours, TopologyError, named_ids
from dcka.topology.speakers import parent_choices

MOST_ROOTS = 32
"""Roots that are tried: of a ring or a complete graph each node is as good as any other."""


@dataclass(frozen=True)
class TreeRow:
    """`parent`: an id, 0 at the root. `children`: ids, ascending. `span`: how many nodes its subtree has. `near`: the
    ids within radio reach."""

    parent: int
    children: tuple[int, ...]
    span: int
    near: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """`members` in preorder, the root first: every subtree is a contiguous range of it.
    `rows` by id. `depth`: hops from the root to the farthest node."""

    root: int
    members: tuple[int, ...]
    rows: dict[int, TreeRow]
    depth: int


def spanning_tree(graph: Graph, root: int | None = None) -> Tree:
    """The tree over all nodes of `graph`, with `root`, or else with a node of the smallest eccentricity: of the
    MOST_ROOTS of these with most neighbours the one whose tree has the fewest nodes with children, then the smallest
    worst degree, then the smallest id.

    Raises TopologyError for a root that is no node, and for a graph that is not jointly connected.
    """
    graph.require_jointly_connected()
    near = graph.union()
    if root is None:
        root, parents = _best_root(near)
    elif root in near:
        parents = _parents(near, root)
    else:
        raise TopologyError(f"root = {root} is no node of the network; the nodes are {named_ids(graph.ids)}")
    return _assembled(near, root, parents)


def eccentricities(near: Neighbours) -> dict[int, int]:
    """For every node of a connected graph, the hops to the node farthest from it.

    All at once: what a node knows after s slots of flooding is who is within s hops of it.
    """
    known = {node: 1 << index for index, node in enumerate(near)}
    everything = (1 << len(near)) - 1
    farthest: dict[int, int] = {}
    hops = 0
    while True:
        for node, mask in known.items():
            if mask == everything:
                farthest.setdefault(node, hops)
        if len(farthest) == len(near):
            return farthest
        before, hops = known, hops + 1
        known = {}
        for node, heard in near.items():
            mask = before[node]
            for other in heard:
                mask |= before[other]
            known[node] = mask


def _best_root(near: Neighbours) -> tuple[int, dict[int, int]]:
    farthest = eccentricities(near)
    least = min(farthest.values())
    central = sorted(
        (node for node in near if farthest[node] == least), key=lambda one: (-len(near[one]), one)
    )
    trees = {node: _parents(near, node) for node in central[:MOST_ROOTS]}
    root = min(trees, key=lambda node: (_speakers(trees[node]), _worst_degree(trees[node]), node))
    return root, trees[root]


def _speakers(parents: Mapping[int, int]) -> int:
    """How many nodes have children."""
    return len(set(parents.values()) - {0})


def _worst_degree(parents: Mapping[int, int]) -> int:
    """The most tree links of any node. `parents`: child → parent, the root mapped to 0."""
    degrees = {node: 1 if parent else 0 for node, parent in parents.items()}
    for parent in parents.values():
        if parent:
            degrees[parent] += 1
    return max(degrees.values())


def _parents(near: Neighbours, root: int) -> dict[int, int]:
    """Child → parent (`root` is mapped to 0), the loads balanced."""
    return {root: 0} | _balanced(parent_choices(near, root))


def _balanced(choices: Mapping[int, list[int]]) -> dict[int, int]:
    """Each child's parent out of its `choices`, the largest number of children as small as possible."""
    taken: dict[int, int] = {}
    children: dict[int, set[int]] = {parent: set() for options in choices.values() for parent in options}
    for child in choices:
        for moved, parent in _alternating_path(child, choices, children):
            if moved in taken:
                children[taken[moved]].remove(moved)
            taken[moved] = parent
            children[parent].add(moved)
    return taken


def _alternating_path(
    child: int, choices: Mapping[int, list[int]], children: Mapping[int, set[int]]
) -> list[tuple[int, int]]:
    """The moves (child, new parent) that place `child` and end at the least loaded parent within reach.

    The search steps from a child to each of its possible parents, and from a parent to the children that it
    has. Ties go to the parent found first, which is the nearest, then the smallest id.
    """
    reached_from: dict[int, int] = {}
    queue = [child]
    for mover in queue:
        for parent in choices[mover]:
            if parent not in reached_from:
                reached_from[parent] = mover
                queue.extend(sorted(children[parent]))
    goal = min(reached_from, key=lambda parent: len(children[parent]))
    owner = {placed: parent for parent in reached_from for placed in children[parent]}
    moves = []
    while True:
        mover = reached_from[goal]
        moves.append((mover, goal))
        if mover == child:
            return moves
        goal = owner[mover]


def _assembled(near: Neighbours, root: int, parents: Mapping[int, int]) -> Tree:
    children: dict[int, list[int]] = {node: [] for node in near}
    for node in sorted(parents):
        if node != root:
            children[parents[node]].append(node)
    members = []
    stack = [(root, 0)]
    depth = 0
    while stack:
        node, level = stack.pop()
        members.append(node)
        depth = max(depth, level)
        stack.extend((child, level + 1) for child in reversed(children[node]))
    spans: dict[int, int] = {}
    for node in reversed(members):
        spans[node] = 1 + sum(spans[child] for child in children[node])
    rows = {node: TreeRow(parents[node], tuple(children[node]), spans[node], near[node]) for node in near}
    return Tree(root, tuple(members), rows, depth)
