"""`dcka monitor`: what the network is doing, live, and as metrics."""

import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import click

from dcka.cli import logs
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
    from dcka.monitor import Event, NetworkState

    Tell = Callable[[list[Event]], None]

REFRESH_HZ = 4


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
) -> int:
    """Show who is online, what runs, and what happens.

    On a terminal a table that changes; elsewhere a line an event. With --json it prints not one object, as the
    other verbs do, but one for each event as it comes: status, run, dataset, step, result, cleared, rejected,
    broker. A status that the broker had kept is marked: nobody knows how old it is. With --metrics it shows the
    same to Prometheus, too; with --web as a page in the browser, from which runs can be started and stopped. Ctrl-C
    ends it, with exit code 0.
    """
    from dcka.broker.access import MONITOR
    from dcka.monitor import NetworkState, watch
    from dcka.monitor.listen import is_loopback, parse_listen
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
            live = None
            tells: list[Tell] = []
            if wish is not None:
                from dcka.history import open_history
                from dcka.web.control import Control, Place

                control = Control(Place(config.file, broker, folder.folder))
                stack.callback(control.close)
                history = stack.enter_context(open_history())
                live = stack.enter_context(
                    page(wish, shown, str(url), guard, control, folder, history=history)
                )
                tells = [live.tell, lambda events: control.turn()]
            tells.append(stack.enter_context(_view(shown, str(url), as_json)))
            watch(connection, shown, _all(tells), seconds, guard, tap=live)
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


@contextmanager
def _view(state: "NetworkState", url: str, as_json: bool) -> "Iterator[Callable[[list[Event]], None]]":
    """What to do with events: JSON lines, a live table on a terminal, or plain lines."""
    from rich.console import Console

    from dcka.monitor.live import live
    from dcka.monitor.table import StateTable

    console = Console(highlight=False)
    if as_json:
        yield _print_json
    elif console.is_terminal and not console.is_dumb_terminal:
        with live(StateTable(state, url), console, REFRESH_HZ):
            yield lambda events: None
    else:
        Output().say(f"listening to network {state.network} at {url}")
        yield _print_lines


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
