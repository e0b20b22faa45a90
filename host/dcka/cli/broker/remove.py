"""`dcka broker remove`: a lost node's credentials die."""

from pathlib import Path

import click

from dcka.cli.broker.options import folder_option, locked, reloaded_words
from dcka.cli.options import examples, json_option, network_option
from dcka.cli.output import Output


@click.command("remove", epilog=examples("dcka broker remove 3"))
@click.argument("node", metavar="NODE")
@folder_option
@network_option
@json_option
def command(node: str, folder: Path | None, network: Path | None, output: Output) -> None:
    """Shut out a node that is lost or stolen, while everybody else stays connected.

    Its password dies, its connection is ended, and what the broker has retained of it is cleared. dcka broker rotate
    lets it in again, with another password.
    """
    from dcka.security.members import remove

    config, place, doors = locked(network, folder)
    done = remove(config, place, doors, node)
    output.result(
        {
            "user": done.user,
            "reloaded": done.reloaded,
            "cleared": done.cleared,
            "in_network_file": done.in_network_file,
        },
        f"{done.user} is shut out: its password is dead",
    )
    output.say(reloaded_words(done.reloaded))
    if done.cleared is None:
        output.say(
            "what the broker has retained of it stays until this is called again while dcka broker up runs"
        )
    elif done.cleared:
        output.say(f"cleared: {', '.join(done.cleared)}")
    if done.in_network_file:
        output.say(f"{config.source.name} still counts it among the nodes: take it out, or runs wait for it")
