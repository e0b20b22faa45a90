"""What a schedule of `gossip` comes to: its period, its window, and how many slots its weights will take."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.schedule.errors import ScheduleError
from dcka.schedule.timetable import Access, Send, Timetable, What, in_order
from dcka.topology.gossip_rows import gossip_rows, window_slots
from dcka.topology.graph import Graph

MOST_NODES = 1000
"""The eigenvalues of a matrix of N × N that is not symmetric take N³: a few seconds here."""

# Below it a product of matrices that averages at once is told from zero by rounding alone.
_ZERO = 1e-12


@dataclass(frozen=True)
class Mixing:
    """`eigenvalue`: the second largest modulus of the weights of one period. `window`: slots in which news from
    anyone reaches everyone. `mixing_slots`: in which the spread shrinks to `tolerance` of itself. `slots`: those of
    an outer step by that: whole windows, and one more in which the nodes find out."""

    eigenvalue: float
    window: int
    tolerance: float
    mixing_slots: int
    slots: int


def gossip_timetable(graph: Graph) -> Timetable:
    """One period: a slot a phase, in which each node sends a broadcast for each group of its neighbours.

    Raises TopologyError unless all phases together are connected: links work both ways, so the union over a
    period is then strongly connected, which is what the mass needs to reach everyone.
    """
    graph.require_jointly_connected()
    rows = gossip_rows(graph)
    slots: list[list[Send]] = []
    for phase in range(len(graph.phases)):
        hearers: dict[tuple[int, int], list[int]] = {}
        for node in graph.ids:
            for group in rows[node][phase].hear:
                hearers.setdefault(group, []).append(node)
        slots.append([Send(sender, tuple(nodes), What.SHARE) for (sender, _), nodes in hearers.items()])
    return Timetable(graph.ids, in_order(slots), Access.ANY, frozenset(), graph.union())


def prove_strongly_connected(timetable: Timetable) -> None:
    """Raises ScheduleError, with a node and whom it never hears of, unless over one period every node is reached
    from every other along messages, each in the direction in which it is sent."""
    first = timetable.ids[0]
    for reverse in (False, True):
        onward: dict[int, set[int]] = {node: set() for node in timetable.ids}
        for send in (send for slot in timetable.slots for send in slot):
            for hearer in send.hearers:
                source, target = (hearer, send.sender) if reverse else (send.sender, hearer)
                onward[source].add(target)
        reached, front = {first}, [first]
        while front:
            fresh = onward[front.pop()] - reached
            reached |= fresh
            front.extend(fresh)
        for node in timetable.ids:
            if node not in reached:
                deaf, unheard = (first, node) if reverse else (node, first)
                raise ScheduleError(
                    f"node {deaf} never hears of node {unheard}, over all phases of the period"
                )


def mixing(graph: Graph, tolerance: float) -> Mixing:
    """What the second eigenvalue of the Metropolis weights predicts for `graph`.

    Raises ScheduleError for a tolerance that is not between 0 and 1, and for more than `MOST_NODES` nodes.
    """
    if not 0 < tolerance < 1:
        raise ScheduleError(f"tolerance {tolerance:g}: it is a fraction of the spread, such as 1e-4")
    if len(graph.ids) > MOST_NODES:
        raise ScheduleError(
            f"gossip: slots are predicted for {MOST_NODES} nodes at most, not {len(graph.ids)}"
        )
    window = window_slots(graph)
    value = second_eigenvalue(graph)
    periods = math.log(tolerance) / math.log(value) if value > _ZERO else 1.0
    shrink = max(1, math.ceil(len(graph.phases) * periods - 1e-9))
    return Mixing(value, window, tolerance, shrink, window * (1 + math.ceil(shrink / window)))


def second_eigenvalue(graph: Graph) -> float:
    """The second largest modulus of an eigenvalue of the product of one period's Metropolis weights.

    The largest is 1, of the vector of ones, and is taken out by subtracting the average (L. Xiao, S. Boyd, "Fast
    linear iterations for distributed averaging", 2004).
    """
    count = len(graph.ids)
    product: NDArray[np.float64] = np.eye(count)
    for phase in range(len(graph.phases)):
        product = _weights(graph, phase) @ product
    return float(np.abs(np.linalg.eigvals(product - 1 / count)).max())


def _weights(graph: Graph, phase: int) -> NDArray[np.float64]:
    place = {node: index for index, node in enumerate(graph.ids)}
    degrees = graph.degrees(phase)
    weights: NDArray[np.float64] = np.eye(len(graph.ids))
    for one, other in graph.phases[phase]:
        i, j = place[one], place[other]
        share = 1 / (1 + max(degrees[one], degrees[other]))
        weights[[i, j], [j, i]] += share
        weights[[i, j], [i, j]] -= share
    return weights
