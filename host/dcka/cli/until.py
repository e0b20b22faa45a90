"""The end of verbs that run until they are told to end: noted, and looked for, rather than raised at any place."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def told_to_end() -> Iterator[Callable[[], bool]]:
    """Within the block, Ctrl-C, SIGTERM and SIGHUP are noted: the function that it gives says whether one has come.

    An exception from a handler could be swallowed: an import, or the collector, ignores what is raised in its
    callbacks. A second signal raises one all the same, for whoever finds the first too slow. At the end of the block
    SIGTERM and SIGHUP become SystemExit(128 + number); Ctrl-C is how such a verb is meant to end. A signal that is
    ignored stays so. Main thread only.
    """
    told: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if told:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        told.append(number)

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    replaced = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    try:
        for number in replaced:
            signal.signal(number, note)
        yield lambda: bool(told)
    finally:
        for number in replaced:
            signal.signal(number, before[number])
    if told and told[0] != signal.SIGINT:
        raise SystemExit(128 + told[0])
