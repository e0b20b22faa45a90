"""Ctrl-C for verbs that run until it comes: noted, and looked for, rather than an exception at any place."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c() -> Iterator[Callable[[], bool]]:
    """Within the block, Ctrl-C is noted: the function that it gives says whether it has come.

    A KeyboardInterrupt could be swallowed: an import, or the collector, ignores what is raised in its callbacks. A
    second Ctrl-C raises one, for whoever finds the first too slow. Main thread only.
    """
    pressed = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
