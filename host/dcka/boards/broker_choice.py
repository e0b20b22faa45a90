"""Which broker a board is told: one that it can reach. This computer's loopback is nobody's address but its own."""

import os
import re
from collections.abc import Iterable

from dcka.broker.folder import BrokerFolder, door, read_doors
from dcka.broker.own_address import is_loopback, own_address
from dcka.broker.url import BrokerUrl
from dcka.config import Config, State
from dcka.errors import UsageError
from dcka.mqtt.address import broker_of

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
    if embedded and boards and (secured := _secured(config)) is not None:
        return secured
    if boards and embedded:
        raise UsageError(
            f'[network] broker is "embedded": it listens on this computer alone, and {boards[0]} is a board. Run a '
            f"broker that they reach: dcka broker init makes one with passwords (docs/broker.md); or say where one "
            f"is, in network.toml or with {_example()}"
        )
    url = broker_of(config, state, explicit)
    unreachable = [address for address in url.addresses if is_loopback(address.host)]
    if boards and unreachable:
        raise UsageError(
            f"{unreachable[0]} is this computer's own loopback, which {boards[0]} cannot reach: name the address "
            f"that the boards see, with {_example()}"
        )
    return url


def broker_for_updates(config: Config, state: State, explicit: str | None) -> BrokerUrl:
    """What a board is told by an update: as over the cable, but nobody knows of a node what it runs on."""
    embedded = config.network.broker is None if explicit is None else explicit.strip() == "embedded"
    secured = _secured(config) if embedded else None
    return secured or broker_of(config, state, explicit)


def _secured(config: Config) -> BrokerUrl | None:
    """The broker of the folder beside the network file, by the name that nodes are told; None where there is none."""
    folder = BrokerFolder.beside(config.file)
    doors = read_doors(folder)
    return None if doors is None or is_loopback(doors.address) else door(folder, doors)


def _example() -> str:
    address = own_address()
    if address is None:
        return "--broker mqtt://ADDRESS:1883"
    return f"--broker mqtt://{address}:1883 (the address of this computer)"
