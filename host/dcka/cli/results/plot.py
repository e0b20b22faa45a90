"""`dcka results plot`."""

from pathlib import Path

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.results.options import network_name_option, run_of
from dcka.errors import UsageError


@click.command(
    "plot",
    epilog=examples(
        "dcka results plot                         the last run, into dcka-NETWORK-RUN.png",
        "dcka results plot greenhouse/12 --out run.png",
    ),
)
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A PNG file.")
@network_name_option
@place_option
@json_option
def command(run: str, out: Path | None, network: str | None, history: str | None, output: Output) -> int:
    """Draw a run: the SSD of each step, and the way of every centre. Readings are not in the history, nor in it."""
    with opened(history) as store:
        found = run_of(store, run, network)
        if found.kind not in ("tree", "gossip"):
            raise UsageError(f"run {found.name} is a {found.kind}, of which there is no picture")
        if not found.steps:
            raise UsageError(f"run {found.name} has no step that was seen: there is nothing to draw")
        from dcka.plots.stored import draw_stored

        file = draw_stored(found, out or Path(f"dcka-{found.network}-{found.number}.png"))
    output.result({"picture": file.absolute(), "run": found.number, "uid": found.uid}, f"{file}")
    return 0
