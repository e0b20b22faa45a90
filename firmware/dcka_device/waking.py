"""Out of deep sleep: what this wake is for. A reading is taken without the rest of the program, which is not loaded.

Only nodes that sleep deeply load it: before the program (`guard`), and with `sleeping`, the program's way back.
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

# From here on the chip sleeps lightly while it waits for a sensor.
_LIGHT_MS = 20
# Chips whose ticks begin with the start: what they say of a wake has passed since the sleep.
_TICKS_BEGIN = ("esp32",)


def now() -> int:
    """The core's ticks."""
    ticks: Any = time.ticks_ms()
    masked: int = ticks & (PERIOD - 1)
    return masked


class Night:
    """What a node knows over its sleeps. settings: node.json's.

    woke: whether this start is the end of a sleep that it had asked for. bad, battery, frame: see `carry.Carried`.
    """

    def __init__(self, settings: "dict[str, Any]") -> None:
        sensors = settings.get("sensors")
        # Readings that wait in RTC memory: a power cut loses so many, at most.
        self._hold: int = settings["sleep"]["hold"]
        self._sample_s: int = sensors["every_s"] if sensors else 0
        self._forget()
        self.bad = 0
        self.battery: int | None = None
        self.frame = b""
        self.woke = False
        found = carry.read(machine.RTC().memory())
        if found is None:
            return
        self.bad = found.bad
        self.battery = found.battery
        self.frame = found.frame
        try:
            self.rota.restore(found.rota)
            self.clock.restore(found.clock)
        except CoreError:  # of another configuration
            self._forget()
            return
        self.woke = machine.reset_cause() == machine.DEEPSLEEP_RESET
        if self.woke:
            self.clock.slept(found.asked_ms, 0 if sys.platform in _TICKS_BEGIN else now())
        else:
            # A reset in mid-sleep, or in a wake: nobody knows how long ago. What was learned of the chip holds.
            self.clock.known = False
        if self.bad >= carry.BAD_WAKES:
            self.rota.sample_s = 0

    def _forget(self) -> None:
        self.clock = Clock(now())
        self.rota = Rota(self._sample_s, self._hold)

    def now_s(self) -> int:
        return self.clock.now(now())

    def keep(self, asked_ms: int = 0) -> None:
        """Put all that has to survive where it survives. asked_ms: the sleep that begins."""
        record = carry.Carried(
            asked_ms, self.bad, self.battery, self.clock.carried(), self.rota.carried(), self.frame
        )
        machine.RTC().memory(record.encode())

    def wait_until(self, at: int) -> None:
        """Sleep deeply until `at`, which ends this program; where that is not worth it, only wait."""
        wall_ms = self.clock.ms_until(at, now())
        if wall_ms >= LEAST_SLEEP_S * 1000:
            self.down(wall_ms)
        rest(max(0, wall_ms))

    def down(self, wall_ms: int) -> "NoReturn":
        """Sleep for `wall_ms`; the next start goes on from here."""
        asked = self.clock.to_ask(wall_ms)
        self.keep(asked)
        machine.deepsleep(asked)
        raise SystemExit  # it does not come here

    def keep_readings(self, segments: "Any") -> None:
        """What is not on flash is to go into RTC memory; where flash can't be read, that stays as it was."""
        try:
            self.frame = bytes(segments.waiting())
        except OSError:
            return
        self.rota.held = min(segments.pending, self._hold)


def rest(wait_ms: int) -> None:
    """Wait; while the radio is off, nothing is lost by light sleep."""
    if wait_ms >= _LIGHT_MS and hasattr(machine, "lightsleep"):
        machine.lightsleep(wait_ms)
    else:
        time.sleep_ms(wait_ms)


# The night that this start ends, where `woken` has looked.
ended: "Night | None" = None


def woken(folder: str) -> None:
    """Do what needs no radio, and sleep on. Returns where the program has to run."""
    global ended
    from dcka_device import config

    settings = config.read(folder)
    ended = night = Night(settings)
    if not night.woke:
        return
    # It counts as bad until it has come to its end, whatever ends it.
    bad = night.bad
    night.bad += 1
    night.keep()
    opened: Any = None
    while True:
        what, at, _ = night.rota.next(night.now_s(), night.clock, night.battery)
        if at > night.now_s():
            night.bad = 0 if opened else bad
            night.wait_until(at)
        elif what & SAMPLE and night.rota.due(night.now_s()):
            if opened is None:
                opened = _opened(settings["sensors"], night)
            _sample(night, opened[0], opened[1], what)
        elif what & SPEAK:
            break
    # The program has a count of its own for starts that come to nothing.
    night.bad = 0 if opened else bad
    night.keep()


def _opened(settings: "dict[str, Any]", night: Night) -> "Any":
    gc.collect()
    from dcka_device import sensing

    segments = sensing.open_segments(settings)
    segments.restore(night.frame)
    return segments, [sensing.open_sensor(one) for one in settings["drivers"]]


def _sample(night: Night, segments: "Any", sensors: "list[Any]", what: int) -> None:
    """One reading, of all sensors or none: one that fails is counted as skipped."""
    from array import array

    due = night.rota.took_reading(night.now_s())
    values = array("i", bytes(4 * segments.n))
    first = 0
    try:
        rest(max([sensor.start() for sensor in sensors]))
        for sensor in sensors:
            sensor.read(values, first)
            first += sensor.count
        segments.append(due, values)
        if what & SYNC:
            segments.sync()
    except (CoreError, OSError):
        night.rota.skipped += 1
    night.keep_readings(segments)
