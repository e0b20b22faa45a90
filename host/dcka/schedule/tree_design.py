"""Which spanning tree: the shallowest, or the one whose hardest worked node spends the least.

A spanning tree whose largest degree is least is NP-hard to find, and so is the thriftiest. `thrifty` starts from the
shallow tree of a few roots and moves one subtree at a time under another parent, as long as that lowers the score
(after M. Fürer, B. Raghavachari, "Approximating the minimum-degree Steiner tree to within one of optimal", 1994).
What it finds is never worse than where it starts, and need not be the best.
"""

from collections.abc import Callable, Iterator

from dcka.schedule.tree_slots import Parents, children_of, depths_of
from dcka.topology.graph import Graph, Neighbours
from dcka.topology.tree_rows import Tree, eccentricities, spanning_tree

Score = tuple[tuple[float, ...], int]
"""What is to be small, and the node that works hardest: its children are moved first."""

MOST_ROOTS = 8
FEW_ROOTS = 2
MANY_NODES = 60
"""Beyond so many nodes the trials go into few roots and one order of moves: each takes more of them."""
MOST_EVALUATIONS = 2000
"""Trees that are tried: at 20 nodes two seconds of work, and fewer where each takes longer."""
_WORK = 60_000


def parents_of(tree: Tree) -> dict[int, int]:
    """Child → parent, the root mapped to 0."""
    return {node: tree.rows[node].parent for node in sorted(tree.rows)}


def shallow(graph: Graph, root: int | None = None) -> dict[int, int]:
    """The tree that `dcka run` takes (child → parent): smallest depth, then fewest nodes with children, then the
    smallest load on the worst node."""
    return parents_of(spanning_tree(graph, root))


def thrifty(
    graph: Graph, score: Callable[[Parents], Score], max_depth: int, root: int | None = None
) -> dict[int, int]:
    """A tree (child → parent) of a small first part of `score`, no deeper than `max_depth` hops.

    At least one root has to have a tree of that depth, such as that of `shallow`. Raises TopologyError as
    `shallow` does.
    """
    near = graph.union()
    roots = [root] if root is not None else _likely_roots(graph, near)
    budget = max(20, min(MOST_EVALUATIONS, _WORK // len(graph.ids)) // len(roots))
    best: tuple[Score, dict[int, int]] | None = None
    for candidate in roots:
        tree = spanning_tree(graph, candidate)
        if tree.depth > max_depth:
            continue
        for hardest_first in (True,) if len(near) > MANY_NODES else (True, False):
            found = _improved(near, parents_of(tree), score, max_depth, budget, hardest_first)
            if best is None or found[0][0] < best[0][0]:
                best = found
    if best is None:
        raise ValueError(f"no tree from {roots} is within {max_depth} hops")
    return best[1]


def _likely_roots(graph: Graph, near: Neighbours) -> list[int]:
    """The shallow tree's root first, then the most central nodes, those of few neighbours first."""
    farthest = eccentricities(near)
    first = spanning_tree(graph).root
    others = sorted(set(near) - {first}, key=lambda node: (farthest[node], len(near[node]), node))
    return [first, *others[: (FEW_ROOTS if len(near) > MANY_NODES else MOST_ROOTS) - 1]]


def _improved(
    near: Neighbours,
    parents: dict[int, int],
    score: Callable[[Parents], Score],
    max_depth: int,
    budget: int,
    hardest_first: bool,
) -> tuple[Score, dict[int, int]]:
    """The first move that lowers the score is made, and the search begins anew, until none does."""
    best = score(parents)
    spent = 1
    moved = True
    while moved and spent < budget:
        moved = False
        for child, parent in _moves(near, parents, max_depth, best[1] if hardest_first else None):
            other = {**parents, child: parent}
            value = score(other)
            spent += 1
            if value[0] < best[0]:
                best, parents, moved = value, other, True
                break
            if spent >= budget:
                break
    return best, parents


def _moves(
    near: Neighbours, parents: Parents, max_depth: int, hardest: int | None
) -> Iterator[tuple[int, int]]:
    """(node, new parent) that leave a tree of at most `max_depth` hops; the children of the node `hardest`
    first, where one is given, then that node itself, then the children of nodes that have many."""
    children = children_of(parents)
    depths = depths_of(parents)
    below: dict[int, set[int]] = {}
    for node in sorted(parents, key=lambda one: -depths[one]):
        below[node] = {node}.union(*(below[child] for child in children[node]))
    movable = [node for node in parents if parents[node]]

    def order(node: int) -> tuple[bool, bool, int, int]:
        return parents[node] != hardest, node != hardest, -len(children[parents[node]]), node

    for node in sorted(movable, key=order):
        height = max(depths[lower] for lower in below[node]) - depths[node]
        for parent in sorted(near[node], key=lambda one: (len(children[one]), one)):
            fits = depths[parent] + 1 + height <= max_depth
            if parent != parents[node] and parent not in below[node] and fits:
                yield node, parent
