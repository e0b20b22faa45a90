"""What the host needs of a way to a network's topics: `connection.Connection` is one over MQTT, with the time of this
computer; a simulated network's has a time of its own.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from dcka.mqtt.connection import Message, Reconnected


class Channel(Protocol):
    """The topics of one network. What each does is said in `connection.Connection`.

    `rejected`: messages that were of no use, by (topic, reason). `url`: what a sentence for people calls the broker.
    """

    network: str
    rejected: Counter[tuple[str, str]]

    @property
    def url(self) -> object:
        """The broker, as it is named to people."""

    def now(self) -> float:
        """Seconds on the clock that all limits of this network go by; it never goes back."""

    def publish(self, suffix: str, payload: bytes | str | Mapping[str, object], retain: bool = False) -> bool:
        """Send; False where it was lost."""

    def flush(self, timeout: float = ...) -> None:
        """Return once all that was published before has been taken."""

    def subscribe(self, *suffixes: str) -> None:
        """Listen to these topics."""

    def ask(self, *suffixes: str) -> None:
        """Ask for what is retained once more."""

    def unsubscribe(self, *suffixes: str) -> None:
        """Listen no longer."""

    def next(self, timeout: float) -> Message | Reconnected | None:
        """What comes next within `timeout` s."""

    def reject(self, suffix: str, reason: str) -> None:
        """Count a message that is of no use."""
