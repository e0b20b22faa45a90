"""The rows of `gossip`: Metropolis shares on a switching graph, and the window of its stopping rule.

Metropolis weights: the share that i passes to h in a phase is 1 / (1 + max(d_i, d_h)), d the degree in that
phase. They are symmetric, so doubly stochastic, and a node needs to know only its neighbours' degrees
(L. Xiao, S. Boyd, "Fast linear iterations for distributed averaging", 2004).
"""

from dataclasses import dataclass

from dcka.topology.graph import Graph, Neighbours


@dataclass(frozen=True)
class PhaseRow:
    """One node's row of one phase (docs/protocol.md, section 3).

    `share`: (divisor, neighbours) for each group, divisors ascending: a share of `x // divisor` for each of
    that many neighbours. `hear`: (neighbour, group), neighbours ascending: whom the node hears, and which of
    the *sender's* groups is meant for it.
    """

    share: tuple[tuple[int, int], ...]
    hear: tuple[tuple[int, int], ...]


def gossip_rows(graph: Graph) -> dict[int, tuple[PhaseRow, ...]]:
    """For every id its row of every phase. A node without links in a phase has an empty row there."""
    phases = [_phase_rows(graph.neighbours(phase)) for phase in range(len(graph.phases))]
    return {node: tuple(rows[node] for rows in phases) for node in graph.ids}


def window_slots(graph: Graph) -> int:
    """The fewest slots, a multiple of the number of phases, in which everything that a node knows at a slot
    0 mod P has reached every other, everyone passing on in each slot what it knew before it.

    Raises TopologyError where the graph is not jointly connected: there is no such number.
    """
    graph.require_jointly_connected()
    neighbours = [graph.neighbours(phase) for phase in range(len(graph.phases))]
    known = {node: 1 << index for index, node in enumerate(graph.ids)}
    everything = (1 << len(graph.ids)) - 1
    slots = 0
    while slots == 0 or any(mask != everything for mask in known.values()):
        for phase in neighbours:
            known = _flooded(known, phase)
        slots += len(neighbours)
    return slots


def _phase_rows(neighbours: Neighbours) -> dict[int, PhaseRow]:
    degrees = {node: len(heard) for node, heard in neighbours.items()}
    divisors = {
        node: sorted({_divisor(degrees, node, other) for other in heard})
        for node, heard in neighbours.items()
    }
    rows = {}
    for node, heard in neighbours.items():
        own = [_divisor(degrees, node, other) for other in heard]
        share = tuple((divisor, own.count(divisor)) for divisor in divisors[node])
        hear = tuple(
            (other, divisors[other].index(divisor)) for other, divisor in zip(heard, own, strict=True)
        )
        rows[node] = PhaseRow(share, hear)
    return rows


def _divisor(degrees: dict[int, int], node: int, other: int) -> int:
    """Metropolis: the same from both ends of a link."""
    return 1 + max(degrees[node], degrees[other])


def _flooded(known: dict[int, int], neighbours: Neighbours) -> dict[int, int]:
    """What each node knows after one slot in which all send at once; a node's knowledge is a bit mask."""
    after = {}
    for node, heard in neighbours.items():
        mask = known[node]
        for other in heard:
            mask |= known[other]
        after[node] = mask
    return after
