"""`dcka run --k auto`: the options, what is shown meanwhile, and what it prints."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dcka.cli.options import Decorated
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.choosing.search import Found, Gaps
    from dcka.choosing.wish import Wish
    from dcka.cli.run_data import Held
    from dcka.cli.run_view import RunView
    from dcka.config import Config, State
    from dcka.inject.dataset import Dataset
    from dcka.mqtt import Connection

Json = dict[str, Any]

AUTO = ("k_range", "starts", "choose", "gap_sets", "report")
"""What goes with --k auto alone, as click names it."""
GAP_POINTS = 20_000
"""The gap statistic clusters 21 data sets as large as the readings; up to so many that is a matter of seconds."""


@dataclass(frozen=True)
class AutoWish:
    """`search`: the wish itself. `gap_asked`: whether the gap statistic was named. `report`: the report's folder."""

    search: "Wish"
    gap_asked: bool
    report: Path | None


def auto_options(command: Decorated) -> Decorated:
    """`--k-range`, `--starts`, `--choose`, `--gap-sets`, `--report`; the function gets them by the names of AUTO."""
    shared = (
        click.option(
            "--k-range", metavar="A..B", help="auto: from so many clusters to so many.  [default: 2..12]"
        ),
        click.option(
            "--starts",
            type=int,
            metavar="N",
            help="auto: starts for each K, the best of which counts.  [default: 10]",
        ),
        click.option(
            "--choose", metavar="RULE", help="auto: ch, bic, silhouette or gap decides.  [default: ch]"
        ),
        click.option(
            "--gap-sets",
            type=int,
            metavar="N",
            help="auto: reference sets of the gap statistic, which this computer works out; 0 = none.  [default: 20]",
        ),
        click.option(
            "--report",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="auto: write report.md, the curves as pictures and as CSV, into a folder.",
        ),
    )
    for option in reversed(shared):
        command = option(command)
    return command


def auto_wish(k: str | None, auto: Json, given: Json) -> AutoWish | None:
    """What is asked for; None where K is given. Sets `given`'s `init` where none is named. Raises UsageError."""
    from dcka.choosing.wish import DEFAULT_INIT, Wish, range_of

    said = {name: value for name, value in auto.items() if value is not None}
    if k != "auto":
        if said:
            raise UsageError(f"--{next(iter(said)).replace('_', '-')} goes with --k auto")
        return None
    if given["init"] is None:
        given["init"] = DEFAULT_INIT
    values: Json = {name: said[name] for name in ("starts", "gap_sets") if name in said}
    if "choose" in said:
        values["rule"] = said["choose"]
    if "k_range" in said:
        values["low"], values["high"] = range_of(said["k_range"])
    return AutoWish(Wish(**values), "gap_sets" in said or values.get("rule") == "gap", auto["report"])


def run_auto(
    connection: "Connection",
    config: "Config",
    held: "Held",
    folder: "State",
    wish: AutoWish,
    limit: float | None,
    wait: float | None,
    allow_partial: bool,
    view: "RunView",
) -> int:
    """Search, keep what was found, write the report, print; the exit code."""
    from dcka.choosing.rules import Point
    from dcka.choosing.search import Search
    from dcka.choosing.words import line_of
    from dcka.mqtt.readiness import READY_S
    from dcka.runs.seed import PLUS, revealed

    view.handlers |= {
        "trying": lambda data: _trying(view, wish.search, data),
        "seeding": lambda data: view.show(f"run {data['run']}: the nodes draw the first centres"),
        "scored": lambda data: view.output.say(line_of(Point(**data["point"]))),
        "chosen": lambda data: setattr(view, "before", f"K = {data['k']}, "),
    }
    if wish.report is not None:
        _require_folder(wish.report)
    search = Search(
        connection,
        config,
        held.record,
        held.number,
        wish.search,
        folder,
        max_message=held.max_message,
        distinct=held.distinct,
        limit_s=limit,
        ready_s=READY_S if wait is None else wait,
        partial=allow_partial,
        on_event=view.take,
    )
    if config.run.init == PLUS:
        view.output.say(f"note: {revealed(wish.search.high * wish.search.starts)}; --init snake reveals none")
    found = search.run(_gaps(config, held, folder, wish, view))
    found.outcome.save(folder)
    found.choice.save(folder)
    return _tell(found, held, wish, allow_partial, view)


def _trying(view: "RunView", wish: "Wish", data: Json) -> None:
    view.before = f"K = {data['k']} of {wish.low} to {wish.high}, start {data['start']} of {data['starts']}, "


def _require_folder(folder: Path) -> None:
    """Raises UsageError where nothing can be written into the report's folder: better before the runs than after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".dcka"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"--report {folder}: nothing can be written there: {error.strerror}") from error


def _gaps(config: "Config", held: "Held", folder: "State", wish: AutoWish, view: "RunView") -> "Gaps | None":
    """K → (gap, standard error), by this computer; None, and a note, where that can't be and nothing hangs on it.

    Raises UsageError where the gap statistic was asked for, and can't be had.
    """
    from dcka.cli.experiments import require
    from dcka.inject.dataset import Dataset
    from dcka.runs.held import kept_here

    if not wish.search.gap_sets:
        return None
    dataset = kept_here(Dataset, folder)
    if dataset is not None and dataset.id.hex() != held.record["dataset"]:
        dataset = None
    reason = ""
    if dataset is None:
        reason = f"{folder.folder} does not hold the readings that the nodes do; inject them from here"
    elif dataset.size > GAP_POINTS and not wish.gap_asked:
        reason = f"{dataset.size:,} readings take this computer long; --gap-sets {wish.search.gap_sets} asks for it"
    else:
        try:
            require("numba")
        except UsageError as error:
            reason = str(error)
    if reason and wish.gap_asked:
        raise UsageError(f"the gap statistic cannot be had: {reason}")
    if reason or dataset is None:
        view.output.say(f"note: no gap statistic: {reason}")
        return None
    return _gaps_of(dataset, config.run.seed, wish.search, view)


def _gaps_of(dataset: "Dataset", seed: int, wish: "Wish", view: "RunView") -> "Gaps":
    import numpy as np

    from dcka.engine.gap import gap_statistic

    grid = dataset.grid
    own_range = dataset.agreed is not None
    table = np.concatenate(
        [grid.scaled(grid.within(values) if own_range else values) for values in dataset.values.values()]
    )
    ks = [k for k in wish.ks if k < len(np.unique(table, axis=0))]
    if not ks:
        return {}
    found = gap_statistic(
        table,
        ks,
        wish.gap_sets,
        seed,
        lambda done, total: view.show(f"gap statistic, on this computer: {done} of {total} sets"),
    )
    return {one.k: (one.gap, one.se) for one in found}


def _tell(found: "Found", held: "Held", wish: AutoWish, allow_partial: bool, view: "RunView") -> int:
    from dcka.choosing.words import table_of
    from dcka.cli.run_report import report
    from dcka.runs.summary import summary, text

    for note in found.notes:
        view.output.say(f"note: {note}")
    choice = found.choice
    record = {**summary(found.outcome, held.record), **choice.record()}
    words = [text(record), "", *table_of(choice)]
    if wish.report is not None:
        from dcka.plots.choice import write_report

        file = write_report(choice, str(held.record.get("name", "")), record, wish.report)
        record["report"] = file.absolute()
        words.append(f"\nreport: {file}")
    return report(found.outcome, record, "\n".join(words), allow_partial, view.output)
