"""One thread's sockets and deadlines: who is watched is called when there is something for it."""

import selectors
import time
from collections.abc import Callable
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

__all__ = ["EVENT_READ", "EVENT_WRITE", "Loop"]

Callback = Callable[[], None]

# Without anything due: how long `turn` may wait where its caller sets no limit.
_IDLE_S = 60.0


class Loop:
    """`turn` waits for the first event, and calls back for all that are there."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._due: dict[Callback, float] = {}

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()
        self._due.clear()

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
        else:
            self._due[callback] = due

    def turn(self, limit: float = _IDLE_S) -> None:
        """Wait until something is there or due, `limit` seconds at most, and call back."""
        left = min(self._due.values(), default=time.monotonic() + limit) - time.monotonic()
        for key, _ in self._selector.select(max(0.0, min(left, limit))):
            current = self._selector.get_map().get(key.fd)
            # Else one that was called before has forgotten it, and the number may be another socket's already.
            if current is not None and current.fileobj is key.fileobj:
                key.data()
        now = time.monotonic()
        for callback in [callback for callback, due in self._due.items() if due <= now]:
            # Called before it may have been put off by another.
            if self._due.get(callback, now + 1) <= now:
                del self._due[callback]
                callback()
