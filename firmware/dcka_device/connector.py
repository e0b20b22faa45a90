"""A connection that doesn't block, in the shape that the MQTT client asks its transport for.

The client's own connector brings look-ups in the background and 15 KB of heap with it; this is what a node needs.
`dcka_device.tls` has the encrypted kind.
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
# After so many attempts without a word from the broker it may have another address.
_TRUST = 5

# The attempts since the broker last answered. A look-up blocks, so what it finds is kept: broker["found"].
_attempts = 0


class Connector:
    """One attempt to connect, and the connection that comes of it: `socket` is the connector itself, once there is one.

    broker: as node.json has it (host, port), and as getaddrinfo has them, once they are `found`.
    reason: why it failed, or would if it ended now: "refused", "unreachable", "unknown host", "certificate", "clock",
    "closed" or "too slow". last_error says more, where the client does not know it. `sock` can be polled.
    """

    def __init__(self, broker: "dict[str, Any]") -> None:
        global _attempts
        self.state = "awaiting_tcp"
        self.reason = "unknown host"
        self.last_error: OSError | None = None
        self.sock: Any = None
        self.socket: Connector | None = None
        self.io_socket: Connector | None = None
        self._poll: Any = select.poll()
        try:
            if not broker.get("found") or _attempts >= _TRUST:
                _look_up(broker)
                _attempts = 0
            _attempts += 1
            self.reason = "unreachable"
            address = broker["found"]
            self.sock = socket.socket(address[0], address[1])
            self.socket = self.io_socket = self
            self.sock.setblocking(False)
            # Without it a small message waits for the answer to the last one: 44 ms a step.
            self.sock.setsockopt(_TCP, _NODELAY, 1)
            self._poll.register(self.sock, select.POLLOUT)
            self.sock.connect(address[4])
        except OSError as error:
            if self.sock is None or error.errno not in _PENDING:
                self._fail(error)

    # ---- an attempt ----

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
                try:
                    # That says what is wrong.
                    self.sock.read(1)
                    raise OSError(errno.ECONNREFUSED)
                except OSError as error:
                    self._fail(error)
            elif events & select.POLLOUT:
                self.state = "ready"
                self.reason = "too slow"
                self._poll = None

    def cancel(self) -> None:
        """Give up."""
        if self.state == "awaiting_tcp":
            self._fail(OSError(errno.ETIMEDOUT))

    def _fail(self, error: OSError) -> None:
        # An ESP32 says "reset" of a port where nobody listens.
        if self.reason == "unreachable" and error.errno in (errno.ECONNREFUSED, errno.ECONNRESET):
            self.reason = "refused"
        self.last_error = error
        self.state = "failed"
        if self.sock is not None:
            self.close()
            self.sock = self.socket = self.io_socket = None

    # ---- a connection ----

    def recv_into(self, buffer: "memoryview", size: int) -> int:
        """Bytes read; 0 at the end of the stream; EAGAIN where there is nothing yet."""
        global _attempts
        count = 0
        try:
            count = self.sock.readinto(buffer, size)
        finally:
            # Something has come, or the end, or an error.
            if count is not None:
                self.reason = "closed"
        if count is None:
            raise OSError(errno.EAGAIN)
        if count:
            _attempts = 0
        return count  # type: ignore[no-any-return]

    def send(self, payload: "bytes | memoryview") -> int:
        """Bytes taken; 0 where the socket takes none."""
        return self.sock.write(payload) or 0

    def close(self) -> None:
        self.sock.close()


def _look_up(broker: "dict[str, Any]") -> None:
    """Find the host's first address; without a name server the old one is the best there is."""
    try:
        broker["found"] = socket.getaddrinfo(broker["host"], broker["port"], 0, socket.SOCK_STREAM)[0]
    except OSError:
        if not broker.get("found"):
            raise
