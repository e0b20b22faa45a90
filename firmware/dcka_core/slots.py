"""Slot time: when a node sends, listens and sleeps, by its own clock and the last beacon (protocol, section 5).

Loaded in runs with slots alone. The host takes its formula from here too.
"""

from dcka_core import ticks
from dcka_core.codec import Reader, put_varint
from dcka_core.errors import MessageError
from dcka_core.messages import VERSION, put_head, read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Run, Slots

_BEACON = 7
# Clocks are off by 2 % at most. Two of them part by 1.02 / 0.98 - 1 = 4.08 % of the time since they were set, and the
# guard is measured by such a clock itself: 1/24 = 4.17 %.
_APART = 24
# What a message may be late, as a part of a slot.
_LATE = 4
# A node that has heard nothing for so many periods sleeps for one, then for two and for four.
_AWAKE_CAP = 4
_DOUBLINGS = 2
# To associate costs an ESP32 as much as 4.5 times as long associated (docs/energy.md). A node allows for a quarter more
# time than that takes, so that shorter sleeps than four of these are not worth it.
_WORTH = 4
# Of a beacon's numbers: half a period of the clock.
_MOST = 1 << 28


def guard_ms(since_ms: int, slot_ms: int) -> int:
    """How far from its own slot time a node has to expect another's, `since_ms` after the beacon that set both."""
    return since_ms // _APART + slot_ms // _LATE


class Turns:
    """When a node sends, listens and sleeps; all times of a period are ms since its slot 0 began.

    slots: (up, get, down, hear), 0 where there is none. mine: whether this node's clock is the network's.
    phase: the tick at which slot 0 of the period `number` began, as far as is known. known: whether a beacon was ever
    heard; fresh: whether this period's was. step: of the commit that the root held then. said: the own sums were sent
    in this period. came: the children that were heard in it. unsaid: there is a commit to be passed on. missed: periods
    in a row in which nothing was heard. away: asleep, or not connected since.
    """

    def __init__(self, slot_ms: int, period: int, slots: "Slots", now: int) -> None:
        self._slot_ms = slot_ms
        self._span = slot_ms * period
        self.up, self._get, self.down, self._hear = slots
        self._mine = False
        self.phase = now
        self.number = 0
        self.step = 0
        self._known = self.fresh = self.said = self.unsaid = self.away = self._outage = False
        self._missed = 0
        self.came: list[int] = []
        self.slept_ms = 0
        self._vain = 0
        # When a beacon last set the phase, and of which period it was.
        self._set_at = now
        self._heard = 0
        self._doubted = False
        # From waking to being connected; it is learnt.
        self._lead = slot_ms // 8
        self._awake_at = now
        self._awake_ms = 0

    # ---- the clock ----

    def begin(self, now: int) -> None:
        """At the root: period 0 begins at `now`, by its own clock."""
        self._mine = self._known = self.fresh = True
        self.phase = self._set_at = now

    def where(self, now: int) -> int:
        """ms since slot 0 began; negative where that is still to come."""
        return ticks.diff(now, self.phase)

    def _guard(self, where: int) -> int:
        """The guard at `where`."""
        return guard_ms(max(0, ticks.diff(self.phase, self._set_at) + where), self._slot_ms)

    def tick(self, now: int) -> bool:
        """Go on to the period that `now` is in, as the own clock has it. Whether it is another one."""
        passed = max(0, self.where(now) // self._span)
        if not passed:
            return False
        self.phase = ticks.add(self.phase, passed * self._span)
        self.number += passed
        # One, also where it slept through several.
        self._missed += 1
        self._anew()
        self.fresh = self._mine
        if self._mine:
            self._set_at = self.phase
        return True

    def take(self, number: int, late: int, now: int) -> None:
        """Slot 0 of period `number` began `late` ms before this was sent.

        MessageError for one that was overtaken by a later one, and for one that comes later than two clocks can
        explain: it was held up, and would set the phase wrong. A second of that kind is believed.
        """
        begun = ticks.add(now, -late)
        if self._known:
            if number <= self._heard:
                raise MessageError("stale")
            ahead = (number - self._heard) * self._span
            behind = ticks.diff(begun, self._set_at) - ahead
            self._doubted = not self._doubted and behind > guard_ms(ahead, self._slot_ms)
            if self._doubted:
                raise MessageError("stale")
        if number != self.number or not self._known:
            self._anew()
        self.number = self._heard = number
        self.phase = self._set_at = begun
        self._known = self.fresh = True
        self.heard()

    def _anew(self) -> None:
        # Also where it does not sleep: one slow connection shall not keep it awake for the rest of the run.
        self._lead -= self._lead // 8
        self.said = False
        self.came = []

    def heard(self) -> None:
        """Somebody is there."""
        self._missed = self._vain = 0

    # ---- slots ----

    def inside(self, slot: int, now: int) -> bool:
        """Whether those who listen in `slot` are awake for it: from its beginning on, until their guard is over."""
        begin = slot * self._slot_ms
        where = self.where(now)
        return self._known and begin <= where < begin + self._slot_ms + self._guard(begin)

    def all_awake(self, now: int) -> bool:
        """Whether it is early in the beacon's slot, in which everybody listens."""
        return self.fresh and 0 <= self.where(now) < self._slot_ms // 2

    def overdue(self, now: int) -> bool:
        """Half of the slot in which to send is over: what hasn't come is not waited for."""
        return self.where(now) >= self.up * self._slot_ms + self._slot_ms // 2

    def _around(self, slot: int) -> "tuple[int, int]":
        begin = slot * self._slot_ms
        end = begin + self._slot_ms
        return begin - self._guard(begin), end + self._guard(end)

    def _windows(self, complete: bool, got: bool) -> "list[tuple[int, int]]":
        """(from, to) of what a node is still to be awake for in this period, and of the next beacon."""
        found = [(0, self._slot_ms)]
        if not complete:
            found.extend([self._around(slot) for slot in self._hear])
        if self._get and not got:
            found.append(self._around(self._get))
        for slot, open_still in ((self.up, not self.said), (self.down, self.unsaid)):
            if slot and open_still:
                found.append((slot * self._slot_ms, self._around(slot)[1]))
        ahead = 0 if self._mine else self._guard(self._span)
        found.append((self._span - ahead, self._span + self._slot_ms))
        return found

    def deadline(self, now: int, complete: bool, got: bool, may_sleep: bool) -> int:
        """The tick at which there is something to do or to decide; at once, where it can sleep."""
        if self.away:
            return self._awake_at if ticks.diff(self._awake_at, now) > 0 else self._give_up_at()
        if may_sleep and self._idle(now, complete, got):
            return now
        where = self.where(now)
        ends = [self.up * self._slot_ms + self._slot_ms // 2, 0]
        for window in self._windows(complete, got):
            ends.extend(window)
        ends.append(self._span)
        ends = [end for end in ends if end > where]
        # The period is over, and the next one has not begun yet: at once.
        return ticks.add(self.phase, min(ends)) if ends else now

    # ---- sleep ----

    def rest(self, now: int, complete: bool, got: bool) -> int:
        """For how many ms to sleep now; 0 where there is something to be awake for, or it is not worth it."""
        if self._missed >= _AWAKE_CAP:
            return self._tired()
        return self._idle(now, complete, got)

    def _idle(self, now: int, complete: bool, got: bool) -> int:
        where = self.where(now)
        if not self.fresh or where < 0:
            return 0
        ahead = self._span
        for begin, end in self._windows(complete, got):
            if begin <= where < end:
                return 0
            if begin > where:
                ahead = min(ahead, begin)
        gap = ahead - where
        return gap - self._lead if gap >= _WORTH * self._lead else 0

    def _tired(self) -> int:
        """Nobody was heard for as long as a battery has for it."""
        self._missed = 0
        self._vain += 1
        return self._span << min(_DOUBLINGS, self._vain - 1)

    def _give_up_at(self) -> int:
        return ticks.add(self._awake_at, _AWAKE_CAP * self._span)

    def given_up(self, now: int) -> int:
        """For how many ms to sleep again where the link has not come back; 0 while that may be."""
        if ticks.diff(now, self._give_up_at()) < 0:
            return 0
        self._outage = True
        return self._tired()

    def leave(self, now: int, rest_ms: int) -> None:
        """Asleep from now on."""
        self._awake_ms += max(0, ticks.diff(now, self._awake_at))
        self._awake_at = ticks.add(now, rest_ms)
        self.slept_ms += rest_ms
        self.away = True

    def back(self, now: int) -> bool:
        """Connected again after a sleep; what that took is allowed for next time, and a quarter on top. Whether the
        broker had not been there.
        """
        took = max(0, ticks.diff(now, self._awake_at))
        outage = self._outage
        if not outage:
            self._lead = max(took + took // 4, self._lead)
        self.away = self._outage = False
        return outage

    def slots(self, now: int) -> int:
        """So far, rounded up."""
        awake_ms = self._awake_ms + max(0, ticks.diff(now, self._awake_at))
        return (awake_ms + self._slot_ms - 1) // self._slot_ms


def is_beacon(payload: "bytes | memoryview") -> bool:
    """Whether a message on an epoch topic is a beacon."""
    return len(payload) > 0 and payload[0] == VERSION << 4 | _BEACON


def write_beacon(run: "Run", sender: int, boot: int, step: int, number: int, late: int) -> bytearray:
    """Type 7: slot 0 of period `number` began `late` ms ago. step: of the commit that the root holds."""
    out = put_head(_BEACON, run.number, sender, boot, step)
    put_varint(out, number)
    put_varint(out, late)
    return out


def read_beacon(payload: "bytes | memoryview", run: "Run") -> "tuple[int, int, int, int]":
    """(sender, step, number of the period, late) of a type 7 message of `run`."""
    reader = Reader(payload)
    number, sender, _, step = read_head(reader, _BEACON)
    if number != run.number:
        raise MessageError("run")
    period, late = reader.varint(_MOST), reader.varint(_MOST)
    reader.end()
    return sender, step, period, late
