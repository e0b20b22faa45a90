"""The passwords that a board needs: from a file, the environment or a prompt; never from the command line.

They go into `node.json` and nowhere else: neither into a message, nor into an exception, nor into a `repr`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dcka.broker.password_files import read_password_file
from dcka.broker.url import PASSWORD_VARIABLE
from dcka.errors import UsageError

WIFI_VARIABLE = "DCKA_WIFI_PASSWORD"

_WIFI_SHORTEST, _WIFI_LONGEST = 8, 63  # WPA2's; a key in hex has 64

Prompt = Callable[[str], str]
"""Asks a person for a password, without showing it; its argument says which."""


@dataclass(frozen=True)
class Secrets:
    """`wifi`: "" for an open network. `update`: the network's key of updates. None for what is not needed."""

    wifi: str | None = field(default=None, repr=False)
    broker: str | None = field(default=None, repr=False)
    update: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Sources:
    """Where passwords may come from. `prompt`: None where nobody can be asked."""

    wifi_file: Path | None = None
    broker_file: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    prompt: Prompt | None = None


def gathered(sources: Sources, ssid: str | None, user: str | None) -> Secrets:
    """The passwords of the access point `ssid` and of the broker's `user`, where there are such.

    Raises UsageError for one that is nowhere to be had, a file that others may read, and one that cannot be right.
    """
    wifi = broker = None
    if ssid is not None:
        what = f'the password of the Wi-Fi network "{ssid}"'
        wifi = _found(sources, what, "--wifi-password-file", sources.wifi_file, WIFI_VARIABLE)
        _check_wifi(wifi)
    if user is not None:
        what = f'the password of "{user}" at the broker'
        broker = _found(sources, what, "--broker-password-file", sources.broker_file, PASSWORD_VARIABLE)
    return Secrets(wifi, broker)


def _found(sources: Sources, what: str, option: str, file: Path | None, variable: str) -> str:
    if file is not None:
        return read_password_file(file)
    if variable in sources.environ:
        return sources.environ[variable]
    if sources.prompt is not None:
        return sources.prompt(what)
    raise UsageError(f"{what} is needed: set {variable}, or give {option} FILE (mode 600)")


def _check_wifi(password: str) -> None:
    """Raises UsageError for what no access point accepts: a typo is better found before the board is asked."""
    length = len(password.encode())
    if length and not _WIFI_SHORTEST <= length <= _WIFI_LONGEST and not _is_key(password):
        raise UsageError(
            f"a Wi-Fi password has {_WIFI_SHORTEST} to {_WIFI_LONGEST} bytes (or is empty, for an open network); this "
            f"one has {length}"
        )


def _is_key(password: str) -> bool:
    return len(password) == 64 and all(digit in "0123456789abcdefABCDEF" for digit in password)
