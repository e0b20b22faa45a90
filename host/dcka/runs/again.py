"""When to say again what somebody lacks: after half a second, and after twice as long each time."""

import time
from collections.abc import Callable

from dcka.mqtt.inbox import ASK_S

MOST_S = 8.0
"""A thousand nodes that are slow to begin would else be given more to read than they can."""


class Again:
    """`due` says whether it is time, and then waits for longer; after `reset` it is time at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause_s = 0.0
        self._at = 0.0

    def reset(self) -> None:
        """What is said now has been said for the first time."""
        self._pause_s = self._at = 0.0

    def due(self) -> bool:
        """Whether it is time."""
        now = self._clock()
        if now < self._at:
            return False
        self._pause_s = min(MOST_S, max(ASK_S, 2 * self._pause_s))
        self._at = now + self._pause_s
        return True
