"""`dcka board`: the verbs for boards on serial ports, one a module. `tools/flash.py` is the same by another name."""

import click

from dcka.cli.group import VerbGroup
from dcka.cli.verbs import BOARD_VERBS


@click.group(cls=VerbGroup, name="board", no_args_is_help=True, subcommand_metavar="VERB ...")
def command() -> None:
    """ESP32 boards on serial ports: from the box to the network."""


command.verbs = BOARD_VERBS
