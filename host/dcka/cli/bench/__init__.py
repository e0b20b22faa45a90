"""`dcka bench`: measurements that anybody can repeat, one a module."""

import click

from dcka.cli.group import VerbGroup
from dcka.cli.verbs import BENCH_VERBS


@click.group(cls=VerbGroup, name="bench", no_args_is_help=True, subcommand_metavar="VERB ...")
def command() -> None:
    """Measurements of this project's claims, on this computer."""


command.verbs = BENCH_VERBS
