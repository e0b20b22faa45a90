"""What is shown of runs while they go on: one line that changes, and whom they wait for."""

import contextlib
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from dcka.cli.output import Output

if TYPE_CHECKING:
    from rich.status import Status

Json = dict[str, Any]


class RunView:
    """Shows on stderr how a run goes: one line that changes, where that is a terminal, and whom it waits for.

    `before`: what the changing line begins with, for a run that is one of many.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self.before = ""
        self._status: Status | None = None
        self._resources = contextlib.ExitStack()
        self.handlers: dict[str, Callable[[Json], None]] = {
            "surveying": lambda data: self.show(f"run {data['run']}: the nodes agree on the range"),
            "seeding": self._seeding,
            "tail": self._tail,
            "begun": lambda data: self.show(f"run {data['run']}: begun"),
            "step": lambda data: self.show(f"run {data['run']}: step {data['step'] + 1}"),
            "waiting": self._waiting,
            "rejected": lambda data: output.detail(f"dropped a message on {data['topic']}: {data['reason']}"),
        }

    def __enter__(self) -> "RunView":
        if sys.stderr.isatty():
            self._status = self._resources.enter_context(self.output.console.status(""))
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def show(self, text: str) -> None:
        """The changing line."""
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(self.before + text))

    def take(self, kind: str, data: Json) -> None:
        """An event of the run."""
        handler = self.handlers.get(kind)
        if handler is not None:
            handler(data)

    def missing(self, nodes: "Collection[int]") -> None:
        """Who is waited for before the run."""
        from dcka.mqtt.readiness import named

        self.output.say(f"waiting for {named(nodes)} to come online" if nodes else "all are online")

    def _seeding(self, data: Json) -> None:
        self.output.say(f"note: {data['reveals']}")
        self.show(f"run {data['run']}: the nodes draw the first centres")

    def _tail(self, data: Json) -> None:
        self.output.say(f"note: {data['reveals']}")
        self.show(f"run {data['run']}: the nodes agree on what is far away")

    def _waiting(self, data: Json) -> None:
        self.output.say(f"waiting: {data['reason']}" if data["nodes"] else "all are there again")
