"""`dcka broker backup`: the network's state in one file."""

from pathlib import Path

import click

from dcka.cli.broker.options import folder_option
from dcka.cli.options import configuration, examples, json_option, network_option, state_of, state_option
from dcka.cli.output import Output


@click.command("backup", epilog=examples("dcka broker backup greenhouse.tgz"))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@folder_option
@network_option
@state_option
@json_option
def command(
    file: Path, force: bool, folder: Path | None, network: Path | None, state: Path | None, output: Output
) -> None:
    """Put the network's state into one file: network.toml, the state folder, and the broker's folder.

    With it go the authority's key, all passwords and what the broker has saved of the retained messages. The file is
    for its owner alone: keep it where nobody else reads. What the nodes hold themselves is not in it.
    """
    from dcka.broker.folder import BrokerFolder
    from dcka.security.backup import backup, places_of

    config = configuration(network)
    places = places_of(config, state_of(config, state), BrokerFolder.beside(config.file, folder))
    made = backup(config, places, file, force)
    size = file.stat().st_size
    output.result(
        {
            "file": file.absolute(),
            "bytes": size,
            "network": made.network,
            "created": made.created,
            "parts": made.parts,
            "files": len(made.files),
        },
        f"{file}: network {made.network}, {len(made.files)} files of {', '.join(made.parts)}, {size} bytes",
    )
    if "broker" in made.parts:
        output.say("it holds the passwords and the authority's key: keep it where nobody else reads it")
