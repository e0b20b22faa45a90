"""The broker's address: `mqtt://[user:password@]host[:port]`, or the word `embedded`."""

import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from dcka.config.checks import Check, Unfit

EMBEDDED = "embedded"
DEFAULT_PORT = 1883

_ALLOWED = '"embedded", or a URL such as "mqtt://192.168.1.10:1883"'


@dataclass(frozen=True)
class BrokerAddress:
    """Where a broker listens and as whom to come. `str` of it never shows the password."""

    host: str
    port: int = DEFAULT_PORT
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user else ""
        return f"mqtt://{user}{host}:{self.port}"


def broker_address(value: object) -> BrokerAddress | None:
    """The address that a URL text names; None for "embedded".

    Raises Unfit, with words that never hold the password.
    """
    if not isinstance(value, str) or not value:
        raise Unfit
    if value == EMBEDDED:
        return None
    shown = _without_password(value)
    try:
        parts = urlsplit(value)
    except ValueError:
        raise Unfit(f'"{shown}" is no URL; it must be {_ALLOWED}') from None
    _require_plain(parts, shown)
    port = _port(parts, shown)
    return BrokerAddress(
        parts.hostname or "",
        port,
        unquote(parts.username) if parts.username else None,
        unquote(parts.password) if parts.password else None,
    )


def broker_check() -> Check:
    """The check of [network] broker and of `--broker`."""
    return Check(_ALLOWED, broker_address)


def _require_plain(parts: SplitResult, shown: str) -> None:
    if parts.scheme != "mqtt" or "://" not in shown:
        raise Unfit(f'"{shown}" does not start with mqtt://; it must be {_ALLOWED}')
    if not re.fullmatch(r"[A-Za-z0-9._:%-]+", parts.hostname or ""):
        raise Unfit(f'"{shown}" names no host; it must be {_ALLOWED}')
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise Unfit(f'"{shown}" goes on after the port; it must be {_ALLOWED}')


def _port(parts: SplitResult, shown: str) -> int:
    try:
        port = DEFAULT_PORT if parts.port is None else parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise Unfit(f'"{shown}": the port must be a number from 1 to 65535; without one it is {DEFAULT_PORT}')
    return port


def _without_password(url: str) -> str:
    scheme, mark, rest = url.rpartition("://")
    login, at, host = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{scheme}{mark}{user}{colon and ':…'}{at}{host}"
