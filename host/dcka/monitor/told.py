"""What a terminal shows of a run beside its state: the stories, from the topics that only they need."""

from collections.abc import Sequence

from dcka.monitor.stories import Stories
from dcka.mqtt import Message


class Told:
    """A tap of `dcka.monitor.watch`. `stories` change with its guard held."""

    topics: Sequence[str] = ("rows/+", "x/+/+")

    def __init__(self, network: str) -> None:
        self.stories = Stories(network)

    def take(self, node: int, message: Message) -> None:
        """A message; the state has it already. Raises PayloadError for one that is of no use."""
        self.stories.take(node, message)

    def refused(self, topic: str) -> None:
        """A broker with locks keeps what nodes say to each other from a monitor: then that is not shown."""
