"""`dcka broker rotate`: a new password for one user."""

from pathlib import Path

import click

from dcka.cli.broker.options import folder_option, locked, reloaded_words
from dcka.cli.options import examples, json_option, network_option
from dcka.cli.output import Output


@click.command(
    "rotate",
    epilog=examples(
        "dcka broker rotate 3        node 3; then give it to the board: dcka board provision --node 3",
        "dcka broker rotate monitor",
    ),
)
@click.argument("user", metavar="NODE|host|monitor")
@folder_option
@network_option
@json_option
def command(user: str, folder: Path | None, network: Path | None, output: Output) -> None:
    """Give a node, the host or the monitors a new password, and end the old one, while everybody else stays connected.

    Who was logged in with the old one is cut off at once. A node that was shut out is let in again.
    """
    from dcka.security.members import rotate

    config, place, doors = locked(network, folder)
    done = rotate(config, place, doors, user)
    output.result(
        {
            "user": done.user,
            "file": place.secret(done.user).absolute(),
            "reloaded": done.reloaded,
            "let_in_again": done.let_in_again,
        },
        f"{done.user} has a new password, in {place.secret(done.user)}",
    )
    output.say(reloaded_words(done.reloaded))
    if done.user.startswith("n"):
        number = done.user[1:]
        output.say(
            f"node {number} gets it with its program: dcka board provision --node {number} --port PORT, over the "
            "cable; an emulated one by starting dcka emulate again. Until then it stays out"
        )
    else:
        output.say("verbs that run with the old one have to be started again; other computers need the file")
