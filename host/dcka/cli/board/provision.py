"""`dcka board provision`: boards become nodes of the network."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.options import (
    broker_option,
    configuration,
    examples,
    json_option,
    network_option,
    state_of,
    state_option,
)
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.boards.assigning import Assignment
    from dcka.boards.fleet import Fleet, Session, Tell
    from dcka.boards.ports import PortInfo
    from dcka.boards.registry import Registry
    from dcka.boards.secrets import Secrets, Sources
    from dcka.config import Config

JOIN_S = 60.0
_WHY = {
    "known": "as before",
    "its own": "as it says itself",
    "new": "it is new",
    "asked for": "as --node says",
}
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    "provision",
    epilog=examples(
        "dcka board provision --all                             every board that is plugged in",
        "dcka board provision --port /dev/ttyUSB0 --node 3      this one becomes node 3",
        "dcka board provision --all --wifi-password-file wifi.txt --json",
        "dcka board provision --all --broker mqtt://192.168.1.10:1883",
    ),
)
@click.option("--port", "ports", multiple=True, metavar="PATH", help="A board's port; may be repeated.")
@click.option("--all", "all_", is_flag=True, help="Every board that is plugged in.")
@click.option(
    "--node", type=int, metavar="ID", help="The id, for one board.  [default: its own, or the next free]"
)
@click.option(
    "--source", is_flag=True, help="Send sources instead of .mpy files: slower, with line numbers in errors."
)
@click.option("--wifi-password-file", type=_FILE, metavar="FILE", help="Or DCKA_WIFI_PASSWORD, or a prompt.")
@click.option(
    "--broker-password-file", type=_FILE, metavar="FILE", help="Or DCKA_BROKER_PASSWORD, or a prompt."
)
@click.option("--no-wait", is_flag=True, help="Do not wait for the nodes to join.")
@click.option(
    "--timeout", type=click.FloatRange(1, 3600), default=JOIN_S, metavar="SECONDS",
    help="How long to wait for a node to join.  [default: 60]",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=8, show_default=True, metavar="N", help="Boards at a time."
)
@network_option
@broker_option
@state_option
@json_option
def command(
    ports: tuple[str, ...],
    all_: bool,
    node: int | None,
    source: bool,
    wifi_password_file: Path | None,
    broker_password_file: Path | None,
    no_wait: bool,
    timeout: float,
    jobs: int,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
) -> int:
    """Make boards nodes of the network: firmware, id, Wi-Fi and broker; then wait until they have joined.

    Only what a board does not have travels. Everything is written aside and verified before it counts, so that a cable
    pulled at any moment leaves the old version or the new one. A board that was a node keeps its id; a new one gets
    the next free id, in the order of the ports. Passwords come from a file, the environment or a prompt.
    """
    from dcka.boards.broker_choice import broker_for_boards
    from dcka.boards.fleet import Fleet
    from dcka.boards.ports import chosen_ports
    from dcka.boards.registry import Registry
    from dcka.boards.secrets import Sources
    from dcka.cli.board.places import boards_among

    begun = time.monotonic()
    config = configuration(network)
    place = state_of(config, state)
    chosen = boards_among(chosen_ports(ports, all_), all_, output)
    _check_node(node, chosen, config)
    url = broker_for_boards(config, place, broker, [port.path for port in chosen])
    config = config.with_broker(url)
    secrets = secrets_for(
        config,
        chosen,
        Sources(wifi_password_file, broker_password_file, prompt=prompt_for if can_ask() else None),
    )
    with _progress(output, chosen) as tell, Fleet(chosen, jobs, tell) as fleet:
        fleet.look(source)
        _assign(fleet, config, Registry(place), secrets, node, source, output)
        fleet.provision(None if no_wait else timeout)
    return _report(fleet.sessions, time.monotonic() - begun, output)


def _check_node(node: int | None, chosen: "Sequence[PortInfo]", config: "Config") -> None:
    """Before any port is opened: `--node` fits one board, and the network. Raises UsageError."""
    from dcka.topology.graph import named_ids

    if node is None:
        return
    if node not in config.ids:
        raise UsageError(f"--node {node} is not in the network; its nodes are {named_ids(config.ids)}")
    if len(chosen) > 1:
        raise UsageError(f"--node {node} is one id, and there are {len(chosen)} boards: name one with --port")


def secrets_for(config: "Config", chosen: "Sequence[PortInfo]", sources: "Sources") -> "Secrets":
    """The passwords that the nodes need. Raises UsageError where a board would have no network at all."""
    from dcka.boards.broker_choice import is_pty
    from dcka.boards.secrets import gathered

    boards = [port.path for port in chosen if not is_pty(port.path)]
    if boards and config.wifi.ssid is None:
        raise UsageError(
            f'{config.source.name} names no Wi-Fi, and {boards[0]} is a board: write ssid = "NAME" under [wifi]'
        )
    broker = config.network.broker
    if broker is not None:
        broker.for_node()  # an encrypted one whose authority nobody has named is refused
    # Where each node has a user of its own, the password is in a file of the broker's folder.
    user = broker.username if broker is not None and broker.secrets is None else None
    return gathered(sources, config.wifi.ssid, user)


def can_ask() -> bool:
    """Whether a person sits there to be asked for a password."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def prompt_for(what: str) -> str:
    return str(click.prompt(what, hide_input=True, default="", show_default=False, err=True))


def _assign(
    fleet: "Fleet",
    config: "Config",
    registry: "Registry",
    secrets: "Secrets",
    node: int | None,
    source: bool,
    output: Output,
) -> None:
    """Say which board becomes which node, note it, and make each its version. Raises UsageError before any note."""
    from dcka.boards.assigning import assigned
    from dcka.boards.identify import chip_of_machine
    from dcka.boards.pins import require_pins
    from dcka.boards.versions import wanted_version
    from dcka.errors import DckaError

    boards = {session.path: session for session in fleet.well}
    candidates = [session.candidate(config.network.name) for session in boards.values()]
    with registry.alone():
        plan = assigned(candidates, config.ids, registry.boards(), node)
        before = {one.mac: registry.assign(one.mac, one.node) for one in plan}
    for one in plan:
        _say(one, boards[one.port.path], output)
        registry.seen(one.mac, one.port.path, one.port.serial, one.port.usb)
    for one in plan:
        session = boards[one.port.path]
        march = session.facts.march if session.facts is not None else None
        try:
            require_pins(config.sensors, chip_of_machine(session.facts.machine) if session.facts else None)
            session.version = wanted_version(config, one.node, march, secrets, source)
        except DckaError as error:
            session.error = error
            continue
        if before[one.mac] is not None:
            output.say(f"note: node {one.node} was the board {before[one.mac]}, which has no id now")


def _say(one: "Assignment", session: "Session", output: Output) -> None:
    output.say(f"{one.port.path} ({one.mac}) becomes node {one.node}: {_WHY[one.why]}")
    if session.installed is not None and session.installed.foreign:
        output.say(f"note: {one.port.path} has a main.py that is not dcka's; it is replaced")


@contextmanager
def _progress(output: Output, ports: "Sequence[PortInfo]") -> "Iterator[Tell | None]":
    """A bar for each board on a terminal; nothing elsewhere."""
    if not output.console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[step]}", markup=False),
    )
    with Progress(*columns, console=output.console, transient=True) as bars:
        tasks = {port.path: bars.add_task(port.path, total=1.0, step="waiting") for port in ports}

        def tell(port: str, step: str, part: float) -> None:
            bars.update(tasks[port], completed=part, step=step)

        yield tell


def _report(sessions: "Sequence[Session]", wall_s: float, output: Output) -> int:
    failed = [session for session in sessions if session.error is not None]
    done = len(sessions) - len(failed)
    record = {
        "boards": [session.record() for session in sessions],
        "provisioned": done,
        "failed": len(failed),
        "wall_s": round(wall_s, 2),
    }
    words = [_line(session) for session in sessions if session.error is None]
    output.result(
        record, "\n".join([*words, f"{done} of {len(sessions)} boards provisioned in {wall_s:.1f} s"])
    )
    for sentence in dict.fromkeys(str(session.error) for session in failed):
        output.say(f"dcka: {sentence}")
    return failed[0].error.exit_code if failed and failed[0].error is not None else 0


def _line(session: "Session") -> str:
    done = session.done
    if done is None or session.version is None:
        return f"{session.path}: nothing done"
    files = f"{len(done.sent)} files sent ({done.bytes_sent:,} bytes), {len(done.copied)} copied on the board"
    what = files if done.sent or done.copied else "it had all files already"
    state = "has joined" if session.joined else "restarted"
    return f"node {session.version.node} on {session.path}: {what}; {state}"
