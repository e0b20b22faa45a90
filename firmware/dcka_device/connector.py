"""A connection that doesn't block, in the shape that the MQTT client asks its transport for.

The client's own connector brings look-ups in the background and 15 KB of heap with it; this is what a node needs.
A broker that wants encryption brings `dcka_device.tls` with it, and only then.
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
# An ESP32 says "reset" of a port where nobody listens.
_REFUSED = (errno.ECONNREFUSED, errno.ECONNRESET)
# After so many attempts without a word from the broker it may have another address.
_TRUST = 5

# The broker's address, as getaddrinfo has it, and the attempts since it last answered: a look-up blocks, so its result
# is kept.
_address: "Any" = None
_attempts = 0


class Connector:
    """One attempt to connect, and the connection that comes of it.

    ca: the file of the certificate authority that the broker's certificate has to be of; None: no encryption.
    reason: why it failed, or would, were it given up now: "refused", "unreachable", "unknown host", "certificate",
    "clock", "closed" or "too slow". last_error says more; None where only the client knows. Until a connection is
    encrypted and verified, nothing of what is sent leaves the node. `sock` can be polled.
    """

    def __init__(self, host: str, port: int, ca: "str | None" = None) -> None:
        self.state = "awaiting_tcp"
        self.reason = "unknown host"
        self.last_error: OSError | None = None
        self.sock: Any = None
        self._tcp: Any = None
        self._host = host
        self._ca = ca
        self._poll: Any = select.poll()
        try:
            self._open(port)
        except OSError as error:
            self._fail(error)

    def _open(self, port: int) -> None:
        global _address, _attempts
        if self._ca:
            from dcka_device import tls

            self.reason = "clock"
            tls.require_clock()
            self.reason = "unknown host"
        if _address is None or _attempts >= _TRUST:
            try:
                _address = socket.getaddrinfo(self._host, port, 0, socket.SOCK_STREAM)[0]
            except OSError:
                # Without a name server the old address is the best there is.
                if _address is None:
                    raise
            _attempts = 0
        _attempts += 1
        self.reason = "unreachable"
        family, kind, _, _, address = _address
        self.sock = self._tcp = socket.socket(family, kind)
        self.sock.setblocking(False)
        # Without it a small message waits for the answer to the last one: 44 ms a step.
        self.sock.setsockopt(_TCP, _NODELAY, 1)
        try:
            self.sock.connect(address)
        except OSError as error:
            if error.errno not in _PENDING:
                raise
        self._poll.register(self.sock, select.POLLOUT)

    # ---- what the client asks of an attempt ----

    @property
    def socket(self) -> "Connector | None":
        return self if self.sock is not None else None

    io_socket = socket

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
                self._fail(_cause(self._tcp))
            elif events & select.POLLOUT:
                self._connected()

    def cancel(self) -> None:
        """Give up."""
        if self.state == "awaiting_tcp":
            self._fail(OSError(errno.ETIMEDOUT))

    def _connected(self) -> None:
        self._poll = None
        if self._ca:
            from dcka_device import tls

            try:
                self.sock = tls.wrapped(self._tcp, self._host, self._ca)
            except (OSError, ValueError) as error:
                self._fail(self._broken(error))
                return
        self.state = "ready"
        # What the client says next has five seconds for its answer; in them the two sides agree on encryption too.
        self.reason = "too slow"
        self.last_error = OSError(errno.ETIMEDOUT)

    def _fail(self, error: OSError) -> None:
        if error.errno in _REFUSED and self.reason == "unreachable":
            self.reason = "refused"
        self.last_error = error
        self.state = "failed"
        self._poll = None
        self.close()
        self.sock = None

    # ---- what the client asks of a connection ----

    def recv_into(self, buffer: "memoryview", size: int) -> int:
        """Bytes read; 0 at the end of the stream; EAGAIN where there is nothing yet."""
        global _attempts
        try:
            count = self.sock.readinto(buffer, size)
        except (OSError, ValueError) as error:
            raise self._broken(error)
        if count is None:
            raise OSError(errno.EAGAIN)
        if count:
            _attempts = 0
        self.reason = "closed"
        self.last_error = None
        return count  # type: ignore[no-any-return]

    def send(self, payload: "bytes | memoryview") -> int:
        """Bytes taken; 0 where the socket takes none."""
        try:
            return self.sock.write(payload) or 0
        except (OSError, ValueError) as error:
            raise self._broken(error)

    def setblocking(self, wait: bool) -> None:
        self._tcp.setblocking(wait)

    def close(self) -> None:
        """Close it; nothing happens if it is closed."""
        if self.sock is not None:
            # After a handshake that failed, an encrypted one does not close what is below it.
            self.sock.close()
            self._tcp.close()

    def _broken(self, error: "OSError | ValueError") -> OSError:
        """The error in a form that the client knows, with its reason noted."""
        if self._ca and self.reason != "closed":
            from dcka_device import tls

            self.reason, self.last_error = tls.told(error)
        else:
            self.reason, self.last_error = "closed", OSError(str(error))
        return self.last_error


def _cause(sock: "Any") -> OSError:
    """Why a connection has not come about: reading from it says so."""
    try:
        sock.read(1)
    except OSError as error:
        return error
    return OSError(errno.ECONNREFUSED)
