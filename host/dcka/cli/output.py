"""Where a verb's words go: results to stdout, all else to stderr; with --json one object, and no more."""

import contextlib
import json
import logging
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dcka.cli import logs

if TYPE_CHECKING:
    from rich.console import Console


class Output:
    """The only way for a verb to print.

    `json_mode`: `result` prints one JSON object on stdout, once; nothing else gets there. `stdout`: where results go.
    Which of the lines for people are shown, and how they look where nobody looks on, is the matter of `logs`.
    """

    def __init__(self, json_mode: bool = False, stdout: TextIO | None = None) -> None:
        self.json_mode = json_mode
        self._stdout = stdout or sys.stdout
        self._console: Console | None = None
        self._done = False

    @property
    def console(self) -> "Console":
        """The rich console on stderr, for progress and live tables."""
        if self._console is None:
            # rich takes as long to import as all the rest: only who prints something waits for it.
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False)
        return self._console

    def say(self, text: str) -> None:
        """A line for a person, on stderr: progress, notes, what comes next. Brackets stay as they are."""
        self._put(text, logging.INFO)

    def detail(self, text: str) -> None:
        """As `say`, at level debug."""
        self._put(text, logging.DEBUG, "dim")

    def warn(self, text: str) -> None:
        """As `say`, of what will need somebody's hand."""
        self._put(text, logging.WARNING, "yellow")

    def error(self, text: str) -> None:
        """As `say`, of what has gone wrong."""
        self._put(text, logging.ERROR, "red")

    def _put(self, text: str, level: int, style: str | None = None) -> None:
        if not logs.is_plain(sys.stderr):
            logs.put(text, level, sys.stderr)
        elif logs.shows(level):
            self.console.print(text, style=style, markup=False, emoji=False, soft_wrap=True)

    def result(self, record: Mapping[str, object], text: str | None = None) -> None:
        """The outcome of the verb: `record` as JSON in JSON mode, else `text` (or `record`, a key a line).

        numpy's scalars and arrays, tuples, sets and paths become JSON's own. Raises ValueError for NaN and
        inf, TypeError for what JSON cannot hold, both with the place in the record, and RuntimeError for a
        second object in JSON mode.
        """
        plain = {name: _plain(value, name) for name, value in record.items()}
        if not self.json_mode:
            words = (
                text if text is not None else "\n".join(f"{name}: {value}" for name, value in plain.items())
            )
            print(words, file=self._stdout, flush=True)
            return
        if self._done:
            raise RuntimeError("a second result in JSON mode")
        self._done = True
        print(json.dumps(plain, allow_nan=False), file=self._stdout, flush=True)

    def line(self, record: Mapping[str, object], text: str | None = None) -> None:
        """One of many outcomes, of a verb that goes on: as `result`, as often as there are any."""
        self.result(record, text)
        self._done = False

    @contextlib.contextmanager
    def guarded(self) -> Iterator["Output"]:
        """In JSON mode, send to stderr whatever else is printed to stdout meanwhile, by a library say."""
        with contextlib.ExitStack() as stack:
            if self.json_mode:
                stack.enter_context(contextlib.redirect_stdout(sys.stderr))
            yield self


def _plain(value: Any, place: str) -> object:
    """`value` in JSON's own types; `place` is where it stands in the record, for errors."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value}, which JSON cannot hold")
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {_name(name, place): _plain(item, f"{place}.{name}") for name, item in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    raise TypeError(f"{place} is a {type(value).__name__}, which JSON cannot hold")


def _name(name: object, place: str) -> str:
    if isinstance(name, str | int) and not isinstance(name, bool):
        return str(name)
    raise TypeError(f"{place} has the name {name!r}; names are texts or whole numbers")
