"""A clock that is wrong on purpose: what `clock_ppm` in node.json gives an emulated node."""

import time


class Skewed:
    """The clock of `time`, so many millionths fast, in the words that the shell has for it.

    What waits for a socket waits by the true one: at most 20 ms of the second after which the shell looks again.
    """

    def __init__(self, ppm: int) -> None:
        self._ppm = ppm
        self._since = time.ticks_ms()

    def ticks_ms(self) -> int:
        # From the start on, in whole numbers: a float has no room for the bits.
        passed = time.ticks_ms() - self._since
        return self._since + passed + passed * self._ppm // 1000000

    def sleep_ms(self, wait_ms: int) -> None:
        time.sleep_ms(wait_ms * 1000000 // (1000000 + self._ppm))

    def ticks_us(self) -> int:
        return time.ticks_us()

    def ticks_diff(self, end: int, start: int) -> int:
        return time.ticks_diff(end, start)
