"""What `dcka monitor` shows: a live table, plain lines, or an object an event."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from dcka.cli import logs
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.config import State
    from dcka.history import History
    from dcka.monitor import Event, NetworkState
    from dcka.monitor.stories import Stories
    from dcka.monitor.story import Story

REFRESH_HZ = 4

Tell = Callable[[list["Event"]], None]


def is_live() -> bool:
    """Whether stdout is a terminal on which a table can change."""
    from rich.console import Console

    console = Console(highlight=False)
    return console.is_terminal and not console.is_dumb_terminal


@contextmanager
def json_lines() -> "Iterator[Tell]":
    """An object an event."""
    yield _print_json


@contextmanager
def plain_lines(network: str, url: str) -> "Iterator[Tell]":
    """A line an event."""
    Output().say(f"listening to network {network} at {url}")
    yield _print_lines


@contextmanager
def table(
    state: "NetworkState",
    url: str,
    stories: "Stories",
    guard: Lock,
    folder: "State",
    history: "History | None",
) -> "Iterator[Tell]":
    """A table that changes, with the run's clusters and, once it has ended and is kept here, its verdict."""
    from rich.console import Console

    from dcka.monitor.live import live
    from dcka.monitor.table import StateTable

    judge = Judge(stories, folder, history)
    shown = StateTable(state, url, stories, guard, judge.verdicts)
    with live(shown, Console(highlight=False), REFRESH_HZ):
        yield lambda events: judge.turn()


class Judge:
    """Checks each run that has ended, aside: the reference takes as long as it takes. `verdicts`: by run."""

    def __init__(self, stories: "Stories", folder: "State", history: "History | None" = None) -> None:
        self._stories = stories
        self._folder = folder
        self._history = history
        self._busy: threading.Thread | None = None
        self.verdicts: dict[int, Mapping[str, Any]] = {}

    def turn(self) -> None:
        """Look whether there is something to check."""
        story = self._stories.current
        if story is None or not story.finished or story.number in self.verdicts:
            return
        if self._busy is None or not self._busy.is_alive():
            self._busy = threading.Thread(target=self._check, args=(story,), name="check", daemon=True)
            self._busy.start()

    def _check(self, story: "Story") -> None:
        from dcka.web.verdicts import checked

        found = checked(self._folder, story, self._history)
        if found is not None:
            self.verdicts[story.number] = found


def _print_json(events: "list[Event]") -> None:
    for event in events:
        print(json.dumps(event.record()), flush=True)


def _print_lines(events: "list[Event]") -> None:
    for event in events:
        if logs.is_plain(sys.stdout):
            print(event.line(), flush=True)
        else:
            level = logging.WARNING if event.bad else logging.INFO
            logs.put(event.text, level, sys.stdout, datetime.fromtimestamp(event.at, UTC))
