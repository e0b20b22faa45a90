"""`dcka broker restore`: the network's state out of a backup."""

from pathlib import Path

import click

from dcka.cli.broker.options import folder_option
from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output


@click.command(
    "restore",
    epilog=examples(
        "dcka broker restore greenhouse.tgz          into this folder, if nothing of it is there",
        "dcka broker restore greenhouse.tgz --force  in place of what is there",
    ),
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace what is there.")
@folder_option
@network_option
@state_option
@json_option
def command(
    file: Path, force: bool, folder: Path | None, network: Path | None, state: Path | None, output: Output
) -> None:
    """Bring back what dcka broker backup has put into a file.

    All of it is checked first, and written aside; then it takes the place of what was there, or nothing changes. A
    broker that runs has to be stopped before.
    """
    from dcka.broker.folder import BrokerFolder
    from dcka.config import FILE_NAME, State
    from dcka.security.backup import Places, restore

    target = network or Path(FILE_NAME)
    places = Places(target, State.beside(target, state).folder, BrokerFolder.beside(target, folder).path)
    made = restore(file, places, force)
    back = ", ".join(str(places.of(part)) for part in made.parts)
    output.result(
        {
            "network": made.network,
            "created": made.created,
            "parts": {part: places.of(part).absolute() for part in made.parts},
            "files": len(made.files),
        },
        f"network {made.network} is back as of {made.created}: {back}",
    )
    if "broker" in made.parts:
        output.say("next: dcka broker up. Passwords that were changed since are the old ones again")
