"""What a node has asked to be done later, and what becomes of it when the node starts anew or loses power."""

from collections.abc import Callable
from typing import Any

from dcka.emulation.virtual.timeline import Timeline


class Life:
    """Calls for later that are forgotten when the life is over: a program that has ended does nothing any more.

    guarded: makes a call with its arguments, and copes with what it raises.
    """

    def __init__(self, timeline: Timeline, guarded: Callable[..., None]) -> None:
        self.over = False
        self._timeline = timeline
        self._guarded = guarded

    def after(self, wait_us: int, call: Callable[..., None], *arguments: Any) -> None:
        """Have `call` made in so many microseconds of true time, if this life lasts."""
        self._timeline.after(wait_us, self.now, call, *arguments)

    def now(self, call: Callable[..., None], *arguments: Any) -> None:
        """Make it at once, if this life lasts."""
        if not self.over:
            self._guarded(call, *arguments)
