"""The network as it is now, put into the feed: what has changed since it was last looked at, and no more."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any

from dcka.monitor.events import Event
from dcka.monitor.node_part import node_part
from dcka.monitor.state import NetworkState
from dcka.monitor.stories import Stories
from dcka.monitor.story import Story
from dcka.mqtt import Message
from dcka.web.feed import Feed

Json = dict[str, Any]

KEPT_EVENTS = 300
CLOCK_S = 0.5  # so often nodes are looked at that have only become older


class Live:
    """A tap of `dcka.monitor.watch`. `state`, `stories`: of the network; `guard` is held where they change.

    `take` and `tell` are called by whoever listens, `refresh` by whoever serves.
    """

    topics: Sequence[str] = ("rows/+", "x/+/+")

    def __init__(
        self, state: NetworkState, where: str, guard: AbstractContextManager[Any] | None = None
    ) -> None:
        self.state = state
        self.stories = Stories(state.network)
        self.feed = Feed()
        self.guard: AbstractContextManager[Any] = guard or Lock()
        self._where = where
        self._shown: Story | None = None
        self._nodes: set[int] = set()
        self._clock_at = 0.0
        self._events = 0
        self._telling = Lock()
        self._blind = False
        self._verdicts: dict[int, Json] = {}
        self._put_network()

    # ---- who listens ----

    def take(self, node: int, message: Message) -> None:
        """A message; `state` has it already."""
        if node and not message.suffix.startswith(("rows/", "x/")):
            self._nodes.add(node)
        self.stories.take(node, message)

    def refused(self, topic: str) -> None:
        """The broker doesn't let us listen to what nodes say to each other: then there is no consensus to be seen."""
        self._blind = self._blind or topic.startswith("x/")

    def tell(self, events: list[Event]) -> None:
        """What has happened. Of any thread."""
        with self._telling:
            for event in events:
                record = {"number": self._events, "at": event.at, "kind": event.kind, "text": event.text}
                self.feed.put(f"event/{self._events % KEPT_EVENTS}", record | {"bad": event.bad})
                self._events += 1

    # ---- who serves ----

    def verdict(self, number: int, record: Mapping[str, Any]) -> None:
        """What the check of a run has come to."""
        self._verdicts[number] = dict(record)
        if self._shown is not None and self._shown.number == number:
            self.feed.put("verdict", record)
        self._put_runs()

    def unchecked(self) -> list[Story]:
        """Finished runs without a verdict, the newest first."""
        with self.guard:
            told = [one for one in self.stories.told.values() if one.finished]
        return [one for one in reversed(told) if one.number not in self._verdicts]

    def past(self, number: int) -> dict[str, Any] | None:
        """All parts of a run that we have listened to, by name, and its verdict; None where there is no such run."""
        with self.guard:
            story = self.stories.told.get(number)
            if story is None:
                return None
            parts = {name: story.part(name) for name in story.parts}
        return {**parts, "verdict": self._verdicts.get(number)}

    def refresh(self) -> None:
        """Bring the feed up to date."""
        now = time.monotonic()
        found: dict[str, Any] = {}
        with self.guard:
            story = self.stories.current
            nodes, self._nodes = self._nodes, set()
            if now - self._clock_at >= CLOCK_S:
                self._clock_at, nodes = now, set(self.state.nodes)
                found["network"] = self._network()
            for node in nodes:
                view = self.state.nodes.get(node)
                found[f"node/{node}"] = (
                    None if view is None else node_part(view, now, node in self.state.members)
                )
            new = story is not None and story is not self._shown
            if story is not None:
                names = story.parts if new else story.changed
                found |= {f"story/{name}": story.part(name) for name in names}
                story.changed = set()
        if story is not None and new:
            self.feed.drop_all("story/")
            self._shown = story
            found["verdict"] = self._verdicts.get(story.number)
        for name, value in found.items():
            if value is None:
                self.feed.drop(name)
            else:
                self.feed.put(name, value)
        if "story/run" in found:
            self._put_runs()

    def _network(self) -> Json:
        state = self.state
        return {
            "name": state.network,
            "broker": self._where,
            "up": state.broker,
            "up_at": round(state.broker_at * 1000),
            "members": list(state.members),
            "blind": self._blind,
            "rejected": sum(state.tally.rejected.values()),
        }

    def _put_network(self) -> None:
        self.feed.put("network", self._network())
        self._put_runs()

    def _put_runs(self) -> None:
        with self.guard:
            runs = [
                {
                    "number": story.number,
                    "title": story.progress.title(),
                    "finished": story.finished,
                    "clusters": story.centres is not None,
                    "verdict": self._verdicts.get(story.number, {}).get("verdict"),
                }
                for story in reversed(self.stories.told.values())
            ]
        self.feed.put("runs", runs)
