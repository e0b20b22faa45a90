"""Schedules for nodes of which any two may talk, through a broker: sums are copied, so no mass is moved.

In a slot a node sends at most one message and hears at most one, and may do both.
"""

from collections.abc import Sequence
from enum import Enum

from dcka.schedule.timetable import Access, Send, Timetable, What, in_order

Slots = list[list[Send]]


class Algorithm(Enum):
    """How pairs come to the sum of all. CIRCULANT: fewest slots. REDUCE: fewest broadcasts. FOLD: between."""

    CIRCULANT = "circulant"
    FOLD = "fold"
    REDUCE = "reduce"


def pairs_timetable(ids: Sequence[int], algorithm: Algorithm) -> Timetable:
    """The timetable of one outer step over `ids`, ascending.

    With N nodes, d = ⌈log2 N⌉ and c = 2^⌊log2 N⌋: CIRCULANT takes d slots of N broadcasts. FOLD takes log2 c slots
    of c, and two of N − c more where N is no power of two. REDUCE takes d slots with N − 1 broadcasts in all, and
    one in which the first node's result goes to everyone.
    """
    make = {Algorithm.CIRCULANT: _circulant, Algorithm.FOLD: _fold, Algorithm.REDUCE: _reduce}[algorithm]
    slots, deciders = make(ids)
    return Timetable(tuple(ids), in_order(slots), Access.PAIRS, frozenset(deciders), None)


def _circulant(ids: Sequence[int]) -> tuple[Slots, Sequence[int]]:
    """All nodes send in every slot, each to the node some places further on.

    Let T be what a node has gathered from the t nodes before it. If all send T to the t-th node further on, t
    doubles; if all send T and their own to the (t + 1)-th, it becomes 2t + 1. So t takes the binary digits of
    N − 1, the highest first (A. Bar-Noy, S. Kipnis, B. Schieber, "An optimal algorithm for computing census
    functions in message-passing systems", 1993).
    """
    slots = []
    gathered = 0
    for digit in f"{len(ids) - 1:b}" if len(ids) > 1 else "":
        own = digit == "1"
        step = gathered + own
        what = What.SUM if own else What.REST
        slots.append([Send(node, (ids[(place + step) % len(ids)],), what) for place, node in enumerate(ids)])
        gathered = 2 * gathered + own
    return slots, ()


def _fold(ids: Sequence[int]) -> tuple[Slots, Sequence[int]]:
    """The nodes beyond a power of two hand their sums to a partner; the others exchange along the dimensions of a
    hypercube (recursive doubling); the partners hand the result back (R. Rabenseifner, "Optimization of collective
    reduction operations", 2004)."""
    core = 1 << (len(ids).bit_length() - 1)
    extra = list(zip(ids[core:], ids, strict=False))
    slots = [[Send(node, (partner,), What.SUM) for node, partner in extra]] if extra else []
    for dimension in range(core.bit_length() - 1):
        slots.append([Send(ids[place], (ids[place ^ 1 << dimension],), What.SUM) for place in range(core)])
    if extra:
        slots.append([Send(partner, (node,), What.RESULT) for node, partner in extra])
    return slots, ids[:core]


def _reduce(ids: Sequence[int]) -> tuple[Slots, Sequence[int]]:
    """A binomial tree to the first node, which then broadcasts the result once: everyone hears its topic."""
    slots = []
    step = 1
    while step < len(ids):
        slots.append(
            [Send(ids[place], (ids[place - step],), What.SUM) for place in range(step, len(ids), 2 * step)]
        )
        step *= 2
    if len(ids) > 1:
        slots.append([Send(ids[0], tuple(ids[1:]), What.RESULT)])
    return slots, ids[:1]
