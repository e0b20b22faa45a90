"""Milliseconds that wrap, as `time.ticks_ms` of MicroPython does: compare and add only through here."""

PERIOD = 1 << 30
_HALF = 1 << 29
_MASK = PERIOD - 1


def add(ticks: int, delta: int) -> int:
    """`ticks` moved on by `delta` ms.

    Raises ValueError where delta is half a period (6.2 days) or more: it could not be told from the past.
    """
    if not -_HALF < delta < _HALF:
        raise ValueError("a wait of %d ms is longer than the clock can tell" % delta)
    return (ticks + delta) & _MASK


def diff(end: int, start: int) -> int:
    """The signed distance in ms from `start` to `end`, right across the wrap."""
    return ((end - start + _HALF) & _MASK) - _HALF


def earliest(first: "int | None", second: "int | None") -> "int | None":
    """The earlier of two moments, either of which may be None (never)."""
    if first is None:
        return second
    if second is None:
        return first
    return first if diff(first, second) <= 0 else second
