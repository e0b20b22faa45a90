"""What a node that sleeps deeply does next, and when: it samples, takes part in a clustering, or asks what time it is.

Pure: times are whole seconds by `dcka_core.clock`. A wake without the radio costs a thirtieth of one with it, so that
is what this spares: readings wait in RTC memory, clusterings begin on the network's pace, and a beacon is listened for
only where the clock would miss the next clustering by more than that costs.
"""

from dcka_core.clock import MOST_S
from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.clock import Clock

# What there is to do, added up.
SAMPLE, SYNC, JOIN, LISTEN = 1, 2, 4, 8
SPEAK = JOIN | LISTEN
# A clustering that can't be aimed at any better than by this is not aimed at: first somebody has to say the time.
AIM_S = 30
# For how long a beacon is listened for once there is time to connect: the host answers a status with one.
_LISTEN_S = 10
# From waking to being connected, at first; it is learned.
_LEAD_S = 5
_LEAD_CAP_S = 60
# After a wake at which nobody was there, the next beacon is listened for after a minute, then after twice as long each
# time, up to two hours.
_AGAIN_S = 60
_DOUBLINGS = 7
# Shorter sleeps are not worth the start that ends them.
LEAST_SLEEP_S = 3
# %. Low: every fourth clustering, the same ones at all nodes. Empty: no radio, and it goes on sampling.
LOW, EMPTY = 20, 5
_LOW_TAKES = 4
_NEVER = MOST_S
# A reading may be late by this part of its period, and still stand for its time.
_LATE = 4


class Pace:
    """When clusterings begin: number k at `at + k * every_s`. A node is there for `awake_s` after that, or until a run
    that has begun is over. done: the last one that the host has seen to its end, -1 for none.
    """

    def __init__(self, every_s: int, at: int, awake_s: int, done: int = -1) -> None:
        self.every_s = every_s
        self.at = at
        self.awake_s = awake_s
        self.done = done

    def start_of(self, number: int) -> int:
        return self.at + number * self.every_s

    def number_at(self, second: int) -> int:
        """The first clustering that begins at `second` or later."""
        return max(0, -((self.at - second) // self.every_s))


def read_pace(record: "dict[str, Any]") -> "Pace | None":
    """The pace that the host has published (protocol, section 7); None where it says that there is none.

    Raises CoreError.
    """
    found: Any = [record.get(name) for name in ("every_s", "at", "awake_s")] + [record.get("done", -1)]
    if record.get("v") != 1 or [value for value in found if type(value) is not int]:
        raise CoreError("no pace")
    every_s, at, awake_s, done = found
    if every_s == 0:
        return None
    if not (10 <= every_s <= 2678400 and 0 < at < MOST_S and 1 <= awake_s <= 3600 and -1 <= done < MOST_S):
        raise CoreError("pace is %r" % found)
    return Pace(every_s, at, awake_s, done)


class Rota:
    """One node's rota. sample_s: s between readings, taken at multiples of it; 0: it takes none. hold: the readings
    that RTC memory has room for. lead_s: from waking to being connected.

    What has been done, which has to survive: sampled: when the last reading was due. joined: the last clustering that
    this node was awake for. held: readings in RTC memory. vain: wakes in a row at which nobody said the time. asked_at:
    when it last began to listen for that. skipped: readings that were due and not taken.
    """

    def __init__(self, sample_s: int, hold: int) -> None:
        self.sample_s = sample_s
        self.hold = hold
        self.pace: Pace | None = None
        self.lead_s = _LEAD_S
        self.sampled = 0
        self.joined = -1
        self.held = 0
        self.vain = 0
        self.asked_at = -1
        self.skipped = 0

    # ---- what is next ----

    def next(self, now_s: int, clock: "Clock", battery: "int | None" = None) -> "tuple[int, int, int]":
        """(what, at, until): what to do next, when to begin, in the past where it is due, and how long at most to be
        awake for it. battery: %, where it is known.

        Nothing at all to do (0) has a time too: when to look again.
        """
        what, at, until = self.speaks(now_s, clock, battery)
        if self.sample_s and clock.known:
            due = self._sample_at(now_s)
            if what and at <= max(due, now_s):
                # It has the radio on, or will have: readings go to flash with it.
                return what | SYNC | (SAMPLE if due <= max(at, now_s) else 0), at, until
            return SAMPLE | (SYNC if self.held + 1 >= self.hold else 0), due, due
        return (what | SYNC if what & JOIN else what), at, until

    def speaks(self, now_s: int, clock: "Clock", battery: "int | None" = None) -> "tuple[int, int, int]":
        """As `next`, of what needs the radio alone."""
        if battery is not None and battery < EMPTY:
            at = now_s + (_AGAIN_S << _DOUBLINGS)
            return 0, at, at
        if self.pace is not None and clock.known:
            start = self.pace.start_of(self.number(now_s, clock, battery))
            guard = _up(clock.guard_ms(max(0, start - now_s)))
            if guard <= AIM_S:
                return JOIN, start - guard - self.lead_s, start + guard + self.pace.awake_s
        at = self._listen_at(now_s, clock)
        return LISTEN, at, max(at, now_s) + self.lead_s + _LISTEN_S

    def number(self, now_s: int, clock: "Clock", battery: "int | None") -> int:
        """The clustering to take part in next."""
        pace: Any = self.pace
        # One that is under way counts while somebody may still be waited for.
        late = now_s - pace.awake_s - _up(clock.guard_ms())
        number: int = max(pace.number_at(late), self.joined + 1, pace.done + 1)
        if battery is not None and battery < LOW:
            number += -number % _LOW_TAKES
        return number

    def _listen_at(self, now_s: int, clock: "Clock") -> int:
        """When to listen for a beacon: when the guard has grown to what can be aimed with; later, the more often nobody
        was there.
        """
        wanted = now_s
        if clock.known and self.pace is not None:
            wanted += clock.sleep_within(AIM_S * 1000)
        if self.vain:
            wanted = max(wanted, self.asked_at + (_AGAIN_S << min(_DOUBLINGS, self.vain - 1)))
        return min(_NEVER, wanted)

    def _sample_at(self, now_s: int) -> int:
        """When the next reading is due. One that is late by more than a quarter of the period is left out."""
        last = now_s - now_s % self.sample_s
        if not self.sampled:
            # The first one: not for a time before there was a clock.
            self.sampled = last
        late = last > self.sampled and now_s - last <= max(1, self.sample_s // _LATE)
        return last if late else max(last, self.sampled) + self.sample_s

    def due(self, now_s: int) -> bool:
        """Whether a reading is due."""
        return self.sample_s > 0 and self._sample_at(now_s) <= now_s

    # ---- what was done ----

    def took_reading(self, now_s: int) -> int:
        """A reading is taken now: for which time it stands. What was due before it and not taken is counted."""
        due = now_s - now_s % self.sample_s
        self.skipped += max(0, (due - self.sampled) // self.sample_s - 1)
        self.sampled = due
        return due

    def take_pace(self, pace: "Pace | None") -> None:
        """The host has said the pace."""
        old = self.pace
        if old is None or pace is None or (old.every_s, old.at) != (pace.every_s, pace.at):
            # They are counted from another beginning.
            self.joined = -1
        self.pace = pace

    def awake_for(self, number: int) -> None:
        """Clustering `number` is over for this node, with a run or without."""
        self.joined = max(self.joined, number)

    def asked(self, began_at: int, heard: bool, took_s: "int | None") -> None:
        """A wake with the radio is over. began_at: by the clock as it is now. took_s: until it was connected."""
        self.asked_at = began_at
        self.vain = 0 if heard else min(self.vain + 1, 255)
        if took_s is not None:
            # A quarter on top, and an eighth shorter with each wake: as the lead of a slot.
            self.lead_s = min(
                _LEAD_CAP_S, max(took_s + took_s // 4 + 1, self.lead_s - (self.lead_s + 7) // 8)
            )

    # ---- over a deep sleep ----

    def carried(self) -> "list[int]":
        """What has to survive, as CARRIED whole numbers of 32 bits (signed)."""
        pace = self.pace or Pace(0, 0, 0)
        flat = [pace.every_s, pace.at, pace.awake_s, pace.done]
        return flat + [
            self.lead_s,
            self.sampled,
            self.joined,
            self.held,
            self.vain,
            self.asked_at,
            self.skipped,
        ]

    def restore(self, carried: "list[int]") -> None:
        """Take up what `carried` gave. Raises CoreError for what it never gives."""
        every_s, at, awake_s, done = carried[:4]
        self.pace = read_pace({"v": 1, "every_s": every_s, "at": at, "awake_s": awake_s, "done": done})
        self.lead_s, self.sampled, self.joined, self.held, self.vain, self.asked_at, self.skipped = carried[
            4:
        ]
        whole = min(self.sampled, self.held, self.vain, self.skipped) >= 0 and self.held <= self.hold
        if not whole or not 1 <= self.lead_s <= _LEAD_CAP_S:
            raise CoreError("no state of a rota")


CARRIED = 11


def _up(ms: int) -> int:
    return (ms + 999) // 1000
