"""`dcka board logs`: what boards print, as it comes."""

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.options import examples, network_option, state_option
from dcka.cli.until import told_to_end

if TYPE_CHECKING:
    from dcka.boards.logs import Event, Follower
    from dcka.boards.ports import PortInfo
    from dcka.boards.registry import Registry

TURN_S = 0.2
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")
_NOTICES = {"opened": "listening", "gone": "gone", "waiting": "waiting"}


@click.command(
    "logs",
    epilog=examples(
        "dcka board logs --all                         every board, and those that are plugged in later",
        "dcka board logs --port /dev/ttyUSB0 --timestamps",
        "dcka board logs --all --for 60 --json | jq 'select(.node == 3)'",
    ),
)
@click.option("--port", "ports", multiple=True, metavar="PATH", help="A board's port; may be repeated.")
@click.option("--all", "all_", is_flag=True, help="Every board, those that are plugged in later too.")
@click.option(
    "--for", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="End by itself after so long."
)
@click.option("--timestamps", is_flag=True, help="Begin each line with the time of day.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, as they come.")
@network_option
@state_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    seconds: float | None,
    timestamps: bool,
    as_json: bool,
    network: Path | None,
    state: Path | None,
) -> int:
    """Follow what boards print.

    It only listens: no board is interrupted or reset. A board is followed through resets, unplugging and ports that
    change their names, and known by its USB serial number, by what it says when it starts, or by where it was seen
    last; then its id has a question mark. Tracebacks show the names of the sources that this dcka has. Bytes
    that are no text are shown as \\x1b. Ctrl-C ends it, with exit code 0.

    With --json it prints not one object, as the other verbs do, but one for each event: event (line, opened, gone,
    waiting), port, node, sure, mac, time (seconds since 1970) and text.
    """
    from dcka.boards.ports import chosen_ports
    from dcka.boards.usb import is_board
    from dcka.cli.board.places import build_names, registry_for

    wanted = [port for port in chosen_ports(ports, all_) if not all_ or is_board(port)]
    follower = _follower(wanted, all_, registry_for(network, state), build_names(network))
    tell = _Printer(as_json, timestamps)
    end = math.inf if seconds is None else time.monotonic() + seconds
    try:
        with told_to_end() as told:
            tell(follower.start())
            while not told() and (left := end - time.monotonic()) > 0:
                tell(follower.turn(min(TURN_S, left)))
    finally:
        tell(follower.close())
    return 0


def _follower(
    wanted: "Sequence[PortInfo]",
    all_: bool,
    registry: "Registry | None",
    names: Mapping[str, Mapping[str, str]],
) -> "Follower":
    from dcka.boards.listening import Listener
    from dcka.boards.logs import Follower
    from dcka.boards.ports import find_ports
    from dcka.boards.usb import is_board
    from dcka.boards.whose import Identity, who_is

    def scan() -> "list[PortInfo]":
        # Opening a port moves its DTR, which some other devices take for a reset.
        return [port for port in find_ports() if not all_ or is_board(port)]

    def who(info: "PortInfo") -> Identity:
        return who_is(info, find_ports(), registry.boards() if registry else ())

    return Follower(wanted, all_, scan, Listener, who, names)


class _Printer:
    """Events as lines for people, or as JSON, on stdout."""

    def __init__(self, as_json: bool, timestamps: bool) -> None:
        self._as_json, self._timestamps = as_json, timestamps
        self._colours: dict[str, str] = {}

    def __call__(self, events: "Sequence[Event]") -> None:
        for event in events:
            if self._as_json:
                print(json.dumps(event.record(), allow_nan=False))
            else:
                click.echo(self._words(event))
        if events:
            sys.stdout.flush()

    def _words(self, event: "Event") -> str:
        colour = self._colours.setdefault(event.port, _COLOURS[len(self._colours) % len(_COLOURS)])
        moment = (
            datetime.fromtimestamp(event.at).strftime("%H:%M:%S.%f")[:-3] + " " if self._timestamps else ""
        )
        text = event.text
        if event.kind != "line":
            text = f"-- {_NOTICES[event.kind]}" + (f": {text}" if text else "")
            text = click.style(text, dim=True)
        return f"{moment}{click.style(_prefix(event), fg=colour)} | {text}"


def _prefix(event: "Event") -> str:
    node = event.identity.node
    if node is None:
        return Path(event.port).name if event.port.startswith("/dev/tty") else event.port
    return f"node {node}" if event.identity.sure else f"node {node}?"
