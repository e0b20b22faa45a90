"""What a node knows over its sleeps, and how it falls asleep: its clock and rota, and what RTC memory keeps of them.

Only nodes that sleep deeply load it.
"""

import sys
import time

import machine

from dcka_core import carry
from dcka_core.clock import UNIX_2020, Clock
from dcka_core.errors import CoreError
from dcka_core.rota import LEAST_SLEEP_S, Rota
from dcka_core.ticks import PERIOD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# From here on the chip sleeps lightly while it waits for a sensor.
_LIGHT_MS = 20
# Chips whose ticks begin with the start: what they say of a wake has passed since the sleep.
_TICKS_BEGIN = ("esp32",)
_UNIX_2000 = 946684800
# What the record has room for, 24 days: a longer sleep is two.
_MOST_MS = 0x7FFFFFFF


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
        if self.woke and found.asked_ms < 0:
            # The start of this very wake (`waking`) has looked already, and time has gone on since.
            self.clock.slept(0, -1 - found.asked_ms)
        elif self.woke:
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

    def keep(self, asked_ms: "int | None" = None) -> None:
        """Put all that has to survive where it survives. asked_ms: the sleep that begins; None in a wake."""
        if asked_ms is None:
            tick = now()
            self.clock.now(tick)
            asked_ms = -1 - tick
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
        asked = min(_MOST_MS, self.clock.to_ask(wall_ms))
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

    def set_system(self) -> None:
        """The chip's own clock, for certificates and for what senses. A desktop's is not ours to set."""
        if not self.clock.known or not hasattr(machine.RTC, "datetime"):
            return
        second = self.now_s() + UNIX_2020 - (0 if time.gmtime(0)[0] == 1970 else _UNIX_2000)
        if abs(int(time.time()) - second) > 1:
            date = time.gmtime(second)
            machine.RTC().datetime((date[0], date[1], date[2], date[6], date[3], date[4], date[5], 0))


def rest(wait_ms: int) -> None:
    """Wait; while the radio is off, nothing is lost by light sleep."""
    if wait_ms >= _LIGHT_MS and hasattr(machine, "lightsleep"):
        machine.lightsleep(wait_ms)
    else:
        time.sleep_ms(wait_ms)


def percent(settings: "dict[str, Any]") -> int:
    """The battery, 0 to 100, by a voltage on a pin: `pin`, `empty_mv` and `full_mv` on that pin."""
    pin = machine.ADC(machine.Pin(settings["pin"]))
    part: int = 100 * (pin.read_uv() // 1000 - settings["empty_mv"])
    range_mv: int = settings["full_mv"] - settings["empty_mv"]
    return max(0, min(100, part // range_mv))
