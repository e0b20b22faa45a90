"""Runs that are started and stopped from the page: `dcka run`, in a process of its own.

The main thread starts and ends the process (`turn`), since a child is tied to the thread that started it; requests
come from others.
"""

import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcka.errors import UsageError
from dcka.monitor.events import clean
from dcka.processes import Child, ProcessGroup

Json = dict[str, Any]

SCHEDULES = ("tree", "gossip")
STARTS = ("local", "sorted", "snake", "shared", "partition", "kmeans++")
NUMBERS = {"k": (1, 65535), "seed": (0, (1 << 63) - 1), "max_steps": (1, 1 << 20), "slot_ms": (0, 1 << 23)}
MOST_LINES = 30
LONGEST_LINE = 300


@dataclass(frozen=True)
class Place:
    """Which network `dcka run` is to speak of, as its options have it: files and URL as they were given to us."""

    network: Path | None = None
    broker: str | None = None
    state: Path | None = None

    def options(self) -> list[str]:
        """For the command line."""
        given = {"--network": self.network, "--broker": self.broker, "--state": self.state}
        return [word for name, value in given.items() if value is not None for word in (name, str(value))]


def run_options(asked: Mapping[str, Any]) -> list[str]:
    """The options of `dcka run` for what the page asks for. Raises UsageError for what is none of it."""
    options: list[str] = []
    for name, value in asked.items():
        if value is None or value == "":
            continue
        if name in NUMBERS:
            low, high = NUMBERS[name]
            if type(value) is not int or not low <= value <= high:
                raise UsageError(
                    f"{name} is {clean(value, 30)}: a whole number from {low} to {high} is needed"
                )
        elif name in ("schedule", "init"):
            words = SCHEDULES if name == "schedule" else STARTS
            if value not in words:
                raise UsageError(f"{name} is {clean(value, 30)}: one of {', '.join(words)} is needed")
        else:
            raise UsageError(f"{clean(name, 30)} is nothing that a run can be asked for here")
        options += [f"--{name.replace('_', '-')}", str(value)]
    return options


@dataclass
class Control:
    """`possible`: whether runs can be started here at all, else `why` not. `shown`: what the page says of it, a new
    object with each change."""

    place: Place | None
    why: str = ""
    shown: Json = field(default_factory=dict)
    _asked: "queue.Queue[tuple[str, list[str]]]" = field(default_factory=queue.Queue)
    _lines: "queue.Queue[str]" = field(default_factory=queue.Queue)
    _kept: list[str] = field(default_factory=list)
    _group: ProcessGroup = field(default_factory=ProcessGroup)
    _child: Child | None = None
    _what: str = ""

    def __post_init__(self) -> None:
        self._tell(None)

    def start(self, asked: Mapping[str, Any]) -> None:
        """Ask for a run. Raises UsageError for what can't be asked for, and where one that was started here is on."""
        options = run_options(asked)
        self._require()
        if self._child is not None or not self._asked.empty():
            raise UsageError("a run that was started here is still on: stop it first")
        self._asked.put(("run", options))

    def stop(self) -> None:
        """Ask for the end of whatever runs."""
        self._require()
        self._asked.put(("stop", []))

    def turn(self) -> None:
        """Do what was asked for, and see to what is under way. Off the main thread it does nothing."""
        if threading.current_thread() is not threading.main_thread():
            return
        while not self._lines.empty():
            self._keep(self._lines.get())
        if self._child is not None and (code := self._child.poll()) is not None:
            self._ended(self._child, code)
        while not self._asked.empty():
            what, options = self._asked.get()
            if what == "stop" and self._child is not None:
                if self._what == "run":
                    self._keep("stopping it")
                    self._child.interrupt()
            elif self._child is None:
                self._begin(what, options)

    def close(self) -> None:
        """End what is under way. Of the main thread."""
        self._group.stop()

    def _require(self) -> None:
        if self.place is None:
            raise UsageError(self.why)

    def _begin(self, what: str, options: Sequence[str]) -> None:
        place = self.place or Place()
        words = ["run", *(["--stop"] if what == "stop" else options)]
        self._kept, self._what = [f"dcka {' '.join(words)}"], what
        command = [sys.executable, "-m", "dcka", *words, *place.options()]
        self._child = self._group.start(
            command, name="dcka run", on_line=self._lines.put, death_signal=signal.SIGTERM
        )
        self._tell(None)

    def _ended(self, child: Child, code: int) -> None:
        child.lines()  # all that it wrote is there then
        while not self._lines.empty():
            self._keep(self._lines.get())
        self._group.forget(child)
        self._child = None
        self._tell(code)

    def _keep(self, line: str) -> None:
        self._kept = [*self._kept, clean(line, LONGEST_LINE)][-MOST_LINES:]
        self._tell(None)

    def _tell(self, code: int | None) -> None:
        self.shown = {
            "possible": self.place is not None,
            "why": self.why,
            "busy": self._child is not None,
            "what": self._what,
            "lines": list(self._kept),
            "code": code,
            "at": round(time.monotonic() * 1000),
        }
