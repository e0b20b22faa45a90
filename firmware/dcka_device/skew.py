"""A clock that is wrong on purpose: what `clock_ppm` in node.json gives an emulated node."""

import time

from dcka_core.ticks import PERIOD, diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Skewed:
    """The clock of `time`, so many millionths fast, in the words that the shell has for it.

    What waits for a socket waits by the true one: at most 20 ms of the second after which the shell looks again.
    """

    def __init__(self, ppm: int) -> None:
        self._ppm = ppm
        self._last = _true()
        self._passed = 0

    def ticks_ms(self) -> int:
        now = _true()
        self._passed += diff(now, self._last)
        self._last = now
        # In whole numbers: a float has no room for the bits.
        return self._passed + self._passed * self._ppm // 1000000

    def sleep_ms(self, wait_ms: int) -> None:
        time.sleep_ms(wait_ms * 1000000 // (1000000 + self._ppm))

    def ticks_us(self) -> int:
        ticks: Any = time.ticks_us()
        return int(ticks)

    def ticks_diff(self, end: int, start: int) -> int:
        return time.ticks_diff(end, start)


def _true() -> int:
    ticks: Any = time.ticks_ms()
    now: int = ticks & (PERIOD - 1)
    return now
