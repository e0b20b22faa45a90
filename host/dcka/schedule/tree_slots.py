"""The slots of one outer step of `tree`: sums go up, then the root's result comes down; nothing collides.

Slots are filled one after the other (list scheduling): of the nodes that may send now, those go first that have
the longest way before them, and each next one that `access` lets send beside them.
"""

from collections.abc import Callable, Iterable, Mapping

from dcka.schedule.timetable import Access, Send, Timetable, What, in_order
from dcka.topology.graph import Neighbours

Parents = Mapping[int, int]
"""Child → parent; the root is mapped to 0."""


def tree_timetable(near: Neighbours, parents: Parents, access: Access = Access.TWO_HOP) -> Timetable:
    """The timetable of one outer step on the tree `parents` over `near`: a node sends its sum in a slot after
    those in which its children have sent, and passes the result on in a slot after that in which it has heard it.

    Whoever sends, sends once; a leaf passes nothing on. One node alone has no slots.
    """
    children = children_of(parents)
    depths = depths_of(parents)
    heights = _heights(parents, depths)
    root = next(node for node, parent in parents.items() if not parent)
    up = _filled(
        {node: children[node] for node in parents if node != root},
        lambda node: (-depths[node], -len(children[node]), node),
        near,
        access,
    )
    inner = [node for node in parents if children[node]]
    down = _filled(
        {node: [] if node == root else [parents[node]] for node in inner},
        lambda node: (-heights[node], -len(children[node]), node),
        near,
        access,
    )
    slots = [[Send(node, (parents[node],), What.SUM) for node in slot] for slot in up]
    slots += [[Send(node, tuple(children[node]), What.RESULT) for node in slot] for slot in down]
    return Timetable(tuple(sorted(parents)), in_order(slots), access, frozenset({root}), near)


def children_of(parents: Parents) -> dict[int, list[int]]:
    """For every node its children, ascending."""
    children: dict[int, list[int]] = {node: [] for node in parents}
    for node in sorted(parents):
        if parents[node]:
            children[parents[node]].append(node)
    return children


def depths_of(parents: Parents) -> dict[int, int]:
    """For every node the hops to the root."""
    children = children_of(parents)
    layer = [node for node, parent in parents.items() if not parent]
    depths: dict[int, int] = {}
    while layer:
        depths.update(dict.fromkeys(layer, 1 + depths[parents[layer[0]]] if depths else 0))
        layer = [child for node in layer for child in children[node]]
    return depths


def _heights(parents: Parents, depths: Mapping[int, int]) -> dict[int, int]:
    """For every node the hops to the farthest leaf below it."""
    heights = dict.fromkeys(parents, 0)
    for node in sorted(parents, key=lambda one: -depths[one]):
        if parents[node]:
            heights[parents[node]] = max(heights[parents[node]], heights[node] + 1)
    return heights


def _filled(
    waits_for: Mapping[int, Iterable[int]],
    order: Callable[[int], tuple[int, ...]],
    near: Neighbours,
    access: Access,
) -> list[list[int]]:
    """The senders of each slot: everyone in `waits_for` once, and after those of them that it waits for."""
    waiting = {node: {other for other in others if other in waits_for} for node, others in waits_for.items()}
    blocks: dict[int, list[int]] = {}
    for node, others in waiting.items():
        for other in others:
            blocks.setdefault(other, []).append(node)
    ready = sorted((node for node, others in waiting.items() if not others), key=order)
    slots = []
    while ready:
        slot = _together(ready, near, access)
        sent = set(slot)
        fresh = []
        for node in slot:
            for other in blocks.get(node, ()):
                waiting[other].remove(node)
                if not waiting[other]:
                    fresh.append(other)
        ready = sorted([*(node for node in ready if node not in sent), *fresh], key=order)
        slots.append(slot)
    return slots


def _together(ready: list[int], near: Neighbours, access: Access) -> list[int]:
    """Of `ready`, in its order, those that may send in one slot."""
    if access is Access.ONE:
        return ready[:1]
    if access is not Access.TWO_HOP:
        return ready
    slot: list[int] = []
    taken: set[int] = set()
    for node in ready:
        reach = {node, *near[node]}
        # Within two hops of each other = a node that both reach, or that is one of them.
        if not reach & taken:
            slot.append(node)
            taken |= reach
    return slot
