"""`dcka update`: a new version of firmware and settings for the boards of a network, over the air."""

from pathlib import Path

import click

from dcka.cli.group import VerbGroup
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
from dcka.cli.verbs import UPDATE_VERBS
from dcka.errors import UsageError


@click.group(
    cls=VerbGroup,
    name="update",
    invoke_without_command=True,
    subcommand_metavar="[VERB ...]",
    epilog=examples(
        "dcka update                            one node first; when it has joined, the others",
        "dcka update --canary 2 --soak 3600     two nodes first, which then have to stay for an hour",
        "dcka update --nodes 3,7-9 --parallel 2",
        "dcka update --dry-run                  what would be done",
        "dcka update status                     which version each node runs, and what went back",
    ),
)
@click.option("--nodes", metavar="IDS", help="Such as 1-5,7.  [default: all]")
@click.option(
    "--canary", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="So many nodes first."
)
@click.option(
    "--soak",
    type=click.FloatRange(0),
    default=0.0,
    metavar="SECONDS",
    help="So long the first ones have to stay before the next have their turn.",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    metavar="N",
    help="Nodes at a time, after the first ones.",
)
@click.option(
    "--wait",
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="How long a node may be silent, or in a run, before it is left alone.  [default: 120]",
)
@click.option("--again", is_flag=True, help="Also to a node that went back from this very version.")
@click.option("--rollback", is_flag=True, help="Allow firmware that is older than what a node runs.")
@click.option("--source", is_flag=True, help="Send sources instead of .mpy files.")
@click.option("--dry-run", is_flag=True, help="Ask the nodes, and change nothing.")
@network_option
@broker_option
@state_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    nodes: str | None,
    canary: int,
    soak: float,
    parallel: int,
    wait: float | None,
    again: bool,
    rollback: bool,
    source: bool,
    dry_run: bool,
    network: Path | None,
    broker: str | None,
    state: Path | None,
    output: Output,
) -> int:
    """Give boards the firmware of this dcka and the settings of network.toml, over the air.

    Only what a board lacks travels, signed for it alone and checked by SHA-256. It then starts the new version on
    trial, and goes back by itself where that does not join. One node has its turn first (--canary), and the first
    that goes back ends it: then nobody else is updated. Who was interrupted calls the same again: it goes on. Ids,
    passwords and keys never travel; those change over the cable, with dcka board provision. Exit code 0 says that
    every node runs the version.
    """
    if ctx.invoked_subcommand is not None:
        _require_no_options(ctx)
        return 0
    from dcka.cli.update.rolling import rolled_out
    from dcka.emulation.network import ids_among
    from dcka.updates.delivery import PATIENCE_S
    from dcka.updates.rollout import BACK_S, Wishes

    config = configuration(network)
    place = state_of(config, state)
    chosen = config.ids if nodes is None else ids_among(nodes, config.ids)
    join_s = config.update.limit_s * 1.2 + config.update.stay_s + BACK_S
    wishes = Wishes(canary, soak, parallel, join_s, PATIENCE_S if wait is None else wait, dry_run)
    choices = {"again": again, "rollback": rollback, "source": source}
    return rolled_out(config, place, broker, chosen, wishes, choices, output)


def _require_no_options(ctx: click.Context) -> None:
    """Options stand behind the verb. Raises UsageError."""
    given = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name
        and ctx.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(
            f"{given[0]} stands behind the verb: dcka update {ctx.invoked_subcommand} {given[0]} …"
        )


command.verbs = UPDATE_VERBS
