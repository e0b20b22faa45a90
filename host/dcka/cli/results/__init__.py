"""`dcka results`: the runs that are in the history."""

import click

from dcka.cli.group import VerbGroup
from dcka.cli.verbs import RESULTS_VERBS


@click.group(cls=VerbGroup, name="results", no_args_is_help=True, subcommand_metavar="VERB ...")
def command() -> None:
    """What was found: the runs that monitors, dcka run and dcka demo have put into the history (docs/history.md).

    A RUN is a number (12), with its network where several have one (greenhouse/12), the first digits of its unique id,
    or last. Of several runs with one number, the newest.
    """


command.verbs = RESULTS_VERBS
