"""A timetable: who sends what to whom in which slot. Designers make it, the proof executes it, pictures show it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from dcka.topology.graph import Neighbours


class What(Enum):
    """What a message carries, by what its sender holds when the slot begins.

    SUM: all that it has gathered, its own part included. REST: that without its own part. RESULT: the outcome,
    which takes the place of what the hearer holds. SHARE: a part of its mass (`gossip`). BEACON: what time it is; in
    no timetable, but before each of `tree`.
    """

    SUM = "sum"
    REST = "rest"
    RESULT = "result"
    SHARE = "share"
    BEACON = "beacon"


class Access(Enum):
    """Who may send in the same slot.

    TWO_HOP: two nodes more than two hops apart, so that nobody hears two at once, nor sends while it is spoken
    to: one radio channel, no access point. ONE: one node in the whole network. ANY: all; the access point and
    the broker keep them apart. PAIRS: all, and each hears at most one.
    """

    TWO_HOP = "two-hop"
    ONE = "one"
    ANY = "any"
    PAIRS = "pairs"


class Row(Enum):
    """What a node does in a slot, with its sign in the timetable. BOTH: sends and hears. REST: nothing."""

    SENDS = "S"
    HEARS = "h"
    BOTH = "B"
    REST = "·"


@dataclass(frozen=True)
class Send:
    """One broadcast: `sender`, and `hearers`, who are awake for it, ascending."""

    sender: int
    hearers: tuple[int, ...]
    what: What


@dataclass(frozen=True)
class Timetable:
    """`ids`, ascending; `slots`, each with its broadcasts by sender.

    `deciders`: who may make a result of what it has gathered; all others pass on one that they have heard.
    `near`: for each id whom it is within radio reach of; None where any two may talk.
    """

    ids: tuple[int, ...]
    slots: tuple[tuple[Send, ...], ...]
    access: Access
    deciders: frozenset[int]
    near: Neighbours | None

    @property
    def broadcasts(self) -> int:
        return sum(len(slot) for slot in self.slots)

    @property
    def deliveries(self) -> int:
        return sum(len(send.hearers) for slot in self.slots for send in slot)

    def rows(self) -> dict[int, tuple[Row, ...]]:
        """For every id, what it does in each slot."""
        rows = {node: [Row.REST] * len(self.slots) for node in self.ids}
        for number, slot in enumerate(self.slots):
            senders = {send.sender for send in slot}
            hearers = {hearer for send in slot for hearer in send.hearers}
            for node in senders | hearers:
                both = node in senders and node in hearers
                rows[node][number] = Row.BOTH if both else Row.SENDS if node in senders else Row.HEARS
        return {node: tuple(row) for node, row in rows.items()}


def in_order(slots: Iterable[Iterable[Send]]) -> tuple[tuple[Send, ...], ...]:
    """The slots with each one's broadcasts in the order of their senders."""
    return tuple(tuple(sorted(slot, key=lambda send: (send.sender, send.hearers))) for slot in slots)
