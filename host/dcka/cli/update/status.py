"""`dcka update status`: which version each node runs."""

from pathlib import Path
from typing import Any

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

WAIT_S = 3.0


@click.command("status", epilog=examples("dcka update status", "dcka update status --json"))
@click.option("--nodes", metavar="IDS", help="Such as 1-5,7.  [default: all]")
@network_option
@broker_option
@state_option
@json_option
def command(
    nodes: str | None, network: Path | None, broker: str | None, state: Path | None, output: Output
) -> int:
    """Show which version each node runs, whether it is on trial, and what it went back from.

    It is what the boards said last, which the broker keeps; so it is there for nodes that are off, too. Emulated nodes
    say nothing of it: they run the firmware of the dcka that started them.
    """
    from dcka.emulation.network import ids_among
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.connection import Connection
    from dcka.updates.rollout import standings

    config = configuration(network)
    place = state_of(config, state)
    chosen = config.ids if nodes is None else ids_among(nodes, config.ids)
    with Connection(broker_of(config, place, broker), config.network.name) as connection:
        found = standings(connection, chosen, WAIT_S)
    output.result({"nodes": found}, "\n".join(_line(node, said) for node, said in found.items()))
    return 0


def _line(node: int, said: dict[str, Any]) -> str:
    where = "" if said.get("online") else " (offline)"
    if "version" not in said:
        return f"node {node}{where}: has said nothing of its version"
    words = f"node {node}{where}: {said['version'] or said.get('folder')}, firmware {said.get('firmware')}, "
    words += "on trial" if said.get("state") == "trial" else "has joined"
    back = said.get("rolled_back")
    if isinstance(back, dict):
        words += f"; rolled back from {back.get('version')}: {back.get('reason')}"
    return words
