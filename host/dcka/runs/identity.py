"""What tells a run from every other, whatever its number: numbers begin anew where a network's state is lost."""

import secrets
from collections.abc import Mapping
from typing import Any

from dcka.mqtt.connection import encoded

Json = dict[str, Any]

KEY = "id"


def identified(record: Mapping[str, Any]) -> Json:
    """A run's record with an `id` that no other run has."""
    return {**record, KEY: secrets.token_hex(4)}


def record_bytes(record: Mapping[str, Any]) -> int:
    """How long a run's record is on its way, with its `id`."""
    return len(encoded({**record, KEY: "00000000"}))
