"""`dcka broker`: an open broker for this computer; and by its verbs one with passwords, for a network."""

from pathlib import Path

import click

from dcka.cli.group import VerbGroup
from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output
from dcka.cli.verbs import BROKER_VERBS
from dcka.errors import UsageError


@click.group(
    cls=VerbGroup,
    name="broker",
    invoke_without_command=True,
    subcommand_metavar="[VERB ...]",
    epilog=examples(
        "dcka broker                            on a free port; prints its URL, runs until Ctrl-C",
        "dcka broker --port 1883 --folder kept  keeps the retained messages in that folder",
        "dcka broker --engine mosquitto --json",
        "dcka broker init                       for a network: encrypted, a password for each node",
        "dcka broker up                         starts that one",
    ),
)
@click.option(
    "--engine",
    type=click.Choice(["embedded", "mosquitto"]),
    default="embedded",
    show_default=True,
    help="The server that comes with dcka, or the system's mosquitto.",
)
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="[default: a free one]")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the retained messages here.  [default: nothing is kept]",
)
@network_option
@state_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    engine: str,
    port: int | None,
    folder: Path | None,
    network: Path | None,
    state: Path | None,
    output: Output,
) -> int:
    """Run an MQTT broker on this computer, for this computer alone, until Ctrl-C.

    It prints its URL. Beside a network file, the other verbs find it by themselves; elsewhere, give them --broker.
    It asks for no password: for more than this computer, make one with locks by `dcka broker init`.
    """
    from dcka.cli.broker.bare import place_of, run_plain

    if ctx.invoked_subcommand is None:
        return run_plain(engine, port, folder, place_of(network, state), output)
    given = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name
        and ctx.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise UsageError(
            f"{given[0]} stands behind the verb: dcka broker {ctx.invoked_subcommand} {given[0]} …"
        )
    return 0


command.verbs = BROKER_VERBS
