"""Options that both experiments share, and their progress bar."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import Decorated
from dcka.cli.output import Output

if TYPE_CHECKING:
    from dcka.experiments.settings import Settings


def reproduce_options(command: Decorated) -> Decorated:
    """`--out`, `--runs`, `--k`, `--init`, `--seed`, `--jobs`, `--scheduler`; the function gets them for
    `settings_of`."""
    shared = (
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="For report, pictures, runs; an interrupted call goes on there.  [default: exp1 or exp2 here]",
        ),
        click.option(
            "--runs", type=int, metavar="N", help="Monte Carlo runs for each K.  [default: 300; exp2: 60]"
        ),
        click.option("--k", "ks", metavar="LIST", help="Such as 5,9 or 3..15..2.  [default: the paper's]"),
        click.option(
            "--init",
            "starts",
            metavar="LIST",
            help="Starts of DCKA: local,sorted,snake,shared,partition,kmeans++.  [default: all]",
        ),
        click.option("--seed", type=int, metavar="N", help="Of everything that is drawn.  [default: 25]"),
        click.option(
            "--jobs", type=int, default=1, show_default=True, metavar="N", help="Processes on this computer."
        ),
        click.option(
            "--scheduler", default="", metavar="ADDRESS", help="A Dask scheduler's, such as tcp://host:8786."
        ),
    )
    for option in reversed(shared):
        command = option(command)
    return command


def settings_of(
    given: dict[str, Any], out: Path, runs: int, draws: int, ks: tuple[int, ...], seed: int
) -> "Settings":
    """The settings that the options name, these defaults where they name none. Raises ExperimentUsageError."""
    from dcka.experiments.network import STARTS
    from dcka.experiments.settings import Settings, whole_numbers

    def or_else(name: str, default: Any) -> Any:
        return default if given.get(name) is None else given[name]

    starts = STARTS if given["starts"] is None else tuple(dict.fromkeys(given["starts"].split(",")))
    return Settings(
        out=or_else("out", out),
        runs=or_else("runs", runs),
        draws=or_else("draws", draws),
        ks=ks if given["ks"] is None else whole_numbers("--k", given["ks"]),
        starts=starts,
        seed=or_else("seed", seed),
        jobs=given["jobs"],
        scheduler=given["scheduler"],
    )


@contextmanager
def progress_bar(output: Output) -> Iterator[Callable[[int, int], None]]:
    """A function (finished, all): a bar on a terminal, elsewhere a line at every tenth."""
    if sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=output.console) as bar:
            task = bar.add_task("runs")
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    told = [-1]

    def say(done: int, total: int) -> None:
        tenth = 10 * done // max(1, total)
        if tenth != told[0]:
            told[0] = tenth
            output.say(f"{done} of {total} jobs")

    yield say
