"""A TCP connection that doesn't block, in the shape that the MQTT client asks its transport for.

The client's own connector brings TLS, name look-ups in the background and 15 KB of heap with it; this is what a node
needs. The broker's address is looked up once and kept: a look-up blocks, and a reconnect must not.
"""

import errno
import select
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TCP, _NODELAY = 6, 1
# EINPROGRESS is 115 on Linux, 36 on macOS, 119 on an ESP32.
_PENDING = (errno.EINPROGRESS, 115, 119, 36)

_addresses: "dict[tuple[str, int], Any]" = {}


class Transport:
    """A socket with the two methods that the client calls and MicroPython names otherwise; `sock` can be polled."""

    def __init__(self, sock: "Any") -> None:
        self.sock = sock
        self.close = sock.close
        self.setblocking = sock.setblocking

    def recv_into(self, buffer: "memoryview", size: int) -> int:
        """Bytes read; 0 at the end of the stream; EAGAIN where there is nothing yet."""
        count = self.sock.readinto(buffer, size)
        if count is None:
            raise OSError(errno.EAGAIN)
        return count  # type: ignore[no-any-return]

    def send(self, payload: "bytes | memoryview") -> int:
        """Bytes taken; EAGAIN where the socket takes none."""
        return self.sock.send(payload)  # type: ignore[no-any-return]


class Connector:
    """One attempt to connect."""

    def __init__(self, host: str, port: int) -> None:
        self.state = "awaiting_tcp"
        self.last_error: OSError | None = None
        self.socket: Transport | None = None
        self._poll = select.poll()
        try:
            self._open(host, port)
        except OSError as error:
            self._fail(error)

    def _open(self, host: str, port: int) -> None:
        where = (host, port)
        if where not in _addresses:
            _addresses[where] = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)[0]
        family, kind, _, _, address = _addresses[where]
        link = socket.socket(family, kind)
        self.socket = Transport(link)
        link.setblocking(False)
        # Without it a small message waits for the answer to the last one: 44 ms a step.
        link.setsockopt(_TCP, _NODELAY, 1)
        try:
            link.connect(address)
        except OSError as error:
            if error.errno not in _PENDING:
                raise
        self._poll.register(link, select.POLLOUT)

    @property
    def io_socket(self) -> "Transport | None":
        return self.socket

    def io_interest(self, now: int) -> int:
        return 2

    def next_deadline(self, now: int) -> None:
        return None

    def tick(self, now: int) -> None:
        """Look whether the connection has come about."""
        if self.state != "awaiting_tcp":
            return
        for _, events in self._poll.poll(0):
            if events & (select.POLLERR | select.POLLHUP):
                self._fail(OSError(errno.ECONNREFUSED))
            elif events & select.POLLOUT:
                self.state = "ready"

    def cancel(self) -> None:
        """Give up."""
        if self.state == "awaiting_tcp":
            self._fail(OSError(errno.ETIMEDOUT))

    def _fail(self, error: OSError) -> None:
        self.last_error = error
        self.state = "failed"
        if self.socket is not None:
            self.socket.close()
            self.socket = None
