"""The board's end of the serial line: the master of a pty, whose other end is the port."""

import ctypes
import errno
import os
import pty
import select
import struct
import sys
import time
import tty
from collections.abc import Iterator

# Longer than a client that reads is ever away on a loaded machine.
_UNHEARD_S = 1.0
_CHUNK = 65536
# Where nobody tells of clients, they are looked for so often.
_LOOK_S = 0.01

# sys/inotify.h
_IN_OPEN, _IN_CLOSE = 0x20, 0x18
_IN_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_EVENT = struct.Struct("iIII")


class SerialLine:
    """`path` is the port, `heard` whether a client has it open: what is written while none has is lost, as on a line.

    No descriptor of the port is kept open here, so that its busy port has no holder but the client. Linux tells when it
    is opened and closed (inotify); elsewhere `look_s` says how often `changed` has to be called.
    """

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self.path = os.ttyname(slave)
        # It stays so while the master lives: what we print shall not come back as if a client had typed it.
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        os.close(slave)
        self._events = _watch(self.path)
        self.look_s = None if self._events is not None else _LOOK_S
        self.heard = False
        self._clients = 0
        self._waiting = bytearray()
        self._slow_since = 0.0

    def fileno(self) -> int:
        """The descriptor that is readable when a client has written something. Without a client it is, always."""
        return self._master

    @property
    def events(self) -> int | None:
        """The descriptor that is readable when `changed` has to be called; None where there is none."""
        return self._events

    @property
    def waiting(self) -> bool:
        """Whether there is output that has found no room."""
        return bool(self._waiting)

    def changed(self) -> bool:
        """Look who is there; whether the last client has gone since the last time, even if another has come."""
        gone = False
        for opened in self._opened_or_closed():
            self._clients = max(0, self._clients + (1 if opened else -1))
            gone = gone or not self._clients
        # The system may tell of two alike as of one: what counts in the end is what is so now.
        poll = select.poll()
        poll.register(self._master, 0)
        now = not any(events & select.POLLHUP for _, events in poll.poll(0))
        gone = gone or (self.heard and not now)
        self._clients = max(1, self._clients) if now else 0
        self.heard = now
        if gone:
            self._waiting.clear()
        return gone

    def read(self) -> bytes:
        """What clients have written; b"" for nothing."""
        try:
            return os.read(self._master, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux says that nobody has the port open
                raise
            return b""

    def write(self, content: bytes) -> None:
        """Send as much as there is room for; the rest waits for `flush`."""
        if self.heard:
            if not self._waiting:
                self._slow_since = time.monotonic()
            self._waiting += content
            self.flush()

    def write_all(self, content: bytes) -> None:
        """Send all of it, if a client takes it within a second; from any thread."""
        rest = memoryview(content)
        while rest and select.select([], [self._master], [], _UNHEARD_S)[1]:
            try:
                rest = rest[os.write(self._master, rest) :]
            except OSError as error:
                if error.errno not in (errno.EIO, errno.EAGAIN):
                    raise
                return

    def flush(self) -> None:
        """Send what waits; drop it where the client has not read for a second."""
        now = time.monotonic()
        try:
            while self._waiting:
                del self._waiting[: os.write(self._master, self._waiting)]
                self._slow_since = now
        except BlockingIOError:
            if now - self._slow_since > _UNHEARD_S:
                self._waiting.clear()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._waiting.clear()

    def close(self) -> None:
        """The port is gone."""
        os.close(self._master)
        if self._events is not None:
            os.close(self._events)

    def _opened_or_closed(self) -> Iterator[bool]:
        """True for each time that the port was opened, False for each time that it was closed, in their order."""
        if self._events is None:
            return
        try:
            content = os.read(self._events, _CHUNK)
        except BlockingIOError:
            return
        for place in range(0, len(content), _EVENT.size):
            yield bool(_EVENT.unpack_from(content, place)[1] & _IN_OPEN)


def _watch(path: str) -> int | None:
    """A descriptor that tells of all who open and close `path`; None where the system has no such thing."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(_IN_FLAGS)
    if descriptor >= 0 and libc.inotify_add_watch(descriptor, path.encode(), _IN_OPEN | _IN_CLOSE) >= 0:
        return descriptor
    if descriptor >= 0:
        os.close(descriptor)
    return None
