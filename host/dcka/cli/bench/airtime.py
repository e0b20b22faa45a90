"""`dcka bench airtime`: what a clustering costs on the air, method beside method."""

from pathlib import Path

import click

from dcka.cli.options import examples, json_option
from dcka.cli.output import Output

EXIT_DIFFERS = 1


@click.command(
    "airtime",
    epilog=examples(
        "dcka bench airtime                                 all of it: about a minute",
        "dcka bench airtime --graphs 3 --part exp1 --part n20",
        "dcka bench airtime --ulb data --json > airtime.json",
    ),
)
@click.option(
    "--graphs", type=int, default=20, metavar="N", help="Of the 20 pinned graphs a case.  [default: 20]"
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="PART",
    help="exp1, n20, n100, ulb, growth or loss; may be repeated.  [default: all]",
)
@click.option(
    "--ulb",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where the two files of the measured motes are.  [default: data here]",
)
@json_option
def command(graphs: int, parts: tuple[str, ...], folder: Path | None, output: Output) -> int:
    """Compare the airtime of the paper's method, of ours, and of simpler ones.

    Broadcasts, bytes, slots and modelled charge of whole runs, counted from messages that were encoded to bytes; ours
    are the firmware's own nodes on a network in memory. docs/airtime.md explains the table, and what speaks against
    us. The exit code is 1 where ours differs from the reference in a single bit, and where the measured motes were
    asked for and are not there.
    """
    from dcka.bench import PARTS, airtime, text

    record = airtime(graphs, parts or PARTS, folder, output.say)
    if output.json_mode:
        for case, why in record["skipped"].items():
            output.say(f"{case} left out: {why}")
    output.result(record, text(record))
    undone = record["skipped"] if "ulb" in parts or folder is not None else {}
    return 0 if record["ok"] and not undone else EXIT_DIFFERS
