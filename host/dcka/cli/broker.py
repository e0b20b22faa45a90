"""`dcka broker`: an MQTT broker on this computer, until Ctrl-C."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output
from dcka.cli.until import told_to_end
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.broker import Broker
    from dcka.config import State

# How often it is looked whether the server still runs, and whether it shall.
LOOK_S = 0.2


@click.command(
    "broker",
    epilog=examples(
        "dcka broker                            on a free port; prints its URL, runs until Ctrl-C",
        "dcka broker --port 1883 --folder kept  keeps the retained messages in that folder",
        "dcka broker --engine mosquitto --json",
    ),
)
@click.option(
    "--engine",
    type=click.Choice(["embedded", "mosquitto"]),
    default="embedded",
    show_default=True,
    help="The server that comes with dcka, or the system's mosquitto.",
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="[default: a free one]")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the retained messages here.  [default: nothing is kept]",
)
@network_option
@state_option
@json_option
def command(
    engine: str,
    port: int | None,
    folder: Path | None,
    network: Path | None,
    state: Path | None,
    output: Output,
) -> int:
    """Run an MQTT broker on this computer, for this computer alone, until Ctrl-C.

    It prints its URL. Beside a network file, the other verbs find it by themselves; elsewhere, give them --broker.
    """
    from dcka.broker import BrokerError, open_broker

    place = _state(network, state)
    if place is not None:
        _require_none(place)
    with open_broker(engine, port, folder) as broker, _noted(place, broker), told_to_end() as told:
        kept = None if folder is None else folder.absolute()
        output.result(
            {
                "url": broker.url,
                "engine": engine,
                "port": broker.address.port,
                "pid": broker.pid,
                "folder": kept,
            },
            broker.url,
        )
        output.say(f"the {engine} broker runs until Ctrl-C")
        while broker.pid is not None:
            if told():
                return 0
            time.sleep(LOOK_S)
        last = " | ".join(line.strip() for line in broker.lines()[-3:])
        raise BrokerError(f"the {engine} broker has ended by itself; it said: {last}")


def _state(network: Path | None, state: Path | None) -> "State | None":
    """Where the other verbs look for the broker of a network; None where there is no network to have one."""
    from dcka.config import FILE_NAME, State, find_network_file

    if state is None and network is None and not Path(FILE_NAME).is_file():
        return None
    return State.beside(find_network_file(network) if state is None else None, state)


def _require_none(state: "State") -> None:
    """Raises UsageError where a broker of this network runs already: nodes and host would miss each other."""
    from dcka.broker import BrokerUnavailable, parse_broker_url, probe
    from dcka.mqtt.address import PROBE_S, note_file

    note = state.read(note_file(state))
    if not isinstance(note, dict):
        return
    try:
        url = parse_broker_url(str(note.get("url")))
        probe(url, PROBE_S)
    except (UsageError, BrokerUnavailable):
        return  # it has gone without taking its note away
    raise UsageError(
        f"a broker of this network runs at {url} already: use that one, stop it, or start another for --state DIR"
    )


@contextmanager
def _noted(state: "State | None", broker: "Broker") -> Iterator[None]:
    """While it runs, the other verbs find it."""
    from dcka.mqtt.address import forget_broker, note_broker

    pid = broker.pid
    if state is None or pid is None:
        yield
        return
    note_broker(state, broker.address, pid)
    try:
        yield
    finally:
        forget_broker(state, pid)
