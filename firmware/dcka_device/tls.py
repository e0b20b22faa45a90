"""Encrypted connections, whose certificate is always verified. Loaded only where node.json names a `ca`."""

import errno
import time
from binascii import a2b_base64

from tls import CERT_REQUIRED, PROTOCOL_TLS_CLIENT, SSLContext

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


def require_clock() -> None:
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


def wrapped(sock: "Any", host: str, ca: str) -> "Any":
    """`sock` with encryption: the first read or write begins the handshake, and no byte of ours goes before its end.

    The certificate has to be for `host`, of an authority in the PEM file `ca`, and valid today. Raises OSError and
    ValueError for a file that isn't there or holds no certificate.
    """
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


def told(error: "OSError | ValueError") -> "tuple[str, OSError]":
    """The reason for a handshake that failed, as a word and in more of them."""
    if not isinstance(error, OSError):
        text = str(error).strip().replace("\n", "; ")
        if "future" in text:
            text += "; the node's clock says %d-%02d-%02d" % time.gmtime()[:3]
        return "certificate", OSError(text)
    code: Any = error.errno
    if code == errno.ENOENT or code == _NO_AUTHORITY or _CERTIFICATE_LOW <= code <= _CERTIFICATE_HIGH:
        return "certificate", error
    if code in _NO_TLS:
        return "closed", OSError("is that the port for TLS?")
    if code == errno.ENOMEM:
        return "closed", OSError("no memory for TLS")
    return "closed", error
