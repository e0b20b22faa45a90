"""Which broker a board is told: one that it can reach. This computer's loopback is nobody's address but its own."""

import ipaddress
import os
import re
import socket
from collections.abc import Iterable

from dcka.broker.url import BrokerUrl
from dcka.config import Config, State
from dcka.errors import UsageError
from dcka.mqtt.address import broker_of

# A documentation address (RFC 5737): no packet is sent to it, it only makes the system choose its own address.
_ELSEWHERE = ("192.0.2.1", 9)
_PTY = re.compile(r"/dev/pts/\d+|/dev/ttys\d{3}")


def is_pty(path: str) -> bool:
    """Whether the port is a pseudo-terminal: what answers there is a program on this computer."""
    return _PTY.fullmatch(os.path.realpath(path)) is not None


def broker_for_boards(config: Config, state: State, explicit: str | None, ports: Iterable[str]) -> BrokerUrl:
    """The broker that `--broker` or the network file names; for emulated boards also the one that `dcka broker` runs.

    Raises UsageError where a board on one of `ports` could not reach it, with this computer's address.
    """
    boards = [port for port in ports if not is_pty(port)]
    embedded = config.network.broker is None if explicit is None else explicit.strip() == "embedded"
    if boards and embedded:
        raise UsageError(
            f'[network] broker is "embedded": it listens on this computer alone, and {boards[0]} is a board. Run a '
            f"broker that the boards reach (docs/broker.md), and say where, in network.toml or with {_example()}"
        )
    url = broker_of(config, state, explicit)
    unreachable = [address for address in url.addresses if is_loopback(address.host)]
    if boards and unreachable:
        raise UsageError(
            f"{unreachable[0]} is this computer's own loopback, which {boards[0]} cannot reach: name the address "
            f"that the boards see, with {_example()}"
        )
    return url


def is_loopback(host: str) -> bool:
    """Whether the host means the very computer that asks."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def own_address() -> str | None:
    """This computer's IPv4 address on the network that leads elsewhere; None where it has none."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_ELSEWHERE)
            address = str(probe.getsockname()[0])
    except OSError:
        return None
    return None if is_loopback(address) else address


def _example() -> str:
    address = own_address()
    if address is None:
        return "--broker mqtt://ADDRESS:1883"
    return f"--broker mqtt://{address}:1883 (the address of this computer)"
