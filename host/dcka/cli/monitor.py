"""`dcka monitor`: what the network is doing, live, and as metrics."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import click

from dcka.cli import logs
from dcka.cli.history import history_options
from dcka.cli.monitor_view import is_live, json_lines, plain_lines, table
from dcka.cli.monitor_web import page, web_options, web_wish
from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    log_options,
    network_option,
    state_of,
    state_option,
)
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.history import History, Recorder
    from dcka.monitor import Event, NetworkState
    from dcka.monitor.watch import Tap

    Tell = Callable[[list[Event]], None]


@click.command(
    "monitor",
    epilog=examples(
        "dcka monitor                        a live table; Ctrl-C ends it",
        "dcka monitor --for 10 > log.txt     a line an event, for ten seconds",
        "dcka monitor --json | jq .event     an object an event",
        "dcka monitor --web                  a live page at http://127.0.0.1:8080/",
        "dcka monitor --web 0.0.0.0:8080 --password-file FILE    and for others, with a password",
        "dcka monitor --metrics 9108         metrics for Prometheus, on this computer alone",
        "dcka monitor --metrics 0.0.0.0:9108 and on all its addresses, for whoever asks",
        "dcka monitor --history postgresql://dcka@db/dcka    into a history that many share",
    ),
)
@click.option(
    "--for", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="End by itself after so long."
)
@web_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object an event, each on a line.")
@click.option(
    "--metrics",
    metavar="[ADDRESS:]PORT",
    help="Serve metrics for Prometheus there, at /metrics; without an address on loopback.",
)
@network_option
@broker_option
@state_option
@history_options
@partial(log_options, hidden=True)
def command(
    seconds: float | None,
    as_json: bool,
    metrics: str | None,
    web: str | None,
    password_file: Path | None,
    open_page: bool,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    history: str | None,
    no_history: bool,
) -> int:
    """Show who is online, what runs, and what happens.

    On a terminal a table that changes; elsewhere a line an event. With --json it prints not one object, as the
    other verbs do, but one for each event as it comes: status, run, dataset, step, result, cleared, rejected,
    broker, history. A status that the broker had kept is marked: nobody knows how old it is. All that it sees goes into
    the history, for dcka results. With --metrics it shows the same to Prometheus, too; with --web as a page in the
    browser, from which runs can be started and stopped. Ctrl-C ends it, with exit code 0.
    """
    from dcka.broker.access import MONITOR
    from dcka.monitor import NetworkState, watch
    from dcka.monitor.listen import is_loopback, parse_listen
    from dcka.monitor.told import Told
    from dcka.mqtt import Connection
    from dcka.mqtt.address import broker_of

    logs.begin_service()
    listen = None if metrics is None else parse_listen(metrics)
    wish = web_wish(web, password_file, open_page)
    config = configuration(network)
    folder = state_of(config, state)
    url = broker_of(config, folder, broker, MONITOR)
    shown, guard = NetworkState(config.network.name, config.ids), Lock()
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(Connection(url, config.network.name, role="monitor"))
            if listen is not None:
                from dcka.monitor.exporter import exporting

                served = stack.enter_context(exporting(shown, guard, *listen))
                Output().say(
                    f"metrics at {served}"
                    + ("" if is_loopback(listen[0]) else ", for whoever can reach that")
                )
            tells: list[Tell] = []
            tell = _all(tells)
            kept = None if no_history else _history(stack, history, shown, guard, tell)
            live = None
            if wish is not None:
                from dcka.web.control import Control, Place

                control = Control(Place(config.file, broker, folder.folder))
                stack.callback(control.close)
                live = stack.enter_context(page(wish, shown, str(url), guard, control, folder, history=kept))
                tells += [live.tell, lambda events: control.turn()]
            tap: Tap | None = live
            if as_json:
                tells.append(stack.enter_context(json_lines()))
            elif is_live():
                told = live or Told(config.network.name)
                tap = told
                tells.append(stack.enter_context(table(shown, str(url), told.stories, guard, folder, kept)))
            else:
                tells.append(stack.enter_context(plain_lines(shown.network, str(url))))
            recorder = None if kept is None else stack.enter_context(_recorder(kept, shown, guard, tell))
            watch(connection, shown, tell, seconds, guard, recorder, tap)
    except KeyboardInterrupt:
        if not as_json and logs.is_plain(sys.stderr):
            print(file=sys.stderr)  # the terminal has written ^C
    return 0


def _all(tells: "Sequence[Tell]") -> "Tell":
    """Tells each."""

    def tell(events: "list[Event]") -> None:
        for one in tells:
            one(events)

    return tell


def _history(
    stack: ExitStack, place: str | None, state: "NetworkState", guard: Lock, tell: "Tell"
) -> "History | None":
    """What is recorded into. None, and a line, where the one that nobody has named can't be had.

    Raises HistoryError for one that was named.
    """
    from dcka.history import HistoryError, open_history

    try:
        return stack.enter_context(open_history(place))
    except HistoryError as error:
        if place is not None:
            raise
        _note(f"{error}; the monitor goes on without a history", True, state, guard, tell)
        return None


def _recorder(history: "History", state: "NetworkState", guard: Lock, tell: "Tell") -> "Recorder":
    """What writes into the history."""
    from dcka.history import Recorder

    return Recorder(history, state.network, lambda text, bad: _note(text, bad, state, guard, tell))


def _note(text: str, bad: bool, state: "NetworkState", guard: Lock, tell: "Tell") -> None:
    with guard:
        events = state.note("history", text, {"text": text, "ok": not bad}, bad, time.time())
    tell(events)
