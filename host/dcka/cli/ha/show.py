"""`dcka ha show`: what of this network is announced to Home Assistant."""

from pathlib import Path

import click

from dcka.cli.ha.common import discovery_topics, prefix_option
from dcka.cli.options import broker_option, examples, json_option, network_option, state_option
from dcka.cli.output import Output


@click.command("show", epilog=examples("dcka ha show", "dcka ha show --json | jq '.devices | keys'"))
@prefix_option
@network_option
@broker_option
@state_option
@json_option
def command(
    prefix: str, network: Path | None, broker: str | None, state: Path | None, output: Output
) -> None:
    """List the devices that the broker has retained, and change nothing."""
    from dcka.homeassistant import announced

    with discovery_topics(network, broker, state, prefix) as (config, _, theirs):
        found = announced(theirs, config.network.name)
    lines = [
        f"{prefix}/{topic}: {record['device'].get('name')}, {len(record.get('components', ()))} entities"
        for topic, record in sorted(found.items())
    ]
    output.result(
        {
            "network": config.network.name,
            "devices": {f"{prefix}/{topic}": record for topic, record in sorted(found.items())},
        },
        "\n".join(lines) or f"nothing of {config.network.name} is announced: dcka ha enable",
    )
