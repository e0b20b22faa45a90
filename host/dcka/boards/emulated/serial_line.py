"""The board's end of the serial line: the master of a pty, whose other end is the port."""

import errno
import os
import pty
import select
import time
import tty

# Longer than a client that reads is ever away on a loaded machine.
_UNHEARD_S = 1.0
_CHUNK = 65536


class SerialLine:
    """What is written while nobody reads is lost, as on a real line; `path` is the port.

    One descriptor of the port stays open here, so that the line lives between two clients. Where it matters that a
    client has gone, `watch` closes it: then `read` tells.
    """

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self._slave: int | None = slave
        self.path = os.ttyname(slave)
        tty.setraw(slave)
        os.set_blocking(self._master, False)
        self._waiting = bytearray()
        self._heard = True
        self._tried_at = 0.0

    def fileno(self) -> int:
        """The descriptor that is readable when a client has written something."""
        return self._master

    @property
    def waiting(self) -> bool:
        """Whether there is output that has found no room."""
        return bool(self._waiting)

    def read(self) -> bytes | None:
        """What a client has written; None when, while watched, the last client has gone."""
        try:
            content = os.read(self._master, _CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux tells that nobody has the port open
                raise
            content = b""
        return content or None

    def write(self, content: bytes) -> None:
        """Send as much as there is room for; the rest waits for `flush`."""
        if not self._waiting:
            self._tried_at = time.monotonic()
        self._waiting += content
        self.flush()

    def write_all(self, content: bytes) -> None:
        """Send all of it, however long a client takes; from any thread. Nothing where there is no client."""
        rest = memoryview(content)
        while rest:
            select.select([], [self._master], [], _UNHEARD_S)
            try:
                rest = rest[os.write(self._master, rest) :]
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return

    def flush(self) -> None:
        """Send what waits; drop it where nobody has read for a second."""
        now = time.monotonic()
        try:
            while self._waiting:
                sent = os.write(self._master, self._waiting)
                del self._waiting[:sent]
                self._tried_at = now
                self._heard = True
        except BlockingIOError:
            if not self._heard or now - self._tried_at > _UNHEARD_S:
                self._heard = False
                self._waiting.clear()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self._waiting.clear()

    def watch(self) -> None:
        """From now on `read` tells when the last client has gone. There must be one."""
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None

    def hold(self) -> None:
        """Keep the line open again."""
        if self._slave is None:
            self._slave = os.open(self.path, os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self._slave)

    def close(self) -> None:
        """The port is gone."""
        if self._slave is not None:
            os.close(self._slave)
        os.close(self._master)
