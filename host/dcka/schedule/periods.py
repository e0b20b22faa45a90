"""What a period of `tree` in slots costs a node: beacon, guards and sleep by the firmware's own rules.

The rules are those of docs/protocol.md, section 5, "Slots", for an undisturbed step: nothing is lost, and each message
comes at the beginning of its slot, as clocks have it that are right on average. Guards are for those that are not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dcka.energy import Model
from dcka.schedule.timetable import Timetable, What
from dcka.topology.slot_rows import NAP_ASSOCIATIONS
from dcka_core.slots import guard_ms

Window = tuple[float, float]


@dataclass(frozen=True)
class Nights:
    """Of a node in one period: `awake_ms` and connected; `asleep_ms`; `naps`, each of which ends with connecting, in
    neither; `asleep`: for each slot, whether it sleeps through most of it."""

    awake_ms: float
    asleep_ms: float
    naps: int
    asleep: tuple[bool, ...]


def nights(timetable: Timetable, slot_ms: float, late_ms: float, model: Model) -> dict[int, Nights]:
    """By id. Slot 0 of the period is the beacon's, and those of `timetable` follow. `late_ms`: what a message takes.
    One node alone has no slots."""
    if not timetable.slots:
        return dict.fromkeys(timetable.ids, Nights(0.0, 0.0, 0, ()))
    span = (1 + len(timetable.slots)) * slot_ms
    found = {}
    for node in timetable.ids:
        mine = node in timetable.deciders
        windows = [(0.0, slot_ms), (span - (0 if mine else _guard(span, slot_ms)), span)]
        for number, slot in enumerate(timetable.slots, 1):
            begin = number * slot_ms
            for send in slot:
                if node == send.sender:
                    windows.append((begin, begin))
                elif node in send.hearers:
                    windows.append((begin - _guard(begin, slot_ms), begin + late_ms))
        found[node] = _nights(_merged(windows), slot_ms, span, model)
    return found


def messages(timetable: Timetable, root: int) -> list[tuple[int, Sequence[int], What]]:
    """(sender, hearers, what) of a period: the beacon, and those of `timetable`."""
    beacon = (root, [node for node in timetable.ids if node != root], What.BEACON)
    sends = [(send.sender, send.hearers, send.what) for slot in timetable.slots for send in slot]
    return [beacon, *sends]


def _guard(since_ms: float, slot_ms: float) -> int:
    return guard_ms(int(since_ms), int(slot_ms))


def _merged(windows: Iterable[Window]) -> list[Window]:
    merged: list[Window] = []
    for begin, end in sorted(windows):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _nights(windows: Sequence[Window], slot_ms: float, span: float, model: Model) -> Nights:
    """A node wakes a lead before a window, 5/4 of what connecting takes, and sleeps where the gap is worth it."""
    lead = model.association_ms * 5 / 4
    naps = [
        (end, begin - lead)
        for (_, end), (begin, _) in pairwise(windows)
        if begin - end >= NAP_ASSOCIATIONS * model.association_ms
    ]
    asleep = sum(end - begin for begin, end in naps)
    through = tuple(
        sum(max(0.0, min(end, at + slot_ms) - max(begin, at)) for begin, end in naps) > slot_ms / 2
        for at in (number * slot_ms for number in range(round(span / slot_ms)))
    )
    return Nights(span - asleep - len(naps) * model.association_ms, asleep, len(naps), through)
