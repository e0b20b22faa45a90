"""Encrypted connections, whose certificate is always verified. Loaded only where node.json names a `ca`."""

import errno
import time
from binascii import a2b_base64

from tls import CERT_REQUIRED, PROTOCOL_TLS_CLIENT, SSLContext

from dcka_device.connector import Connector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# A board that has lost its power is in 2000 or 1970 again, where every certificate is one of the future.
_FIRST_YEAR = 2025
# mbedTLS' numbers: the connection ended, or something came that is no TLS record.
_NO_TLS = (-0x7280, -0x7200, -0x7100, errno.ECONNRESET)
# All that can be wrong with a certificate.
_CERTIFICATE_LOW, _CERTIFICATE_HIGH = -0x3000, -0x2080
_NO_AUTHORITY = -0x7680

# Made once: it takes 3.5 KB of heap in one piece.
_context: "Any" = None


class TlsConnector(Connector):
    """A connection to a broker whose certificate is for its `host`, and of an authority in the PEM file `ca`.

    It is ready as soon as it stands: the handshake happens while the client sends its first packet, of which no byte
    leaves the node before the broker is verified.
    """

    def __init__(self, broker: "dict[str, Any]") -> None:
        self._host = broker["host"]
        self._ca = broker["ca"]
        self._tcp: Any = None
        try:
            _require_clock()
        except OSError as error:
            self.sock = self.socket = self.io_socket = None
            self.reason = "clock"
            self._fail(error)
        else:
            Connector.__init__(self, broker)

    def tick(self, now: int) -> None:
        Connector.tick(self, now)
        if self.state == "ready":
            self._tcp = self.sock
            try:
                self.sock = _wrapped(self._tcp, self._host, self._ca)
            except (OSError, ValueError) as error:
                self._fail(self._told(error))

    def recv_into(self, buffer: "memoryview", size: int) -> int:
        agreed = self.reason == "closed"
        try:
            return Connector.recv_into(self, buffer, size)
        except (OSError, ValueError) as error:
            if agreed or (isinstance(error, OSError) and error.errno == errno.EAGAIN):
                raise
            raise self._told(error)

    def send(self, payload: "bytes | memoryview") -> int:
        agreed = self.reason == "closed"
        try:
            return Connector.send(self, payload)
        except (OSError, ValueError) as error:
            if agreed:
                raise
            raise self._told(error)

    def close(self) -> None:
        self.sock.close()
        if self._tcp is not None:
            # After a handshake that failed, the encrypted one does not close what is below it.
            self._tcp.close()

    def _told(self, error: "Any") -> OSError:
        """Note why the handshake failed, as a word and in more of them; the error as the client knows it."""
        code = error.errno if isinstance(error, OSError) else None
        self.reason = "closed"
        if code is None:
            self.reason = "certificate"
            text = str(error).strip().replace("\n", "; ")
            if "future" in text:
                text += "; the node's clock says %d-%02d-%02d" % time.gmtime()[:3]
            error = OSError(text)
        elif code in (errno.ENOENT, _NO_AUTHORITY) or _CERTIFICATE_LOW <= code <= _CERTIFICATE_HIGH:
            self.reason = "certificate"
        elif code in _NO_TLS:
            error = OSError("is that the port for TLS?")
        elif code == errno.ENOMEM:
            error = OSError("no memory for TLS")
        self.last_error = error
        return error  # type: ignore[no-any-return]


def _require_clock() -> None:
    """Raises OSError where the date isn't known and no time server tells it within a second or two."""
    if time.gmtime()[0] >= _FIRST_YEAR:
        return
    try:
        import ntptime

        ntptime.settime()
    except (ImportError, OSError, ValueError) as error:
        raise OSError("the date is not known, and no time server says it: %s" % error)
    if time.gmtime()[0] < _FIRST_YEAR:
        raise OSError("the time server says %d" % time.gmtime()[0])


def _wrapped(sock: "Any", host: str, ca: str) -> "Any":
    """`sock` with encryption. Raises OSError and ValueError for a file that isn't there or holds no certificate."""
    global _context
    if _context is None:
        context: Any = SSLContext(PROTOCOL_TLS_CLIENT)
        context.verify_mode = CERT_REQUIRED
        found = False
        for certificate in _certificates(ca):
            context.load_verify_locations(certificate)
            found = True
        if not found:
            raise ValueError("no certificate in %s" % ca)
        _context = context
    return _context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)


def _certificates(path: str) -> "Iterator[bytes]":
    """The certificates of a PEM file in binary form: not every build of MicroPython reads text."""
    text: str | None = None
    with open(path) as file:
        for line in file:
            if line.startswith("-----BEGIN CERTIFICATE-----"):
                text = ""
            elif line.startswith("-----END CERTIFICATE-----") and text is not None:
                yield a2b_base64(text)
                text = None
            elif text is not None:
                text += line.strip()
