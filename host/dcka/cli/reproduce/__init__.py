"""`dcka reproduce`: the paper's experiments, one a module."""

import click

from dcka.cli.group import VerbGroup
from dcka.cli.verbs import REPRODUCE_VERBS


@click.group(cls=VerbGroup, name="reproduce", no_args_is_help=True, subcommand_metavar="VERB ...")
def command() -> None:
    """The experiments of Lin, Wang, Qi and Hong (2018), with report, pictures and every run's figures."""


command.verbs = REPRODUCE_VERBS
