"""Runs workers that speak to bootloaders, some at a time, and hands on what they say."""

import json
import queue
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dcka.boards.errors import BoardError
from dcka.boards.flash_errors import error_of
from dcka.processes import Child, ProcessGroup

WORKER = (sys.executable, "-m", "dcka.boards.esptool_worker")
_LOOK_S = 0.05  # how often it is looked for workers that have ended

Request = Mapping[str, Any]
Event = Mapping[str, Any]


@dataclass(frozen=True)
class End:
    """How a worker ended: the error, or None, and the seconds from its start."""

    problem: BoardError | None
    seconds: float


@dataclass
class _Running:
    child: Child
    begun: float
    heard: float
    last: Event
    silent: bool = False


class _Pool:
    """One call of `run_workers`."""

    def __init__(
        self, requests: Sequence[Request], on_event: Callable[[int, Event], None], silence_s: float
    ) -> None:
        self.requests = requests
        self.on_event = on_event
        self.silence_s = silence_s
        self.lines: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self.running: dict[int, _Running] = {}
        self.ends: dict[int, End] = {}

    def start(self, group: ProcessGroup, index: int) -> None:
        """Start the worker of one request."""
        request = self.requests[index]

        def heard(line: str) -> None:
            self.lines.put((index, line))

        command = [*WORKER, json.dumps(request)]
        child = group.start(command, name=f"flasher of {request['port']}", on_line=heard)
        now = time.monotonic()
        self.running[index] = _Running(child, now, now, {})

    def listen(self) -> None:
        """Hand on what was said, waiting a moment for the first word."""
        wait = True
        while True:
            try:
                index, line = self.lines.get(wait, _LOOK_S)
            except queue.Empty:
                return
            wait = False
            event = _event(line)
            if event is not None and index in self.running:
                worker = self.running[index]
                worker.heard, worker.last = time.monotonic(), event
                self.on_event(index, event)

    def reap(self) -> None:
        """Take in those that have ended, and end those that say nothing any more."""
        now = time.monotonic()
        for worker in self.running.values():
            if worker.child.poll() is None and now - worker.heard > self.silence_s:
                worker.silent = True
                worker.child.kill()
        ended = [index for index, worker in self.running.items() if worker.child.poll() is not None]
        for index in ended:
            self.running[index].child.lines()  # waits for the rest of its output
        if ended:
            self.listen()
        for index in ended:
            worker = self.running.pop(index)
            port = self.requests[index]["port"]
            self.ends[index] = End(_problem(worker, port), time.monotonic() - worker.begun)


def run_workers(
    requests: Sequence[Request], parallel: int, on_event: Callable[[int, Event], None], silence_s: float
) -> list[End]:
    """Run a worker for each request (esptool_worker has their form), at most `parallel` at a time; how each ended.

    `on_event` gets the index of the request and each event, in this thread. A worker that says nothing for `silence_s`
    seconds is killed. All are stopped when this ends, whatever ends it. Main thread only.
    """
    pool = _Pool(requests, on_event, silence_s)
    waiting = deque(range(len(requests)))
    with ProcessGroup() as group:
        while waiting or pool.running:
            while waiting and len(pool.running) < max(1, parallel):
                pool.start(group, waiting.popleft())
            pool.listen()
            pool.reap()
    return [pool.ends[index] for index in range(len(requests))]


def _event(line: str) -> Event | None:
    """The event that a line of output is; None for other words, such as a traceback."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "event" in record else None


def _problem(worker: _Running, port: str) -> BoardError | None:
    """What went wrong, by the last event and the exit code."""
    if worker.last.get("event") == "done":
        return None
    if worker.last.get("event") == "error":
        return error_of(worker.last["kind"], worker.last["text"])
    if worker.silent:
        return BoardError(
            f"{port}: the system's driver hangs: unplug the board, plug it in again, and call again"
        )
    said = worker.child.lines()
    return BoardError(
        f"{port}: the flashing program failed with exit code {worker.child.poll()}"
        + (f": {said[-1]}" if said else "")
    )
