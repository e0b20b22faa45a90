"""A simulated week, for the verbs that show one: its options, its pace, what is told while it passes."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.output import Output
from dcka.cli.until import told_to_end
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.week import WeekSettings
    from dcka.week.host import Clustering

DAY_S = 86_400


def week_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--days`, `--seed`, `--data`, `--data-folder`, `--every`; None where not given, for `settings_of`."""
    options = [
        click.option("--days", type=float, metavar="N", help="Simulated days.  [default: 7]"),
        click.option("--seed", type=int, metavar="N", help="Of all that is drawn.  [default: 1]"),
        click.option(
            "--data",
            metavar="SOURCE",
            help="ulb, suthaharan or generated.  [default: the library's files where they are, else suthaharan]",
        ),
        click.option(
            "--data-folder",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Where the library's files are.  [default: data here, or ../shared/data]",
        ),
        click.option(
            "--every", type=int, metavar="S", help="From clustering to clustering.  [default: 3600]"
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def scale_of(text: str) -> float | None:
    """`--time-scale`: a number above 0, or None for `max`. Raises UsageError."""
    if text == "max":
        return None
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale < float("inf"):
        raise UsageError(f"--time-scale is a number above 0, or max, not {text!r}")
    return scale


def settings_of(
    days: float | None = None,
    seed: int | None = None,
    data: str | None = None,
    data_folder: Path | None = None,
    every: int | None = None,
    **more: Any,
) -> "WeekSettings":
    """What the options ask for; `more`: of WeekSettings. Raises UsageError."""
    from dcka.week import WeekSettings

    given = {"days": days, "seed": seed, "source": data, "folder": data_folder, "every_s": every, **more}
    return WeekSettings(**{name: value for name, value in given.items() if value is not None})


def simulate(settings: "WeekSettings", scale: float | None, output: Output) -> dict[str, Any]:
    """Let it pass, at most `scale` of its seconds in one of ours; its report. Ctrl-C ends it with what was had."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from dcka.emulation.virtual.pace import Pace
    from dcka.week import run_week

    span = settings.days * DAY_S
    columns = (TextColumn("day {task.fields[day]}"), BarColumn(), TextColumn("{task.fields[said]}"))
    hidden = not output.console.is_terminal
    with (
        told_to_end() as told,
        Progress(
            *columns, TimeElapsedColumn(), console=output.console, transient=True, disable=hidden
        ) as shown,
    ):
        task = shown.add_task("week", total=span, day="0.0", said="")

        def tell(now_s: float) -> None:
            shown.update(task, completed=now_s, day=f"{now_s / DAY_S:.1f}")

        def clustered(one: "Clustering") -> None:
            shown.update(task, said=f"clustering {one.number + 1}: {one.verdict}, {len(one.members)} nodes")
            words = f"clustering {one.number}: {one.verdict}, {len(one.members)} nodes, {one.steps} steps"
            output.detail(f"{words}: {one.reason}" if one.reason else words)

        pace = Pace(scale, tell)

        def advance(now_s: float) -> None:
            # Between two events, where nothing is half done.
            if told():
                raise KeyboardInterrupt
            pace(now_s)

        return run_week(settings, on_advance=advance, on_clustering=clustered)


def or_simulated(command: Callable[..., int]) -> Callable[..., int]:
    """`--time-scale` and the week's options for a verb: with it a week is simulated, without it `command` is called."""

    @functools.wraps(command)
    def either(
        time_scale: str | None,
        days: float | None,
        seed: int | None,
        data: str | None,
        data_folder: Path | None,
        every: int | None,
        output: Output,
        **others: Any,
    ) -> int:
        week = {"days": days, "seed": seed, "data": data, "data_folder": data_folder, "every": every}
        if time_scale is not None:
            return _simulated(scale_of(time_scale), week, others, output)
        _refuse(week, "goes with --time-scale: nodes in real time replay nothing")
        return command(output=output, **others)

    option = click.option(
        "--time-scale",
        metavar="FACTOR",
        help="Simulate: at most so many of the nodes' seconds in one; 10000 makes a week a minute; or max.",
    )
    return option(week_options(either))


def _simulated(scale: float | None, week: dict[str, Any], others: dict[str, Any], output: Output) -> int:
    from dcka.cli.options import faults_of
    from dcka.week.report import text

    radio = {name: others.pop(name) for name in ("loss", "duplicate", "reorder", "delay_ms")}
    _refuse(
        others,
        "is of nodes in real time: a simulated week (--time-scale) has neither broker nor network file",
    )
    record = simulate(settings_of(**week, faults=faults_of(**radio)), scale, output)
    output.result(record, text(record))
    return 0 if record["ok"] else 1


def _refuse(given: dict[str, Any], why: str) -> None:
    """Raises UsageError where one of these options was given."""
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name.replace('_', '-')} {why}")
