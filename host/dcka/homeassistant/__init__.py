"""Home Assistant's MQTT discovery: each node a device. `discovery`: the messages; `announce`: to a broker and back."""

from dcka.homeassistant.announce import Announced, announce, announced, withdraw
from dcka.homeassistant.discovery import PREFIX, discovery, object_id, origin_of

__all__ = [
    "PREFIX",
    "Announced",
    "announce",
    "announced",
    "discovery",
    "object_id",
    "origin_of",
    "withdraw",
]
