"""`dcka broker init`: the folder of a broker with locks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.broker.options import folder_option
from dcka.cli.options import configuration, examples, json_option, network_option
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.broker.cluster_files import Member
    from dcka.broker.folder import BrokerFolder
    from dcka.security.setup import Made


@click.command(
    "init",
    epilog=examples(
        "dcka broker init                         for this computer's own names and address",
        "dcka broker init --name broker.local --name 192.168.1.10",
        "dcka broker init --port 9883             nodes come in by 9883, host and monitor by 9884",
        "dcka broker init --engine nats --servers a.local,b.local,c.local",
    ),
)
@click.option(
    "--engine", type=click.Choice(["mosquitto", "nats"]), help="One mosquitto, or a cluster of NATS servers.  "
    "[default: mosquitto, or what the folder has]",
)  # fmt: skip
@click.option(
    "--servers", metavar="HOST[:PORT],…",
    help="nats: the computers with a server of the cluster, 3, 5 or 7; one that comes again has one more server.",
)  # fmt: skip
@click.option(
    "--name", "names", multiple=True, metavar="NAME",
    help="A name or address by which the broker is called; the first is what nodes are told.  "
    "[default: this computer's address and names]",
)  # fmt: skip
@click.option(
    "--bind", multiple=True, metavar="ADDRESS", help="Listen on this address alone; again for more.  [default: on all]"
)  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="For nodes.  [default: 8883]")
@click.option(
    "--host-port", type=click.IntRange(1, 65535), metavar="N", help="For host and monitor.  [default: the next one]"
)  # fmt: skip
@click.option(
    "--days", type=click.IntRange(1, 3650), default=365, show_default=True, metavar="N",
    help="How long the broker's certificate is valid.",
)  # fmt: skip
@click.option(
    "--new-authority",
    is_flag=True,
    help="Make the authority anew, too: every board then needs its new ca.pem.",
)
@folder_option
@network_option
@json_option
def command(
    engine: str | None,
    servers: str | None,
    names: tuple[str, ...],
    bind: tuple[str, ...],
    port: int | None,
    host_port: int | None,
    days: int,
    new_authority: bool,
    folder: Path | None,
    network: Path | None,
    output: Output,
) -> None:
    """Write all that a broker for a network needs, out of network.toml: for mosquitto, or for a cluster of NATS.

    An authority of the network's own and a certificate for the broker; a password for each node, for the host and for
    monitors; rules by which node i speaks as i alone and hears its radio neighbours alone. Called again, it keeps
    authority and passwords, and brings the rest up to date: after a change of the nodes, the links, the names.
    """
    from dcka.broker.folder import BrokerFolder
    from dcka.security.server import reload
    from dcka.security.setup import Wishes, init

    config = configuration(network)
    place = BrokerFolder.beside(config.file, folder)
    members = _members(engine, servers, place)
    made = init(config, place, Wishes(names, bind or None, port, host_port, days, new_authority, members))
    reloaded = reload(place)
    output.result(
        record_of(place, made, reloaded),
        f"wrote {place.path}: a broker with locks for network {config.network.name}",
    )
    for line in sentences(place, made, reloaded):
        output.say(line)


def _members(engine: str | None, servers: str | None, place: "BrokerFolder") -> "tuple[Member, ...]":
    """The servers that a cluster shall have; none for those that it has. Raises UsageError for what cannot be."""
    from dcka.broker.folder import read_doors
    from dcka.security.nats_files import parsed

    before = read_doors(place)
    if engine is not None and before is not None and engine != before.engine:
        raise UsageError(f"{place.path} has a broker for {before.engine}: name another folder with --folder")
    if servers is None:
        if engine == "nats" and before is None:
            raise UsageError("--engine nats: name its servers, as in --servers a.local,b.local,c.local")
        return ()
    if engine == "mosquitto" or (engine is None and before is None):
        raise UsageError("--servers are of a cluster: write --engine nats")
    try:
        return parsed(servers)
    except ValueError as error:
        raise UsageError(f"--servers {servers}: {error}") from error


def record_of(place: "BrokerFolder", made: "Made", reloaded: bool) -> dict[str, Any]:
    """The verb's record."""
    doors = made.doors
    return {
        "folder": place.path.absolute(),
        "engine": doors.engine,
        "network": doors.network,
        "address": doors.address,
        "names": doors.names,
        "bind": doors.bind,
        "servers": [server.name for server in doors.servers],
        "node_port": doors.node_port,
        "host_port": doors.host_port,
        "ca": place.ca.absolute(),
        "expires": made.ends.isoformat(),
        "new_users": made.new_users,
        "dropped_users": made.dropped,
        "removed": doors.removed,
        "new_authority": made.new_authority,
        "reloaded": reloaded,
    }


def sentences(place: "BrokerFolder", made: "Made", reloaded: bool) -> list[str]:
    """What a person has to know of it."""
    doors = made.doors
    if doors.servers:
        return [*_cluster_sentences(place, made), *_more(made, reloaded)]
    lines = [
        f"nodes come to mqtts://{doors.address}:{doors.node_port}, host and monitor to port {doors.host_port}",
        f"its certificate is for {', '.join(doors.names)}; it expires on {made.ends:%Y-%m-%d}: dcka broker renew",
        f"passwords are in {place.secrets}, for you alone; who signs is in {place.authority_key.parent}: keep a copy",
    ]
    lines += _more(made, reloaded)
    return lines


def _cluster_sentences(place: "BrokerFolder", made: "Made") -> list[str]:
    from dcka.security.nats_files import FOLDER

    doors = made.doors
    urls = ", ".join(f"{server.name} at mqtts://{server.host}:{server.port}" for server in doors.servers)
    return [
        f"the servers: {urls}",
        f"each has its folder in {place.path / FOLDER}: copy it to that computer, keep it secret, and run nats-server "
        "--config nats.conf in it; or, with all of the broker's folder, dcka broker up --server NAME",
        f"their certificate is for {', '.join(doors.names)}; it expires on {made.ends:%Y-%m-%d}: dcka broker renew",
        f"passwords are in {place.secrets}, for you alone; who signs is in {place.authority_key.parent}: keep a copy",
    ]


def _more(made: "Made", reloaded: bool) -> list[str]:
    doors, lines = made.doors, []
    if made.dropped:
        lines.append(f"no longer in the network, and without a password now: {', '.join(made.dropped)}")
    if doors.removed:
        lines.append(f"shut out (dcka broker rotate lets one in again): {', '.join(map(str, doors.removed))}")
    if reloaded:
        lines.append(
            "the broker that runs has read passwords and rules; other ports and limits count from its next start"
        )
    else:
        lines.append("next: dcka broker up, and in another terminal: dcka broker check, dcka emulate")
    return lines
