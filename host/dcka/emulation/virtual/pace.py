"""How fast simulated time may pass: at most so many of its seconds in one of ours."""

import time
from collections.abc import Callable

# Looked at no more often than this, in our seconds: a look costs as much as an event.
LOOK_S = 0.02
# A person sees no more; a progress bar costs as much as a handful of events.
TELL_S = 0.2


class Pace:
    """For `Timeline.on_advance`. `scale`: simulated seconds a second, None for as many as it gives.

    `tell`: called with the simulated time some times a second.
    """

    def __init__(
        self,
        scale: float | None,
        tell: Callable[[float], None] = lambda now_s: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._scale = scale
        self._tell = tell
        self._clock = clock
        self._sleep = sleep
        self._begun = clock()
        self._told = self._begun

    def __call__(self, now_s: float) -> None:
        """Simulated time is about to be `now_s`."""
        now = self._clock()
        if now - self._told >= TELL_S:
            self._told = now
            self._tell(now_s)
        if self._scale is not None:
            early = now_s / self._scale - (now - self._begun)
            if early > LOOK_S:
                self._sleep(early)
