"""`dcka results remove`."""

import sys

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.results.options import moment, network_name_option, run_of
from dcka.errors import UsageError


@click.command(
    "remove",
    epilog=examples(
        "dcka results remove greenhouse/12",
        "dcka results remove --before 90d --yes                all older ones, in a timer, say",
        "dcka results remove --before 0m --network-name demo   all of a network",
    ),
)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option(
    "--before", metavar="WHEN", help="All that began before 2026-11-30, or more than 90d, 12h, 30m ago."
)
@click.option("--yes", is_flag=True, help="Don't ask.")
@network_name_option
@place_option
@json_option
def command(
    runs: tuple[str, ...],
    before: str | None,
    yes: bool,
    network: str | None,
    history: str | None,
    output: Output,
) -> int:
    """Remove runs from the history, with all that is stored of them. It can't be undone."""
    if bool(runs) == (before is not None):
        raise UsageError("name the runs to remove, or give --before WHEN, one of both")
    until = None if before is None else moment(before)
    with opened(history, readonly=False) as store:
        if until is None:
            found = [run_of(store, ref, network) for ref in runs]
        else:
            found = [run for run in store.runs(network, limit=None) if run.begun_at < until]
        _confirm(len(found), store.name, yes or not found)
        removed = store.remove(run.uid for run in found)
    output.result({"removed": removed}, f"removed: {removed:,}")
    return 0


def _confirm(count: int, name: str, sure: bool) -> None:
    if sure:
        return
    what = "1 run" if count == 1 else f"{count:,} runs"
    if not sys.stdin.isatty():
        raise UsageError(f"{what} would be removed from {name}, for ever: say --yes")
    if not click.confirm(f"Remove {what} from {name}, for ever?", err=True):
        raise UsageError("nothing was removed")
