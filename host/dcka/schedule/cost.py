"""What a timetable costs each node: slots awake, messages, and the ledger of a day that the energy model takes.

A node sleeps through a stretch of slots without work where that is long enough to pay for associating again
(`dcka.energy.shortest_sleep_ms`), and stays awake through shorter ones. Steps follow each other without a pause
within a run, so stretches reach over the end of a step; between runs it is in deep sleep.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dcka.energy import DAY_MS, ESP32, Ledger, Model, modelled_mah, shortest_sleep_ms
from dcka.schedule.timetable import Row, Timetable, What

# Measured on experiment 1 (docs/benchmarks.md): 49 bytes a broadcast in `tree`, 266 in `gossip`, each with K = 9 and
# n = 2, so 27 numbers; a header of about 20 bytes is taken off.
HEADER_BYTES = 20
SUM_BYTES = 1.07
SHARE_BYTES = 9.0

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
    """`busy`, `awake`: slots of one timetable with work, and those not slept through. `asleep`: which slots are.
    `ledger`: of a day; `mah`: the modelled charge of a day."""

    busy: int
    awake: int
    asleep: tuple[bool, ...]
    ledger: Ledger
    mah: float


def runs_a_day(timetable: Timetable, usage: Usage, repeats: int = 1, model: Model = ESP32) -> float:
    """The runs of a day that `usage` has, or those that fit into it; less than one where a run takes days."""
    if usage.runs_a_day is not None:
        return usage.runs_a_day
    run_ms = usage.steps * repeats * len(timetable.slots) * usage.slot_ms + model.association_ms
    return min(RUNS_A_DAY, DAY_MS / run_ms)


def costs(timetable: Timetable, usage: Usage, repeats: int = 1, model: Model = ESP32) -> dict[int, NodeCost]:
    """For every id its cost; a step is `repeats` timetables one after the other.

    Raises EnergyError where a day is too short for the runs.
    """
    shortest = shortest_sleep_ms(model)
    runs = runs_a_day(timetable, usage, repeats, model)
    messages = _messages(timetable, usage)
    found = {}
    for node, rows in timetable.rows().items():
        work = tuple(row is not Row.REST for row in rows)
        asleep, naps = sleeping(work, usage.slot_ms, shortest)
        awake = len(work) - sum(asleep)
        day = _Day(usage, runs, repeats, model)
        ledger = day.ledger(awake, sum(asleep), naps, messages[node])
        found[node] = NodeCost(sum(work), awake, asleep, ledger, modelled_mah(ledger, model, DAY_MS))
    return found


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
    each = SHARE_BYTES if what is What.SHARE else SUM_BYTES
    return round(HEADER_BYTES + each * usage.k * (usage.dims + 1))


@dataclass
class _Messages:
    sent: int = 0
    heard: int = 0
    bytes_sent: int = 0
    bytes_heard: int = 0


def _messages(timetable: Timetable, usage: Usage) -> dict[int, _Messages]:
    found = {node: _Messages() for node in timetable.ids}
    for slot in timetable.slots:
        for send in slot:
            size = message_bytes(send.what, usage)
            found[send.sender].sent += 1
            found[send.sender].bytes_sent += size
            for hearer in send.hearers:
                found[hearer].heard += 1
                found[hearer].bytes_heard += size
    return found


@dataclass(frozen=True)
class _Day:
    """A day of `runs` runs, whose steps are `repeats` timetables each."""

    usage: Usage
    runs: float
    repeats: int
    model: Model

    def ledger(self, awake: int, asleep: int, naps: int, messages: _Messages) -> Ledger:
        """Of a node with so many slots awake and asleep in a timetable, these in `naps` stretches. A run begins
        with an association."""
        usage = self.usage
        steps = usage.steps * self.runs
        times = steps * self.repeats
        kernel_ms = usage.points * usage.k * usage.dims * POINT_NS * 1e-6
        handled_ms = times * (messages.sent + messages.heard) * MESSAGE_MS
        return Ledger(
            slots_awake=times * awake,
            slot_ms=usage.slot_ms,
            light_sleep_ms=times * (asleep * usage.slot_ms - naps * self.model.association_ms),
            associations=times * naps + self.runs,
            broadcasts=times * messages.sent,
            deliveries=times * messages.heard,
            payload_sent=times * messages.bytes_sent,
            payload_heard=times * messages.bytes_heard,
            computing_ms=min(steps * kernel_ms + handled_ms, times * awake * usage.slot_ms),
        )
