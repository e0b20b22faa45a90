"""`dcka ha enable`: make each node a device of Home Assistant."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.ha.common import discovery_topics, prefix_option
from dcka.cli.options import broker_option, examples, json_option, network_option, state_option
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.mqtt import Connection

_QUIET_S = 0.5


@click.command(
    "enable",
    epilog=examples(
        "dcka ha enable                         all nodes of the network file",
        "dcka ha enable --unit °C               the unit of distances, where all columns share one",
        "dcka ha enable --battery-mah 1200      the battery whose days are modelled",
    ),
)
@click.option("--unit", default="", metavar="TEXT", help="Of the distance between a reading and its centre.")
@click.option(
    "--battery-mah",
    type=click.FloatRange(min=1, max=1e6),
    default=2600,
    show_default=True,
    metavar="MAH",
    help="What a node's battery holds; its days are modelled for an ESP32.",
)
@prefix_option
@network_option
@broker_option
@state_option
@json_option
def command(
    unit: str,
    battery_mah: float,
    prefix: str,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
) -> None:
    """Announce every node of the network file to Home Assistant, retained: it needs no program of ours.

    A node's device has its availability, the cluster of its latest reading and the distance to its centre, a battery
    estimate, and what it says of itself. Announced again, what has changed is brought up to date, and the device of a
    node that is no longer in the file goes. Cluster and distance are told after runs with [run] latest = true.
    """
    from dcka.homeassistant import announce

    with discovery_topics(network, broker, state, prefix) as (config, own, theirs):
        statuses = _statuses(own)
        done = announce(theirs, config.network.name, config.ids, statuses, unit, battery_mah)
    silent = [node for node in config.ids if node not in statuses]
    record: dict[str, Any] = {
        "network": config.network.name,
        "devices": [f"{prefix}/{topic}" for topic in done.topics],
        "cleared": [f"{prefix}/{topic}" for topic in done.cleared],
        "silent": silent,
        "latest": config.run.latest,
    }
    words = f"{config.network.name}: {len(done.topics)} devices announced below {prefix}/device/"
    if done.cleared:
        words += f", {len(done.cleared)} taken away"
    output.result(record, words)
    if silent:
        from dcka.mqtt.readiness import named

        output.say(
            f"{named(silent)} said nothing yet: announce again once that has changed, for what it measures"
        )
    if not config.run.latest:
        output.say(
            "cluster and distance stay unknown until a run tells them: [run] latest = true, or dcka run --latest"
        )


def _statuses(connection: "Connection") -> dict[int, dict[str, Any]]:
    """What is retained of the nodes' statuses, by id."""
    from dcka.mqtt.inbox import Inbox

    inbox = Inbox(connection, {})
    connection.subscribe("status/+")
    inbox.until(lambda: False, _QUIET_S, "status/+")
    return {node: dict(status.record) for node, status in inbox.statuses.by_node.items()}
