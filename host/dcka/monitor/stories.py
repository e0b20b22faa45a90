"""The runs of a network since somebody listens, each a story; messages are handed in."""

from typing import Any

from dcka.monitor.story import Story
from dcka.mqtt import Message
from dcka.mqtt.statuses import read_object, whole

Json = dict[str, Any]


class Stories:
    """The runs since we listen. `current`: the newest. What is told of a run before its record is kept for it."""

    MOST = 30

    def __init__(self, network: str) -> None:
        self._network = network
        self._rows: dict[int, dict[int, Json]] = {}
        self._dataset: Json | None = None
        self.told: dict[int, Story] = {}
        self.current: Story | None = None

    def take(self, node: int, message: Message) -> None:
        """A message of the network. Raises PayloadError for one that is of no use."""
        kind = message.suffix.partition("/")[0]
        story = self.current
        if kind == "run":
            self._take_run(message)
        elif kind == "rows":
            self._take_rows(node, message)
        elif kind == "dataset" and message.payload:
            self._dataset = read_object(message.payload)
            if story is not None:
                story.know_dataset(self._dataset)
        elif story is None:
            return
        elif kind == "commit":
            story.take_commit(node, message.payload)
        elif kind == "x":
            story.take_share(node, message.payload)
        elif kind == "step":
            story.take_step(node, message.record())
        elif kind == "result":
            story.take_result(node, message.record(), message.at)

    def _take_run(self, message: Message) -> None:
        record = read_object(message.payload) if message.payload else {}
        number = whole(record, "run", 0)
        if record.get("kind") == "idle" or number <= (self.current.number if self.current else 0):
            return
        story = Story(record, self._network, message.at, message.retained)
        self.told[number] = self.current = story
        while len(self.told) > self.MOST:
            del self.told[next(iter(self.told))]
        if self._dataset is not None:
            story.know_dataset(self._dataset)
        for node, rows in self._rows.pop(number, {}).items():
            story.take_rows(node, rows)

    def _take_rows(self, node: int, message: Message) -> None:
        if not message.payload:
            return
        record = read_object(message.payload)
        number = whole(record, "run", 0)
        if number in self.told:
            self.told[number].take_rows(node, record)
            return
        self._rows.setdefault(number, {})[node] = record
        while len(self._rows) > 3:
            del self._rows[min(self._rows)]
