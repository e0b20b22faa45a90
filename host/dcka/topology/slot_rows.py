"""A tree's timetable as it travels: who sends and who listens in which slot of a period (docs/protocol.md, section 5).

Slot 0 is the beacon's; then come the slots of the timetable. All who are on one layer send in one slot: an access
point and a broker keep them apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from dcka.topology.graph import TopologyError
from dcka_core.slots import guard_ms

MAX_PERIOD = 24
"""Slots. At the end of such a period two clocks are a slot and a quarter apart (`dcka_core.slots`)."""

BOARD_ASSOCIATION_MS = 730
"""An ESP32 with a fixed address, from waking to connected (docs/energy.md); by DHCP it is 1600."""

NAP_ASSOCIATIONS = 5
"""A node sleeps where the gap is no less than so many associations: four leads of five quarters each
(`dcka_core.slots`)."""

Record = dict[str, object]
Parents = Mapping[int, int]


@dataclass(frozen=True)
class SlotRows:
    """`period`: slots of an outer step, the beacon's included. `rows`: by id the object `slots` of `rows/<i>`."""

    period: int
    rows: Mapping[int, Record]

    def guards(self, slot_ms: int) -> tuple[int, int]:
        """The smallest and the largest guard of a period, in ms: at its beginning and at its end."""
        return guard_ms(0, slot_ms), guard_ms(self.period * slot_ms, slot_ms)


def slot_rows(parents: Parents) -> SlotRows:
    """The slots of every node of the tree `parents` (child → parent, the root mapped to 0).

    A node sends in the slot after the last of its children, and passes the outcome on in the slot after it has it: the
    timetable that `dcka schedule --access any` designs and proves. Raises TopologyError where a period would be so long
    that two clocks lose each other within it.
    """
    children: dict[int, list[int]] = {node: [] for node in parents}
    for node in sorted(parents):
        if parents[node]:
            children[parents[node]].append(node)
    depths: dict[int, int] = {}
    layer = [node for node, parent in parents.items() if not parent]
    while layer:
        depths.update(dict.fromkeys(layer, 1 + depths[parents[layer[0]]] if depths else 0))
        layer = [child for node in layer for child in children[node]]
    heights: dict[int, int] = {}
    for node in sorted(parents, key=lambda one: -depths[one]):
        heights[node] = max((heights[child] + 1 for child in children[node]), default=0)
    top = max(heights.values())
    period = 1 + 2 * top
    if period > MAX_PERIOD:
        raise TopologyError(
            f"slot_ms: this tree needs {period} slots a step, and clocks that are 2 % off lose each other after "
            f"{MAX_PERIOD}; take a root or a topology with fewer hops, or slot_ms = 0"
        )
    return SlotRows(
        period,
        {
            node: {
                "up": 1 + heights[node] if parents[node] else 0,
                "hear": sorted({1 + heights[child] for child in children[node]}),
                "get": top + depths[node] if parents[node] else 0,
                "down": top + depths[node] + 1 if children[node] else 0,
            }
            for node in parents
        },
    )


def board_slot_ms(made: SlotRows) -> int | None:
    """The smallest slot_ms with which a board of this tree sleeps at all in an undisturbed step; None where none does.

    Between the end of slot a and slot b there are (b − a − 1 − b/24 − 1/4) · slot_ms, the guard of b taken off, and a
    node sleeps where that is no less than five associations.
    """
    widest = max((_gap(row, made.period) for row in made.rows.values()), default=Fraction(0))
    return (
        None
        if widest <= 0
        else -(-NAP_ASSOCIATIONS * BOARD_ASSOCIATION_MS * widest.denominator // widest.numerator)
    )


def _gap(row: Record, period: int) -> Fraction:
    """The longest stretch without work, in slots."""
    hear = row["hear"]
    slots = [row["up"], row["get"], row["down"], *(hear if isinstance(hear, list) else [])]
    busy = [0, *sorted({slot for slot in slots if isinstance(slot, int) and slot}), period]
    return max(
        Fraction(later - earlier - 1) - Fraction(later, 24) - Fraction(1, 4)
        for earlier, later in pairwise(busy)
    )
