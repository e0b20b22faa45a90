"""`dcka broker up`: the broker with locks, until Ctrl-C."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli import logs
from dcka.cli.broker.bare import LOOK_S, require_none
from dcka.cli.broker.options import folder_option, locked
from dcka.cli.options import examples, json_option, network_option, state_of, state_option
from dcka.cli.output import Output
from dcka.cli.until import told_to_end
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.broker.folder import BrokerFolder, Doors
    from dcka.security.server import SecuredBroker


@click.command(
    "up",
    epilog=examples(
        "dcka broker up",
        "dcka broker up --server a.local   one server of a cluster, on the computer a.local",
        "dcka broker up --json",
    ),
)
@click.option(
    "--server", "servers", multiple=True, metavar="NAME",
    help="Of a cluster, the server that runs here; again for more.  [default: all]",
)  # fmt: skip
@folder_option
@network_option
@state_option
@json_option
def command(
    servers: tuple[str, ...], folder: Path | None, network: Path | None, state: Path | None, output: Output
) -> int:
    """Start the broker that `dcka broker init` has written, until Ctrl-C.

    Rules and password hashes are written anew first, from network.toml and the folder as they are. The other verbs
    find it by themselves, and log in with the folder's passwords.
    """
    from dcka.broker import BrokerError
    from dcka.mqtt.address import forget_broker, note_broker
    from dcka.security.server import SecuredBroker, certificate_note
    from dcka.security.setup import write_files

    logs.begin_service()
    config, place, doors = locked(network, folder)
    note = state_of(config, state)
    if doors.servers:
        from dcka.cli.broker.up_cluster import run_servers

        return run_servers(config, place, doors, servers, note, output)
    if servers:
        raise UsageError("--server is of a cluster, and this broker is one mosquitto: leave it out")
    require_none(note)
    soon = certificate_note(place)
    write_files(config, place, doors)
    with SecuredBroker(place, doors) as broker, told_to_end() as told:
        pid = broker.pid
        if pid is not None:
            note_broker(note, broker.url, pid, place.path)
        try:
            _report(broker, place, doors, output)
            if soon:
                output.warn(f"note: {soon}")
            while broker.pid is not None:
                if told():
                    return 0
                time.sleep(LOOK_S)
            last = " | ".join(line.strip() for line in broker.lines()[-3:])
            raise BrokerError(f"mosquitto has ended by itself; it said: {last}")
        finally:
            if pid is not None:
                forget_broker(note, pid)


def _report(broker: "SecuredBroker", place: "BrokerFolder", doors: "Doors", output: Output) -> None:
    """Where it listens, and for whom."""
    nodes, host = (f"mqtts://{doors.address}:{port}" for port in (doors.node_port, doors.host_port))
    listens = [f"{one}:{port}" for one in doors.bind or ("*",) for port in (doors.node_port, doors.host_port)]
    output.result(
        {
            "url": str(broker.url),
            "engine": doors.engine,
            "nodes_url": nodes,
            "host_url": host,
            "listens": listens,
            "pid": broker.pid,
            "folder": place.path.absolute(),
        },
        f"{nodes} for nodes, {host} for host and monitor",
    )
    where = ", ".join(doors.bind) if doors.bind else "all addresses of this computer"
    output.say(f"mosquitto listens on {where}, encrypted, with passwords; it runs until Ctrl-C")
