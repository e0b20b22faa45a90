"""`dcka broker check`: what a broker allows and what it refuses, proved."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.broker.options import folder_option, locked
from dcka.cli.options import (
    broker_option,
    examples,
    json_option,
    network_option,
    state_of,
    state_option,
)
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.broker.folder import BrokerFolder, Doors
    from dcka.broker.url import BrokerUrl
    from dcka.config import Config, State
    from dcka.security.prove import Proof


@click.command(
    "check",
    epilog=examples(
        "dcka broker check              after dcka broker up, before the nodes are started",
        "dcka broker check --nodes all  every node, if none is online; their rows grow with the square of the nodes",
        "dcka broker check --json",
    ),
)
@click.option(
    "--nodes", metavar="IDS", help="Such as 1-5,7, or all.  [default: up to five that are not online]"
)
@folder_option
@network_option
@broker_option
@state_option
@json_option
def command(
    nodes: str | None,
    folder: Path | None,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
) -> int:
    """Connect as everybody and as nobody, say something on every topic, and see who hears it.

    Each row of the outcome says who did what, what had to come of it and what did. Exit code 1, and the first wrong
    row by name, where the broker allows what it must refuse, or refuses what it must allow. Nothing that is
    retained is touched.
    """
    from dcka.broker.access import HOST, MONITOR
    from dcka.security.prove import prove
    from dcka.security.setup import rights_of

    config, place, doors = locked(network, folder)
    host, monitor = (
        _way(config, place, doors, state_of(config, state), broker, role) for role in (HOST, MONITOR)
    )
    chosen = _chosen(nodes, [node for node in config.ids if node not in doors.removed])
    addresses = (doors.address,) if broker is None else ()
    proof = prove(
        host, monitor, config.network.name, rights_of(config, doors), config.graph.union(), chosen, addresses
    )
    return _report(proof, str(host), doors.engine, output)


def _way(
    config: "Config", place: "BrokerFolder", doors: "Doors", state: "State", broker: str | None, role: str
) -> "BrokerUrl":
    """The way in of a role: to the broker that is named, the one that runs out of the folder here, or where it
    says."""
    from dcka.broker import parse_broker_url
    from dcka.broker.folder import door, with_credentials
    from dcka.errors import UsageError
    from dcka.security.server import running_pid

    if broker is None:
        return door(place, doors, role, doors.here if running_pid(place) is not None else None)
    url = with_credentials(parse_broker_url(broker), place, role)
    if url.secrets is None:
        raise UsageError(
            f"--broker {broker} is not the one of the folder {place.path}, so its passwords are not for it"
        )
    return url


def _chosen(nodes: str | None, known: list[int]) -> tuple[int, ...] | None:
    from dcka.emulation.network import ids_among

    if nodes is None:
        return None
    return tuple(known) if nodes.strip() == "all" else ids_among(nodes, tuple(known))


def _report(proof: "Proof", url: str, engine: str, output: Output) -> int:
    from dcka.mqtt.readiness import named

    wrong = proof.wrong
    count = len(proof.rows)
    words = (
        f"{count} of {count} as they have to be: who gets in, who may say and who may hear what at {url}"
        if not wrong
        else f"{len(wrong)} of {count} are not as they have to be; the first: {wrong[0].sentence()}"
    )
    output.result(
        {
            "broker": url,
            "engine": engine,
            "nodes": proof.nodes,
            "left_out": proof.left_out,
            "ok": not wrong,
            "rows": [row.record() for row in proof.rows],
        },
        words,
    )
    if proof.left_out:
        output.say(f"note: {named(proof.left_out)} not tried: online, and would be thrown out")
    if not proof.nodes:
        output.say(
            "note: no node took part, so little is said of the rules: call it once while they are stopped"
        )
    for row in wrong[:20]:
        output.error(f"wrong: {row.sentence()}")
    if len(wrong) > 20:
        output.say(f"and {len(wrong) - 20} more: --json shows all")
    return 1 if wrong else 0
