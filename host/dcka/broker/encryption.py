"""The host's encrypted connections: what has to be true of a broker's certificate, and sentences for what is not."""

import socket
import ssl
from pathlib import Path

from dcka.broker.url import BrokerUrl
from dcka.errors import UsageError

# A handshake takes milliseconds, on a slow machine far away a second; a server that says nothing shall not hold us.
HANDSHAKE_S = 5.0

# OpenSSL's numbers for a certificate that fails.
_NOT_YET, _EXPIRED = 9, 10
_OTHER_NAME = (62, 64)
# No issuer, self-signed, or signed by another key than that of the authority with the same name.
_OTHER_AUTHORITY = (2, 7, 18, 19, 20, 21, 24, 27, 30, 31)


class HandshakeError(OSError):
    """No encrypted connection came about. Its text is a sentence.

    `distrusted`: the certificate is to blame; `other_name`: it is for another host; `silent`: nothing was said at all.
    """

    def __init__(self, sentence: str, *, code: int | None = None, silent: bool = False) -> None:
        super().__init__(sentence)
        self.distrusted = code is not None
        self.other_name = code in _OTHER_NAME
        self.silent = silent


class BrokerContext(ssl.SSLContext):
    """TLS 1.2 or newer to the broker at `url`, whose certificate has to be for the host there: of several addresses,
    the one that is set before a connection is made.

    `wrap_socket` is what an MQTT client calls: it makes the handshake, within `handshake_s` seconds, and verifies the
    name of the URL even where the client only knows an address. Raises HandshakeError.
    """

    url: BrokerUrl
    handshake_s: float = HANDSHAKE_S

    def wrap_socket(
        self,
        sock: socket.socket,
        server_side: bool = False,
        do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLSocket:
        sock.settimeout(self.handshake_s)
        try:
            return super().wrap_socket(sock, server_hostname=self.url.host)
        except OSError as error:
            raise self.told(error) from error

    def begun(self, sock: socket.socket) -> ssl.SSLSocket:
        """For a socket that does not block: `do_handshake` has still to be called, until it is through."""
        return super().wrap_socket(sock, server_hostname=self.url.host, do_handshake_on_connect=False)

    def told(self, error: OSError) -> HandshakeError:
        """What went wrong in a handshake, in words."""
        if isinstance(error, HandshakeError):
            return error
        if isinstance(error, ssl.SSLCertVerificationError):
            return HandshakeError(f"{self.url}: {self._distrust(error)}", code=error.verify_code)
        if isinstance(error, TimeoutError):
            what = "takes the connection, but says nothing about encryption: is another service on that port?"
            return HandshakeError(f"{self.url}: {what}", silent=True)
        if _speaks_no_tls(error):
            what = "no TLS is spoken there: is it the port for connections that are not encrypted (mqtt://)?"
        else:
            what = f"refuses an encrypted connection ({_reason(error)}): it has to offer TLS 1.2 or newer"
        return HandshakeError(f"{self.url}: {what}")

    def _distrust(self, error: ssl.SSLCertVerificationError) -> str:
        if error.verify_code in _OTHER_NAME:
            return f"its certificate is not for {self.url.host}: use the name that it is for"
        if error.verify_code == _EXPIRED:
            return (
                "its certificate has expired: the broker needs a new one (or this computer's clock is wrong)"
            )
        if error.verify_code == _NOT_YET:
            return "its certificate is not valid yet: is this computer's clock right?"
        if error.verify_code not in _OTHER_AUTHORITY:
            return f"its certificate is no good ({error.verify_message})"
        if self.url.ca is not None:
            return f"its certificate is not of the authority in {self.url.ca}: put the right authority's file there"
        return (
            "this system knows no authority for its certificate: name its file with"
            ' ca = "FILE.pem" under [network] in network.toml'
        )


def broker_context(url: BrokerUrl, handshake_s: float = HANDSHAKE_S) -> BrokerContext:
    """The context for connections to `url`. Raises UsageError for a `ca` that cannot be read any more."""
    context = BrokerContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.url = url.addresses[0]
    context.handshake_s = handshake_s
    if url.ca is None:
        context.load_default_certs()
    else:
        try:
            context.load_verify_locations(url.ca)
        except OSError as error:  # also what is no certificate
            raise UsageError(f"the certificate authority's file {url.ca} cannot be read: {error}") from error
    return context


def names_of(url: BrokerUrl, address: str, limit_s: float) -> list[str]:
    """The names that the broker's certificate is for, asked of `address`; [] where nothing trustworthy says them."""
    context = broker_context(url)
    context.check_hostname = False
    try:
        with (
            socket.create_connection((address, url.port), limit_s) as connection,
            context.wrap_socket(connection) as encrypted,
        ):
            certificate = encrypted.getpeercert() or {}
    except OSError:
        return []
    return [str(name) for entry in certificate.get("subjectAltName", ()) for name in entry[1:]]


def certificates_in(file: Path) -> int:
    """How many certificates a PEM file holds. Raises OSError, and ssl.SSLError where one of them is damaged."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(file)
    return context.cert_store_stats()["x509"]


def _speaks_no_tls(error: OSError) -> bool:
    if isinstance(error, ssl.SSLEOFError | ConnectionError):
        return True
    return isinstance(error, ssl.SSLError) and error.reason in (
        "WRONG_VERSION_NUMBER",
        "RECORD_LAYER_FAILURE",
        "UNEXPECTED_EOF_WHILE_READING",
        "HTTP_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
    )


def _reason(error: OSError) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else None
    return (reason or error.strerror or str(error)).lower().replace("_", " ")
