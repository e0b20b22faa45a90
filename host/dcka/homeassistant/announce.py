"""Discovery messages to a broker, and away again: what is there already is looked at first."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dcka.homeassistant.discovery import discovery, object_id, origin_of
from dcka.mqtt import Connection, Message

QUIET_S = 0.5
"""Retained messages come at once after the answer to a SUBSCRIBE; so long after the last, no more do."""
_CONFIG = "device/+/config"


@dataclass(frozen=True)
class Announced:
    """`topics`: those that now hold a device, without the prefix. `cleared`: of nodes that are no longer there."""

    topics: tuple[str, ...]
    cleared: tuple[str, ...]


def announced(connection: Connection, network: str) -> dict[str, Mapping[str, Any]]:
    """What is retained of this network's nodes under the connection's prefix, by topic."""
    connection.subscribe(_CONFIG)
    found: dict[str, Mapping[str, Any]] = {}
    until = time.monotonic() + QUIET_S
    while (left := until - time.monotonic()) > 0:
        arrived = connection.next(left)
        if not isinstance(arrived, Message):
            continue
        until = time.monotonic() + QUIET_S
        record = _object(arrived.payload)
        if record is not None and origin_of(record) == network:
            found[arrived.suffix] = record
    connection.unsubscribe(_CONFIG)
    return found


def announce(
    connection: Connection,
    network: str,
    nodes: Iterable[int],
    statuses: Mapping[int, Mapping[str, Any]],
    unit: str,
    capacity_mah: float,
) -> Announced:
    """Make devices of `nodes`, and take away those of this network's that are none of them.

    connection: its prefix is Home Assistant's. Raises ConnectionLost where the broker does not confirm.
    """
    members = tuple(nodes)
    wanted = {
        topic_of(network, node): discovery(network, node, members, statuses.get(node), unit, capacity_mah)
        for node in members
    }
    gone = tuple(sorted(set(announced(connection, network)) - set(wanted)))
    for topic, record in wanted.items():
        connection.publish(topic, record, retain=True)
    _clear(connection, gone)
    return Announced(tuple(wanted), gone)


def withdraw(connection: Connection, network: str) -> tuple[str, ...]:
    """Take all devices of the network away; their topics. Raises ConnectionLost."""
    gone = tuple(sorted(announced(connection, network)))
    _clear(connection, gone)
    return gone


def topic_of(network: str, node: int) -> str:
    """Where a node is announced, without the prefix."""
    return f"device/{object_id(network, node)}/config"


def _clear(connection: Connection, topics: Iterable[str]) -> None:
    for topic in topics:
        connection.publish(topic, b"", retain=True)
    connection.flush()


def _object(payload: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
