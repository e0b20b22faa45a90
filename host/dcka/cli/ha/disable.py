"""`dcka ha disable`: take the nodes out of Home Assistant again."""

from pathlib import Path

import click

from dcka.cli.ha.common import discovery_topics, prefix_option
from dcka.cli.options import broker_option, examples, json_option, network_option, state_option
from dcka.cli.output import Output


@click.command("disable", epilog=examples("dcka ha disable"))
@prefix_option
@network_option
@broker_option
@state_option
@json_option
def command(
    prefix: str, network: Path | None, broker: str | None, state: Path | None, output: Output
) -> None:
    """Clear every announcement of this network, those of nodes too that its file no longer names.

    Home Assistant then removes the devices, and keeps their history for as long as it keeps any.
    """
    from dcka.homeassistant import withdraw

    with discovery_topics(network, broker, state, prefix) as (config, _, theirs):
        gone = withdraw(theirs, config.network.name)
    words = f"{config.network.name}: {len(gone)} devices taken away" if gone else "nothing was announced"
    output.result({"network": config.network.name, "cleared": [f"{prefix}/{topic}" for topic in gone]}, words)
