"""Wall time on a node: the host's beacons say it, and between them it goes by clocks that are wrong.

Awake, a node has ticks. Asleep it has the chip's slow oscillator, which is off by percents, but by much the same
percents from one night to the next: so what it is off is learned from what the beacons say. Time is in whole seconds
since 2020-01-01 00:00 UTC, a small integer on 32 bits until 2054, with milliseconds beside. Whoever never sleeps
deeply or senses has none of this loaded.
"""

from dcka_core import ticks
from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNIX_2020 = 1577836800
MOST_S = 1 << 30
# What a beacon may be late: on its way, and until the node looks.
_LATE_MS = 500
# Awake a clock is off by 2 % at most, as in slots (`dcka_core.slots`).
_AWAKE_PPM = 20000
# Nothing learned yet: an ESP32's slow oscillator is off by up to 5 %, and starting takes time that no clock counts.
_FIRST_PPM = 60000
# How far nights differ though all that was seen agreed: temperature.
_LEAST_PPM = 1000
# No oscillator is off by more: the host's clock was put right, or the beacon is wrong.
_MOST_PPM = 120000
# What one beacon may change where three have agreed before.
_STEP_PPM = 10000
_KEPT = 5
# Of two observations the one that is so much coarser than the other says nothing new.
_COARSER = 4
_MILLION = 1000000


class Clock:
    """Wall time, and how far it may be wrong. `tick`: ticks in ms, now.

    known: whether a beacon has said the time; before, it runs from 0. drift_ppm: by how many millionths a sleep takes
    longer than was asked for. spread_ppm: how far the next one may be from that. seen: (drift, how coarse, both in ppm)
    of the last few observations. since_s: for how long no beacon was heard, by this clock.
    """

    def __init__(self, tick: int) -> None:
        self.known = False
        self.drift_ppm = 0
        self.spread_ppm = _FIRST_PPM
        self.seen: list[tuple[int, int]] = []
        self._s = self._ms = 0
        self._tick = tick
        # Since the last beacon: asleep, as was asked for, and awake.
        self._slept_ms = self._awake_ms = 0
        self._floor = 0
        # A beacon that nothing explains, in ms from what the clock said; the next one has to agree with it.
        self._doubted: int | None = None

    # ---- the time ----

    def now(self, tick: int) -> int:
        """The time in s. It never goes back, until `settle`: a beacon that is earlier stops it for a while."""
        self._go_to(tick)
        self._floor = max(self._floor, self._s)
        return self._floor

    def settle(self) -> None:
        """No run is under way: the time may go back to what the beacons say."""
        self._floor = 0

    @property
    def since_s(self) -> int:
        return (self._slept_ms + self._awake_ms) // 1000

    def ms_until(self, at_s: int, tick: int) -> int:
        """ms from now until `at_s`, by the wall; negative where that is over."""
        self._go_to(tick)
        return (at_s - self._s) * 1000 - self._ms

    def _go_to(self, tick: int) -> None:
        passed = ticks.diff(tick, self._tick)
        if passed > 0:
            self._tick = tick
            self._awake_ms += passed
            self._add(passed)

    def _add(self, passed_ms: int) -> None:
        total = self._ms + passed_ms
        self._s += total // 1000
        self._ms = total % 1000

    # ---- sleep ----

    def to_ask(self, wall_ms: int) -> int:
        """For how many ms to ask the sleeping clock, so that `wall_ms` pass; at least 1."""
        return max(1, wall_ms * _MILLION // (_MILLION + self.drift_ppm))

    def slept(self, asked_ms: int, tick: int) -> None:
        """A sleep of `asked_ms` is over. Ticks may have begun anew: it is `tick` now."""
        self._add(asked_ms + asked_ms * self.drift_ppm // _MILLION)
        self._slept_ms += asked_ms
        self._tick = tick

    def guard_ms(self, sleep_s: int = 0) -> int:
        """How far this clock may be from the host's, either way, after `sleep_s` more seconds of sleep."""
        asleep_ms = self._slept_ms + 1000 * sleep_s
        return (
            _LATE_MS + asleep_ms * self.spread_ppm // _MILLION + self._awake_ms * _AWAKE_PPM // _MILLION + 1
        )

    def sleep_within(self, guard_ms: int) -> int:
        """For how many more seconds it can sleep before the guard is greater than `guard_ms`; 0 where it is already."""
        room = guard_ms - self.guard_ms()
        return max(0, room * 1000 // self.spread_ppm)

    # ---- beacons ----

    def hear(self, second: int, ms: int, tick: int) -> bool:
        """The host says that it is `second` and `ms`. Whether that is believed.

        What is further off than the guard is believed only when the next beacon agrees: one that was held up for
        minutes shall not set a clock that is right. From what is believed the drift is learned.
        """
        self._go_to(tick)
        ahead = (second - self._s) * 1000 + ms - self._ms
        if self.known:
            guard = self.guard_ms()
            doubted = self._doubted
            self._doubted = None
            if not -guard <= ahead <= guard:
                agreed = doubted is not None and -2 * _LATE_MS <= ahead - doubted <= 2 * _LATE_MS
                if not agreed:
                    self._doubted = ahead
                    return False
            self._learn(ahead)
        self.known = True
        self._s = second
        self._ms = ms
        self._slept_ms = self._awake_ms = 0
        return True

    def _learn(self, ahead_ms: int) -> None:
        """The time asleep since the last beacon has been longer by `ahead_ms` than this clock took it for."""
        slept_s = self._slept_ms // 1000
        if not slept_s:
            return
        coarse = (_LATE_MS + self._awake_ms * _AWAKE_PPM // _MILLION) * 1000 // slept_s
        drift = self.drift_ppm + ahead_ms * 1000 // slept_s
        off = abs(drift - self.drift_ppm)
        if not -_MOST_PPM <= drift <= _MOST_PPM or coarse > _FIRST_PPM:
            return
        finest = min([one[1] for one in self.seen] + [coarse])
        if coarse > _COARSER * finest and off <= self.spread_ppm + coarse:
            return
        seen = [one for one in self.seen if one[1] <= _COARSER * coarse]
        # A few of the last, and of these the median: one that is wrong moves nothing.
        self.seen = (seen + [(drift, coarse)])[-_KEPT:]
        self._estimate()

    def _estimate(self) -> None:
        drifts = sorted([one[0] for one in self.seen])
        count = len(drifts)
        middle = (drifts[(count - 1) // 2] + drifts[count // 2]) // 2
        if count > 3:
            middle = max(self.drift_ppm - _STEP_PPM, min(self.drift_ppm + _STEP_PPM, middle))
        offs = sorted([abs(drift - middle) for drift in drifts])
        # What was assumed at first fades by four with each that was seen; of four and more one may be wrong.
        widest = offs[-1] if count < 4 else offs[-2]
        coarse = sorted([one[1] for one in self.seen])[count // 2]
        self.drift_ppm = middle
        self.spread_ppm = min(
            _FIRST_PPM, (_FIRST_PPM >> 2 * count) + max(_LEAST_PPM, 2 * widest) + 2 * coarse
        )

    # ---- over a deep sleep ----

    def carried(self) -> "list[int]":
        """What has to survive, as whole numbers of 32 bits (signed) in a fixed order and number: see `restore`."""
        flat = [self._s, self._ms, self.drift_ppm, self.spread_ppm]
        flat += [self._slept_ms // 1000, self._awake_ms // 1000, int(self.known), len(self.seen)]
        for drift, coarse in self.seen:
            flat += [drift, coarse]
        return flat + [0] * (CARRIED - len(flat))

    def restore(self, carried: "list[int]") -> None:
        """Take up what `carried` gave. Raises CoreError for what it never gives."""
        second, ms, drift, spread, slept, awake, known, count = carried[:8]
        sound = 0 <= second < MOST_S and 0 <= ms < 1000 and known in (0, 1) and 0 <= count <= _KEPT
        sound = sound and abs(drift) <= _MOST_PPM and _LEAST_PPM <= spread <= _FIRST_PPM
        if not sound or slept < 0 or awake < 0:
            raise CoreError("no state of a clock")
        self._s, self._ms, self.drift_ppm, self.spread_ppm = second, ms, drift, spread
        self._slept_ms, self._awake_ms, self.known = 1000 * slept, 1000 * awake, bool(known)
        self.seen = [(carried[8 + 2 * place], carried[9 + 2 * place]) for place in range(count)]


CARRIED = 8 + 2 * _KEPT


def read_beacon(record: "dict[str, Any]") -> "tuple[int, int]":
    """(second, ms) of a time beacon (protocol, section 7). Raises CoreError."""
    second, ms = record.get("time"), record.get("ms")
    if record.get("v") != 1 or type(second) is not int or type(ms) is not int:
        raise CoreError("no time")
    if not (0 < second < MOST_S and 0 <= ms < 1000):
        raise CoreError("time is %r" % second)
    return second, ms
