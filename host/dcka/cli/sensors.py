"""`dcka sensors`: what the nodes say of their sensors and of what they have kept."""

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

if TYPE_CHECKING:
    from dcka.sensing.told import Told

EXIT_ABSENT = 1


@click.command(
    "sensors",
    epilog=examples(
        "dcka sensors                 how many readings each node holds, from when to when, and what fails",
        "dcka sensors --json",
    ),
)
@click.option(
    "--wait", type=click.FloatRange(0, 3600), metavar="S", help="For nodes that are not online.  [default: 6]"
)
@network_option
@broker_option
@state_option
@json_option
def command(
    wait: float | None,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
) -> int:
    """Ask the nodes for the number of their readings, the oldest, the newest, and how their sensors fare.

    The readings themselves never leave a node: dcka board readings fetches them over the cable. The exit code is 1
    where a node was not heard, or has no sensors.
    """
    from dcka.mqtt import Connection
    from dcka.mqtt.address import broker_of
    from dcka.mqtt.inbox import Inbox
    from dcka.mqtt.readiness import READY_S
    from dcka.sensing.told import read_told

    config = configuration(network)
    url = broker_of(config, state_of(config, state), broker)
    with Connection(url, config.network.name, role="sensors") as connection:
        inbox = Inbox(connection, {})
        connection.subscribe("status/+")
        known = inbox.statuses
        inbox.until(
            lambda: all(known.get(node) for node in config.ids),
            READY_S if wait is None else wait,
            "status/+",
        )
    found: dict[int, Told | None] = {}
    for node in config.ids:
        status = known.get(node)
        # A will says nothing of sensors; it stands in the place of the last status.
        found[node] = read_told(status.record) if status is not None else None
    output.result(
        {
            "network": config.network.name,
            "nodes": {node: told.record() if told else None for node, told in found.items()},
            "online": [node for node in config.ids if known.online(node)],
        },
        "\n".join(_words(node, told, known.online(node)) for node, told in found.items()),
    )
    return 0 if all(found.values()) else EXIT_ABSENT


def _words(node: int, told: "Told | None", online: bool) -> str:
    from dcka.sensing.told import moment

    if told is None:
        return f"node {node}: " + ("no sensors" if online else "not online")
    kept = f"{told.readings:,} readings on flash, {told.waiting} waiting"
    if told.oldest is not None and told.newest is not None:
        kept += f", from {moment(told.oldest)} to {moment(told.newest)}"
    lost = f"; {told.missed:,} missed" if told.missed else ""
    for name, count in told.failed.items():
        lost += f"; {name} failed {count:,} times"
    return f"node {node}: {kept}{lost}" + "".join(f" ({words})" for words in told.words)
