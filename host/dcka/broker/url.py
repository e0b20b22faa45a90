"""`mqtt[s]://[user@]host[:port]`, the one way to name a broker; and the password, which no URL holds.

A broker of several servers has several such addresses, with commas between them: who loses one goes on to the next.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from dcka.errors import UsageError

DEFAULT_PORT = 1883
DEFAULT_TLS_PORT = 8883
CA_FILE = "ca.pem"
"""The certificate authority's file, beside a node's node.json."""
PASSWORD_VARIABLE = "DCKA_BROKER_PASSWORD"
MAX_ADDRESSES = 8
"""More than a cluster has servers; a node holds them all in its memory."""

Address = TypeVar("Address")

_EXAMPLE = "write mqtt://HOST:PORT (mqtts:// if encrypted), for example mqtt://127.0.0.1:1883"


class BrokerUrlError(UsageError):
    """A text that does not name a broker."""


@dataclass(frozen=True)
class BrokerUrl:
    """Where a broker listens, and as whom to speak to it. `host` is without the brackets of an IPv6 address.

    `tls`: encrypted, and the broker's certificate is verified: by the authority in the PEM file `ca`, or, where that
    is None, by those that the system trusts. `str` gives the URL; the password is neither in it nor in the `repr`.
    `others`: further addresses of the same broker, each without others of its own; they have its user and authority.
    """

    host: str
    port: int = DEFAULT_PORT
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    ca: Path | None = None
    others: tuple["BrokerUrl", ...] = ()

    def __str__(self) -> str:
        return ",".join(address._text() for address in self.addresses)

    def _text(self) -> str:
        user = f"{quote(self.username, safe='')}@" if self.username else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{user}{host}:{self.port}"

    @property
    def addresses(self) -> "tuple[BrokerUrl, ...]":
        """Every address by itself, in the order in which they are tried."""
        return (replace(self, others=()), *self.others)

    def for_client(self, number: int) -> "BrokerUrl":
        """The addresses in the order of the client `number` (a node's id): clients spread evenly over them, and so do
        those of one that is lost over the ones that stay."""
        return joined(order_for(number, self.addresses))

    def trusting(self, ca: Path | None) -> "BrokerUrl":
        """The same with the authority in `ca`, as far as it is encrypted."""
        return joined([replace(address, ca=ca if address.tls else None) for address in self.addresses])

    def with_password(self, password: str | None) -> "BrokerUrl":
        """The same with another password."""
        return joined([replace(address, password=password) for address in self.addresses])

    def for_node(self) -> dict[str, object]:
        """What node.json says of the broker. With `tls` the node needs the content of `ca` as CA_FILE beside it.

        Raises `UsageError` where there is no `ca`: MicroPython trusts no authority by itself.
        """
        said: dict[str, object] = {"host": self.host, "port": self.port}
        if self.username:
            said |= {"user": self.username, "password": self.password or ""}
        if self.others:
            said["others"] = [[other.host, other.port] for other in self.others]
        if not self.tls:
            return said
        if self.ca is None:
            raise UsageError(
                f"{self}: a MicroPython node knows no certificate authorities: give it the one of your broker, with"
                ' ca = "FILE.pem" under [network] in network.toml'
            )
        return {**said, "ca": CA_FILE}


def order_for(number: int, addresses: Sequence[Address]) -> tuple[Address, ...]:
    """In which order the client `number` tries the addresses: see `BrokerUrl.for_client`."""
    first = number % len(addresses)
    rest = (*addresses[first + 1 :], *addresses[:first])
    second = number // len(addresses) % len(rest) if rest else 0
    return (addresses[first], *rest[second:], *rest[:second])


def joined(addresses: Sequence[BrokerUrl]) -> BrokerUrl:
    """One broker of several addresses, tried in this order."""
    return replace(addresses[0], others=tuple(addresses[1:]))


def parse_broker_url(text: str, environ: Mapping[str, str] = os.environ) -> BrokerUrl:
    """Read a broker's URL, or several with commas between them; where they name a user, the password comes from
    DCKA_BROKER_PASSWORD in `environ`.

    mqtts:// is encrypted. Raises `BrokerUrlError` for any other scheme, a password in the URL, a path, a port
    outside 1 … 65535, an IPv6 address without brackets; for addresses that come twice, are not of one kind or name
    different users, and for more than MAX_ADDRESSES.
    """
    # Before anything else, so that no message repeats it, however broken the rest is.
    if any(re.search(":.*@", part, re.DOTALL) for part in text.split("://")):
        raise BrokerUrlError(
            "a password in a broker's URL would stay in the shell's history: leave it out of the URL"
            f" and set {PASSWORD_VARIABLE}"
        )
    addresses = [_parsed(part, environ) for part in re.split(r",(?=[^,]*://)", text)]
    first = addresses[0]
    if len(addresses) > MAX_ADDRESSES:
        raise BrokerUrlError(f"{len(addresses)} addresses of a broker: {MAX_ADDRESSES} are the most")
    for place, address in enumerate(addresses):
        if address in addresses[:place]:
            raise BrokerUrlError(f"{address} is there twice: name each of the broker's addresses once")
        if address.tls != first.tls:
            raise BrokerUrlError(f"{first} and {address}: all addresses have to be mqtts://, or none")
        if address.username != first.username:
            raise BrokerUrlError(
                f"{first} and {address}: all addresses of a broker have to name the same user"
            )
    return joined(addresses)


def _parsed(text: str, environ: Mapping[str, str]) -> BrokerUrl:
    stripped = text.strip()
    if not stripped.isprintable():
        raise BrokerUrlError(f"{text!r} has a control character in it: {_EXAMPLE}")
    try:
        parts = urlsplit(stripped)
        host = parts.hostname
    except ValueError as error:
        raise BrokerUrlError(f"{text!r} is not a broker's URL ({error}): {_EXAMPLE}") from error
    _check_scheme(stripped, parts.scheme)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BrokerUrlError(f"{text!r} has something after the port: {_EXAMPLE}")
    address = parts.netloc.rpartition("@")[2]
    if address.count(":") > 1 and not address.startswith("["):
        raise BrokerUrlError(f"{text!r}: an IPv6 address stands in brackets, as in mqtt://[::1]:1883")
    if not host:
        raise BrokerUrlError(f"{text!r} names no host: {_EXAMPLE}")
    if not re.fullmatch(r"[0-9A-Za-z._~%:-]+", host):
        raise BrokerUrlError(f"{text!r}: {host!r} is not a host's name: {_EXAMPLE}")
    username = unquote(parts.username) if parts.username else None
    password = environ.get(PASSWORD_VARIABLE) if username else None
    tls = parts.scheme == "mqtts"
    port = _port(text, address, DEFAULT_TLS_PORT if tls else DEFAULT_PORT)
    return BrokerUrl(host, port, username, password, tls)


def _check_scheme(text: str, scheme: str) -> None:
    if "://" not in text:
        raise BrokerUrlError(f"{text!r} has no scheme: write mqtt://{text or 'HOST'}")
    if scheme not in ("mqtt", "mqtts"):
        raise BrokerUrlError(f"{text!r}: the scheme is mqtt, not {scheme!r}: {_EXAMPLE}")


def _port(text: str, address: str, default: int) -> int:
    after = address.rpartition("]")[2] if address.startswith("[") else address
    digits = after.partition(":")[2]
    if ":" not in after:
        return default
    if not re.fullmatch(r"[0-9]{1,5}", digits) or not 1 <= int(digits) <= 65535:
        raise BrokerUrlError(f"{text!r}: a port is a number from 1 to 65535, not {digits!r}")
    return int(digits)
