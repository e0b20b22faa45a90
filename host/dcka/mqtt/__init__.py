"""The host's side of MQTT: `connection` (topics in and out), `statuses` (what nodes say of themselves)."""

from dcka.mqtt.connection import Connection, ConnectionLost, Message, NotGranted, Reconnected
from dcka.mqtt.statuses import NodeStatus, Statuses, read_status

__all__ = [
    "Connection",
    "ConnectionLost",
    "Message",
    "NodeStatus",
    "NotGranted",
    "Reconnected",
    "Statuses",
    "read_status",
]
