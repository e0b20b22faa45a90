"""The clock of a simulated network, and what is to happen on it, in order."""

import heapq
from collections.abc import Callable
from typing import Any

US_PER_S = 1_000_000
US_PER_MS = 1000

Call = Callable[[], None]


class Timeline:
    """`now_us`: true time, in microseconds since the start; whole, so that the order never hangs on a rounding.

    on_advance: called with the time in seconds before it moves on, to slow it down or to end it by an exception.
    """

    def __init__(self, on_advance: Callable[[float], None] = lambda now_s: None) -> None:
        self.now_us = 0
        self._queue: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._on_advance = on_advance

    @property
    def now_s(self) -> float:
        return self.now_us / US_PER_S

    def at(self, when_us: int, call: Callable[..., None], *arguments: Any) -> None:
        """Have `call` made at `when_us`, or now if that is over; what is for one moment comes in the order asked for.

        There is no way to take it back: who may change his mind looks, when called, whether it is still meant.
        """
        self._count += 1
        heapq.heappush(self._queue, (max(when_us, self.now_us), self._count, call, arguments))

    def after(self, wait_us: int, call: Callable[..., None], *arguments: Any) -> None:
        """Have `call` made in so many microseconds."""
        self.at(self.now_us + wait_us, call, *arguments)

    def run_until(self, until_us: int, enough: Callable[[], object] = lambda: False) -> bool:
        """Let happen what is due up to `until_us`, or until `enough()` is true; whether it was."""
        queue = self._queue
        while not enough():
            if not queue or queue[0][0] > until_us:
                self._advance(max(self.now_us, until_us))
                return bool(enough())
            when, _, call, arguments = heapq.heappop(queue)
            if when > self.now_us:
                self._advance(when)
            call(*arguments)
        return True

    def _advance(self, when_us: int) -> None:
        if when_us > self.now_us:
            self._on_advance(when_us / US_PER_S)
            self.now_us = when_us
