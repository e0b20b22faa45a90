"""`--history`, `--no-history`, and how verbs that end runs put them into the history."""

from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import Decorated
from dcka.cli.output import Output
from dcka.errors import DckaError

if TYPE_CHECKING:
    from dcka.check import Verdict
    from dcka.history import Checked, History
    from dcka.runs.outcome import Outcome

Json = dict[str, Any]

PLACE_HELP = (
    "A file, or postgresql://USER@HOST/DATABASE.  [default: the environment's DCKA_HISTORY, or your own file]"
)


def place_option(command: Decorated) -> Decorated:
    """`--history PLACE`; the function gets `history`, a text or None."""
    return click.option("--history", metavar="PLACE", help=PLACE_HELP)(command)


def history_options(command: Decorated) -> Decorated:
    """`--history PLACE` and `--no-history`; the function gets `history` and `no_history`."""
    without = click.option("--no-history", is_flag=True, help="Store nothing in the history.")
    return place_option(without(command))


class Kept:
    """Runs that have ended, for the history: `with Kept(output, history, no_history) as kept:`; written at its end.

    A run is worth more than its record: what goes wrong here is told in one line, and changes no exit code. But a place
    that is none is refused before anything is started: raises HistoryUsageError then.
    """

    def __init__(self, output: Output, history: str | None, no_history: bool) -> None:
        self._output = output
        self._place = history
        self._ended: list[tuple[Outcome, Json | None, Checked | None]] = []
        self._wanted = not no_history
        if self._wanted and history is not None:
            from dcka.history.place import parse_place

            parse_place(history)

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *_: object) -> None:
        if self._wanted and self._ended:
            self._write()

    def take(self, data: Json) -> None:
        """The event "ended" of `dcka.runs.controller.run`."""
        from dcka.runs.outcome import Outcome

        self._ended.append((Outcome.from_json(data["outcome"]), data["dataset"], None))

    def add(self, outcome: "Outcome", dataset: Json | None, verdict: "Verdict") -> None:
        """A run that was checked."""
        from dcka.history import Checked

        checked = Checked(verdict.word, verdict.reasons, {"kind": verdict.kind, **verdict.figures})
        self._ended.append((outcome, dataset, checked))

    def _write(self) -> None:
        from dcka.history import open_history, record_outcome

        try:
            with open_history(self._place) as history:
                for outcome, dataset, checked in self._ended:
                    record_outcome(history, outcome, dataset, checked)
        except DckaError as error:
            self._output.warn(f"note: {error}; the run itself is as it was told")


def opened(place: str | None, readonly: bool = True) -> "History":
    """The history for a verb that looks at it; where it may be written, it is brought to today's version.

    Raises HistoryError and HistoryUsageError.
    """
    from dcka.history import HistoryError, HistoryUsageError, open_history

    if not readonly:
        return open_history(place)
    try:
        return open_history(place, readonly=True)
    except HistoryUsageError:
        raise
    except HistoryError as refused:
        try:  # an older one, that we may write
            return open_history(place)
        except HistoryError:
            raise refused from None
