"""Who passes the commits on in `tree`: as few nodes as are found, and nobody farther from the root than need be.

Every node but the root sends its sums, in any tree; only nodes with children send commits as well, so what a tree
costs on the air goes by their number. The fewest are a connected dominating set, NP-hard to find; here each layer's are
a greedy set cover (V. Chvátal, "A greedy heuristic for the set-covering problem", 1979), from the farthest layer to the
root, and then whoever can be spared is.
"""

from collections.abc import Iterable, Mapping

from dcka.topology.graph import Neighbours


def hops_from(near: Neighbours, root: int) -> dict[int, int]:
    """For every node of a connected graph the hops to `root`, the nearest first."""
    hops = {root: 0}
    queue = [root]
    for node in queue:
        for other in near[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                queue.append(other)
    return hops


def parent_choices(near: Neighbours, root: int) -> dict[int, list[int]]:
    """For every node but `root` the nodes that may be its parent, ascending, so that few have children.

    A node with children is as near to the root as it can be, any other as near or nearer than the farthest node has
    to be. Whichever parents are chosen, it is a spanning tree of the smallest depth.
    """
    hops = hops_from(near, root)
    speakers = _spared(near, hops, _covering(near, hops))
    return {node: sorted(_above(node, near, hops, speakers)) for node in sorted(hops) if hops[node]}


def _above(node: int, near: Neighbours, hops: Mapping[int, int], speakers: set[int]) -> Iterable[int]:
    if node in speakers:
        return (other for other in near[node] if other in speakers and hops[other] < hops[node])
    return (other for other in near[node] if other in speakers)


def _covering(near: Neighbours, hops: Mapping[int, int]) -> set[int]:
    """Nodes such that each of them has another one in the layer above its own, and everyone else has one beside it.
    None is in the farthest layer."""
    layers: dict[int, list[int]] = {}
    for node in sorted(hops):
        layers.setdefault(hops[node], []).append(node)
    speakers: set[int] = set()
    for depth in range(len(layers) - 1, 0, -1):
        left = {node for node in layers[depth] if node in speakers or not speakers.intersection(near[node])}
        while left:
            best = max(layers[depth - 1], key=lambda node: len(left.intersection(near[node])))
            speakers.add(best)
            left.difference_update(near[best])
    return speakers


def _spared(near: Neighbours, hops: Mapping[int, int], speakers: set[int]) -> set[int]:
    """`speakers` but for those without whom everyone still has a choice, those with the fewest neighbours tried
    first."""
    kept = set(speakers)
    for node in sorted(speakers, key=lambda one: (len(near[one]), one)):
        rest = kept - {node}
        needing = [one for one in (node, *near[node]) if hops[one]]
        if hops[node] and all(any(True for _ in _above(one, near, hops, rest)) for one in needing):
            kept = rest
    return kept
