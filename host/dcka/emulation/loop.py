"""One thread's sockets and deadlines: who is watched is called when there is something for it."""

import heapq
import itertools
import selectors
import time
from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

__all__ = ["EVENT_READ", "EVENT_WRITE", "Loop"]

Callback = Callable[[], None]

# Without anything due: how long `turn` may wait where its caller sets no limit.
_IDLE_S = 60.0
# Entries of deadlines that were put off, before they are cleared out.
_SLACK = 64


class Loop:
    """`turn` waits for the first event, and calls back for all that are there."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        # What is due, and the same in order of time, where an entry that no longer stands in `_due` is passed over: a
        # thousand nodes have thousands of deadlines, and most are put off before they come.
        self._due: dict[Callback, tuple[float, int]] = {}
        self._order: list[tuple[float, int, Callback]] = []
        self._count = itertools.count()

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()
        self._due.clear()
        self._order.clear()

    def watch(self, sock: Any, events: int, callback: Callback) -> None:
        """Call back when `sock` can be read or written (`EVENT_READ`, `EVENT_WRITE`); replaces what was said."""
        if sock.fileno() in self._selector.get_map():
            self._selector.modify(sock, events, callback)
        else:
            self._selector.register(sock, events, callback)

    def forget(self, sock: Any) -> None:
        """Watch `sock` no longer; to be called before it is closed."""
        if sock.fileno() in self._selector.get_map():
            self._selector.unregister(sock)

    def at(self, callback: Callback, due: float | None) -> None:
        """Call back once at `due` (time.monotonic), or not at all; replaces what was said for this callback."""
        if due is None:
            self._due.pop(callback, None)
            return
        entry = due, next(self._count)
        self._due[callback] = entry
        heapq.heappush(self._order, (*entry, callback))
        if len(self._order) > _SLACK + 2 * len(self._due):
            self._order = [(*known, other) for other, known in self._due.items()]
            heapq.heapify(self._order)

    def turn(self, limit: float = _IDLE_S) -> None:
        """Wait until something is there or due, `limit` seconds at most, and call back."""
        for key, _ in self._selector.select(max(0.0, min(self._left(limit), limit))):
            current = self._selector.get_map().get(key.fd)
            # Else one that was called before has forgotten it, and the number may be another socket's already.
            if current is not None and current.fileobj is key.fileobj:
                key.data()
        # One that is asked for meanwhile, for now even, has its turn the next time.
        now, last = time.monotonic(), next(self._count)
        again = []
        while self._order and self._order[0][0] <= now:
            due, number, callback = heapq.heappop(self._order)
            if self._due.get(callback) != (due, number):
                continue
            if number > last:
                again.append((due, number, callback))
                continue
            del self._due[callback]
            callback()
        for entry in again:
            heapq.heappush(self._order, entry)

    def _left(self, limit: float) -> float:
        """Seconds until the first deadline; `limit` where there is none."""
        while self._order and self._due.get(self._order[0][2]) != self._order[0][:2]:
            heapq.heappop(self._order)
        return self._order[0][0] - time.monotonic() if self._order else limit
