"""What a timetable costs each node: slots awake, messages, and the ledger of a day that the energy model takes.

In `tree` a node sleeps as the firmware has it (`period_costs`). In `gossip` and `pairs`, whose slots no firmware keeps,
it sleeps through a stretch of slots without work where that is long enough to pay for associating again
(`dcka.energy.shortest_sleep_ms`), and stays awake through shorter ones. Steps follow each other without a pause
within a run, so stretches reach over the end of a step; between runs it is in deep sleep.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dcka.energy import DAY_MS, ESP32, Ledger, Model, modelled_mah, shortest_sleep_ms
from dcka.schedule.periods import messages, nights
from dcka.schedule.timetable import Row, Timetable, What

# Measured on experiment 1 (docs/benchmarks.md): 49 bytes a broadcast in `tree`, 266 in `gossip`, each with K = 9 and
# n = 2, so 27 numbers; a header of about 20 bytes is taken off.
HEADER_BYTES = 20
SUM_BYTES = 1.07
SHARE_BYTES = 9.0
BEACON_BYTES = 9
"""Counted: 2 bytes of header, 7 varints of mostly one byte (docs/protocol.md, section 4, type 7)."""

RUNS_A_DAY = 24.0
"""Once an hour, where nothing else is said."""

# Assumed, not measured on a board: the viper kernel at 240 MHz, and MicroPython handling a message.
POINT_NS = 120.0
MESSAGE_MS = 5.0


@dataclass(frozen=True)
class Usage:
    """How a schedule is used. `slot_ms`; `steps`: outer steps of a run; `runs_a_day`: None is 24, or as many as a
    day has room for; `k` clusters of `dims` dimensions; `points` that a node holds."""

    slot_ms: float = 1000.0
    steps: int = 12
    runs_a_day: float | None = None
    k: int = 9
    dims: int = 2
    points: int = 900


@dataclass(frozen=True)
class NodeCost:
    """`busy`, `awake`: slots of one timetable with work, and those not slept through, of `tree` a fraction and with the
    beacon's. `asleep`: which slots are. `ledger`: of a day; `mah`: the modelled charge of a day."""

    busy: int
    awake: float
    asleep: tuple[bool, ...]
    ledger: Ledger
    mah: float


def runs_a_day(slots: int, usage: Usage, model: Model = ESP32, first: int = 0) -> float:
    """The runs of a day that `usage` has, or those that fit into it where a step has so many slots, and a run `first`
    more of them; less than one where a run takes days."""
    if usage.runs_a_day is not None:
        return usage.runs_a_day
    run_ms = (usage.steps * slots + first) * usage.slot_ms + model.association_ms
    return min(RUNS_A_DAY, DAY_MS / run_ms)


def costs(timetable: Timetable, usage: Usage, repeats: int = 1, model: Model = ESP32) -> dict[int, NodeCost]:
    """For every id its cost; a step is `repeats` timetables one after the other.

    Raises EnergyError where a day is too short for the runs.
    """
    shortest = shortest_sleep_ms(model)
    runs = runs_a_day(len(timetable.slots) * repeats, usage, model)
    said = _messages(timetable.ids, _sends(timetable), usage)
    found = {}
    for node, rows in timetable.rows().items():
        work = tuple(row is not Row.REST for row in rows)
        asleep, naps = sleeping(work, usage.slot_ms, shortest)
        awake = len(work) - sum(asleep)
        day = _Day(usage, runs, repeats, model)
        light_ms = sum(asleep) * usage.slot_ms - naps * model.association_ms
        ledger = day.ledger(awake, light_ms, naps, said[node])
        found[node] = NodeCost(sum(work), awake, asleep, ledger, modelled_mah(ledger, model, DAY_MS))
    return found


def period_costs(timetable: Timetable, root: int, usage: Usage, model: Model = ESP32) -> dict[int, NodeCost]:
    """For every id its cost in `tree`, whose step is one period: the beacon of `root`, then `timetable`. A run begins
    a slot before its first beacon, with everybody awake.

    Raises EnergyError where a day is too short for the runs.
    """
    slots = period_slots(timetable)
    day = _Day(usage, runs_a_day(slots, usage, model, min(1, slots)), 1, model, min(1, slots))
    said = _messages(timetable.ids, messages(timetable, root), usage)
    slept = nights(timetable, usage.slot_ms, MESSAGE_MS, model)
    found = {}
    for node, rows in timetable.rows().items():
        night = slept[node]
        busy = bool(slots) + sum(row is not Row.REST for row in rows)
        ledger = day.ledger(night.awake_ms / usage.slot_ms, night.asleep_ms, night.naps, said[node])
        awake = slots - night.asleep_ms / usage.slot_ms
        found[node] = NodeCost(busy, awake, night.asleep, ledger, modelled_mah(ledger, model, DAY_MS))
    return found


def period_slots(timetable: Timetable) -> int:
    """Slots of a step of `tree`, the beacon's included; one node alone has none."""
    return 1 + len(timetable.slots) if timetable.slots else 0


def sleeping(work: Sequence[bool], slot_ms: float, shortest_ms: float) -> tuple[tuple[bool, ...], int]:
    """Which of the slots are slept through, and in how many stretches; `work` repeats without end.

    A node without any work sleeps through all, in no stretch: it need not wake.
    """
    count = len(work)
    if not any(work):
        return (True,) * count, 0
    asleep = [False] * count
    naps = 0
    # From a slot with work to the next one, all the way round.
    busy = [slot for slot, works in enumerate(work) if works]
    for slot, following in zip(busy, [*busy[1:], busy[0] + count], strict=True):
        stretch = following - slot - 1
        if stretch * slot_ms > shortest_ms:
            naps += 1
            for idle in range(slot + 1, following):
                asleep[idle % count] = True
    return tuple(asleep), naps


def message_bytes(what: What, usage: Usage) -> int:
    """The payload of a message: K·(n + 1) numbers and a header."""
    if what is What.BEACON:
        return BEACON_BYTES
    each = SHARE_BYTES if what is What.SHARE else SUM_BYTES
    return round(HEADER_BYTES + each * usage.k * (usage.dims + 1))


@dataclass
class _Messages:
    sent: int = 0
    heard: int = 0
    bytes_sent: int = 0
    bytes_heard: int = 0


_Said = tuple[int, Sequence[int], What]


def _sends(timetable: Timetable) -> list[_Said]:
    return [(send.sender, send.hearers, send.what) for slot in timetable.slots for send in slot]


def _messages(ids: Iterable[int], said: Iterable[_Said], usage: Usage) -> dict[int, _Messages]:
    found = {node: _Messages() for node in ids}
    for sender, hearers, what in said:
        size = message_bytes(what, usage)
        found[sender].sent += 1
        found[sender].bytes_sent += size
        for hearer in hearers:
            found[hearer].heard += 1
            found[hearer].bytes_heard += size
    return found


@dataclass(frozen=True)
class _Day:
    """A day of `runs` runs, whose steps are `repeats` timetables each; `first`: slots before the first one."""

    usage: Usage
    runs: float
    repeats: int
    model: Model
    first: int = 0

    def ledger(self, awake: float, light_ms: float, naps: int, messages: _Messages) -> Ledger:
        """Of a node with so many slots awake and ms asleep in a timetable, these in `naps` stretches. A run begins
        with an association."""
        usage = self.usage
        steps = usage.steps * self.runs
        times = steps * self.repeats
        kernel_ms = usage.points * usage.k * usage.dims * POINT_NS * 1e-6
        handled_ms = times * (messages.sent + messages.heard) * MESSAGE_MS
        return Ledger(
            slots_awake=times * awake + self.runs * self.first,
            slot_ms=usage.slot_ms,
            light_sleep_ms=times * light_ms,
            associations=times * naps + self.runs,
            broadcasts=times * messages.sent,
            deliveries=times * messages.heard,
            payload_sent=times * messages.bytes_sent,
            payload_heard=times * messages.bytes_heard,
            computing_ms=min(steps * kernel_ms + handled_ms, times * awake * usage.slot_ms),
        )
