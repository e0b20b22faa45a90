"""Out of deep sleep: what this wake is for. A reading is taken without the rest of the program, which is not loaded.

Only nodes that sleep deeply load it: a board's `guard` before the program, and the program (`sleeping`) for its way back
into sleep.
"""

import gc
import sys
import time

import machine

from dcka_core import carry
from dcka_core.clock import Clock
from dcka_core.errors import CoreError
from dcka_core.rota import LEAST_SLEEP_S, SAMPLE, SPEAK, SYNC, Rota
from dcka_core.ticks import PERIOD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# What the frame of segments takes at most, two columns of 32 bits and their time in full: far more in practice.
HOLD = 100
# Waiting for a sensor: from here on the chip sleeps lightly.
_LIGHT_MS = 20
# A chip whose ticks begin with the start: what has passed since then is time, too.
_TICKS_BEGIN = ("esp32",)


def now() -> int:
    """The core's ticks."""
    ticks: Any = time.ticks_ms()
    masked: int = ticks & (PERIOD - 1)
    return masked


class Night:
    """What a node knows over its sleeps. sample_s: its sampling period, 0 for none.

    woke: whether this start is the end of a sleep that it had asked for. bad: see `carry.Carried`. frame: readings in
    RTC memory. lost: whether there was nothing, or nothing sound, where a start is not the first.
    """

    def __init__(self, sample_s: int) -> None:
        self.clock = Clock(now())
        self.rota = Rota(sample_s, HOLD)
        self.bad = 0
        self.frame: bytes | memoryview = b""
        self.woke = False
        found = carry.read(machine.RTC().memory())
        if found is None:
            return
        try:
            self.rota.restore(found.rota)
            self.clock.restore(found.clock)
        except CoreError:
            self.clock, self.rota = Clock(now()), Rota(sample_s, HOLD)
            return
        self.bad = found.bad
        self.frame = found.frame
        self.woke = machine.reset_cause() == machine.DEEPSLEEP_RESET
        if self.woke:
            self.clock.slept(found.asked_ms, 0 if sys.platform in _TICKS_BEGIN else now())
        else:
            # A reset in mid-sleep, or in a wake: nobody knows how long ago. What was learned of the chip holds.
            self.clock.known = False

    def now_s(self) -> int:
        return self.clock.now(now())

    def keep(self, asked_ms: int) -> None:
        """Put all that has to survive where it survives."""
        record = carry.Carried(asked_ms, self.bad, self.clock.carried(), self.rota.carried(), self.frame)
        machine.RTC().memory(record.encode())

    def begin(self) -> None:
        """A wake begins: it counts as bad until it has come to its end."""
        self.bad = min(self.bad + 1, 255)
        self.keep(0)

    def wait_until(self, at: int) -> None:
        """Sleep deeply until `at`, which ends this program; where that is not worth it, only wait."""
        wall_ms = self.clock.ms_until(at, now())
        if wall_ms >= LEAST_SLEEP_S * 1000:
            self.down(wall_ms)
        rest(max(0, wall_ms))

    def down(self, wall_ms: int) -> "NoReturn":
        """Sleep for `wall_ms`; the next start goes on from here."""
        self.bad = 0
        asked = self.clock.to_ask(wall_ms)
        self.keep(asked)
        machine.deepsleep(asked)
        raise SystemExit  # it does not come here


def rest(wait_ms: int) -> None:
    """Wait; with the radio off nothing is lost by light sleep."""
    if wait_ms >= _LIGHT_MS and hasattr(machine, "lightsleep"):
        machine.lightsleep(wait_ms)
    else:
        time.sleep_ms(wait_ms)


def woken(sensors: "dict[str, Any] | None") -> "Night":
    """Do what needs no radio, and sleep on: returns where the program has to run. sensors: node.json's."""
    night = Night(sensors["every_s"] if sensors else 0)
    if not night.woke or night.bad >= carry.BAD_WAKES:
        return night
    night.begin()
    sampler: Any = None
    while True:
        what, at, _ = night.rota.next(night.now_s(), night.clock)
        if at > night.now_s():
            night.wait_until(at)
        elif what & SAMPLE and not what & SPEAK:
            if sampler is None:
                gc.collect()
                from dcka_device import sensing

                sampler = sensing.sampler(sensors)
                sampler.segments.restore(night.frame)
            _sample(night, sampler, what)
        else:
            return night


def _sample(night: "Night", sampler: "Any", what: int) -> None:
    due = night.rota.took_reading(night.now_s())
    sampler.expect(due)
    while True:
        wait = sampler.tick(now(), night.now_s())
        if not sampler.busy:
            break
        rest(wait)
    if what & SYNC:
        sampler.sync()
    keep_readings(night, sampler.segments)


def keep_readings(night: "Night", segments: "Any") -> None:
    """What is not on flash goes into RTC memory; where flash can't be read, it stays as it was there."""
    try:
        night.frame = bytes(segments.waiting())
    except OSError:
        return
    night.rota.held = min(segments.pending, HOLD)
