"""`dcka broker renew`: a new certificate for the broker."""

from pathlib import Path

import click

from dcka.cli.broker.options import folder_option, locked, reloaded_words
from dcka.cli.options import examples, json_option, network_option
from dcka.cli.output import Output


@click.command(
    "renew",
    epilog=examples(
        "dcka broker renew",
        "dcka broker renew --name broker.example --authority /media/key/ca.key",
    ),
)
@click.option(
    "--days", type=click.IntRange(1, 3650), default=365, show_default=True, metavar="N", help="How long it is valid."
)  # fmt: skip
@click.option(
    "--name", "names", multiple=True, metavar="NAME", help="One more name or address of the broker."
)
@click.option(
    "--authority", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="The authority's key, where it is kept elsewhere.",
)  # fmt: skip
@folder_option
@network_option
@json_option
def command(
    days: int,
    names: tuple[str, ...],
    authority: Path | None,
    folder: Path | None,
    network: Path | None,
    output: Output,
) -> None:
    """Give the broker a new certificate and a new key, of the same authority and for the same names.

    Nodes need nothing new: they trust the authority. A broker that runs takes it for new connections, and ends none.
    """
    from dcka.security.server import reload
    from dcka.security.setup import renew

    _, place, doors = locked(network, folder)
    doors, ends = renew(place, doors, days, names, authority)
    reloaded = reload(place)
    output.result(
        {
            "certificate": place.certificate.absolute(),
            "names": doors.names,
            "expires": ends.isoformat(),
            "reloaded": reloaded,
        },
        f"the broker's certificate is new, for {', '.join(doors.names)}; it expires on {ends:%Y-%m-%d}",
    )
    output.say(reloaded_words(reloaded))
