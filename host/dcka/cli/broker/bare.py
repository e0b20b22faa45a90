"""The bare `dcka broker`: an open broker for this computer alone, until Ctrl-C."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dcka.cli import logs
from dcka.cli.output import Output
from dcka.cli.until import told_to_end
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.broker import Broker
    from dcka.config import State

# How often it is looked whether the server still runs, and whether it shall.
LOOK_S = 0.2


def run_plain(
    engine: str, port: int | None, folder: Path | None, place: "State | None", output: Output
) -> int:
    """Start it, say where it listens, and wait for Ctrl-C; the exit code."""
    from dcka.broker import BrokerError, open_broker

    logs.begin_service()
    if place is not None:
        require_none(place)
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


def place_of(network: Path | None, state: Path | None) -> "State | None":
    """Where the other verbs look for the broker of a network; None where there is no network to have one."""
    from dcka.config import FILE_NAME, State, find_network_file

    if state is None and network is None and not Path(FILE_NAME).is_file():
        return None
    return State.beside(find_network_file(network) if state is None else None, state)


def require_none(state: "State") -> None:
    """Raises UsageError where a broker of this network runs already: nodes and host would miss each other."""
    from dcka.broker import BrokerUnavailable, parse_broker_url, probe
    from dcka.mqtt.address import PROBE_S, note_file

    note = state.read(note_file(state))
    if not isinstance(note, dict):
        return
    if isinstance(note.get("secured"), str):
        from dcka.broker.folder import BrokerFolder
        from dcka.security.server import running_pid

        if running_pid(BrokerFolder(Path(note["secured"]))) is not None:
            raise UsageError(
                f"the broker with locks in {note['secured']} runs for this network already: use that one, stop it, or "
                "start another for --state DIR"
            )
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
