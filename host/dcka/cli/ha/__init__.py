"""`dcka ha`: the nodes in Home Assistant, by MQTT discovery. One verb a module."""

import click

from dcka.cli.group import VerbGroup
from dcka.cli.verbs import HA_VERBS


@click.group(cls=VerbGroup, name="ha", no_args_is_help=True, subcommand_metavar="VERB ...")
def command() -> None:
    """The nodes in Home Assistant: each a device, by MQTT discovery."""


command.verbs = HA_VERBS
