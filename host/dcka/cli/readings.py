"""What `dcka inject` and `dcka board inject` share: how readings are named, read, and told."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from dcka.cli.options import RANGES, Decorated, range_options, require_quantile
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.config import Config
    from dcka.config.sections import DataSection
    from dcka.inject.csv_reader import Table
    from dcka.inject.dataset import Dataset
    from dcka.inject.gathered import Gathered
    from dcka.inject.quantise import Scale
    from dcka.inject.readings import ReadingSet
    from dcka.inject.sieve import Missing
    from dcka.inject.split import How

_OPTIONS = (
    click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE.csv]"),
    click.option("--data", metavar="NAME", help="An example instead of a file: gaussians or suthaharan."),
    click.option("--columns", metavar="A,B", help="The columns to cluster by.  [default: all with numbers]"),
    click.option("--split-by", metavar="COLUMN", help="The column that says which node a row belongs to."),
    click.option("--split", metavar="HOW", help="Without such a column: round-robin or contiguous."),
    click.option(
        "--label", metavar="COLUMN", help="Kept beside the readings to colour pictures; not clustered."
    ),
    click.option(
        "--missing", metavar="RULE", help="A cell without a number: refuse the file, or drop the row."
    ),
    click.option(
        "--missing-marker",
        multiple=True,
        metavar="TEXT",
        help="Stands for a missing reading; may be repeated.",
    ),
    click.option("--delimiter", metavar="SIGN", help="Between cells: ; or tab, say.  [default: found out]"),
    click.option("--decimal", metavar="SIGN", help="A point or a comma.  [default: found out]"),
    click.option("--header/--no-header", default=None, help="Whether the first row has the names."),
    click.option(
        "--range",
        "ranges",
        multiple=True,
        metavar="LOW,HIGH",
        help="host, minmax or quantile: who finds the range (docs/data.md). Or the range of a column, in their order "
        "or as COLUMN=LOW,HIGH; repeated.",
    ),
    *range_options(),
    click.option(
        "--readings",
        is_flag=True,
        default=None,
        help="Send the readings themselves, for a range that the nodes agree on.",
    ),
)

replace_option = click.option(
    "--replace",
    is_flag=True,
    help="Remove the old data first, for flash without room for both: until the new are there, a node has none.",
)


def reading_options(command: Decorated) -> Decorated:
    """FILE.csv, `--data NAME` and the options for columns, rows and cells; `dataset_of` takes what they give.

    The function gets `file`, `data`, and the others by their names.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def data_of(
    file: Path | None, data: str | None, config: "Config", reading: dict[str, Any]
) -> "Dataset | ReadingSet":
    """What the call names: a file as `reading` has it, or an example. Raises UsageError.

    On a grid, or, where the nodes are to agree on the range, the readings themselves.
    """
    from dcka.inject.dataset import on_grid
    from dcka.inject.readings import as_readings

    if (data is None) == (file is None):
        raise UsageError("name a file, or an example with --data gaussians or --data suthaharan; not both")
    settings = _settings(config, reading)
    if file is not None:
        found, ranges = _read(file, config, settings, reading)
    else:
        _require_no_cells(str(data), reading)
        found, ranges = _example(str(data), config), None
    if settings.range == "host" and not reading["readings"]:
        return on_grid(found, ranges, cast("Scale", settings.scale))
    if ranges is not None:
        raise UsageError(
            "--range LOW,HIGH is a range that is known, and the nodes are to agree on it: leave it out, or take "
            "--range host"
        )
    return as_readings(found, settings.scale)


def dataset_of(file: Path | None, data: str | None, config: "Config", reading: dict[str, Any]) -> "Dataset":
    """As `data_of`, for data that go over a cable. Raises UsageError for what is on no grid yet."""
    from dcka.inject.dataset import Dataset

    found = data_of(file, data, config, reading)
    if not isinstance(found, Dataset):
        raise UsageError(
            "over a cable go data whose range is known: pass --range host, or give the nodes their readings over MQTT, "
            "with dcka inject"
        )
    return found


def note_of_options(config: "Config", reading: dict[str, Any], output: Output) -> None:
    """What was said of range and scale for this call alone has to be said to `dcka run` too."""
    asked, usual = _settings(config, reading), config.data
    said = [
        f"--{name} {getattr(asked, name)}"
        for name in ("tail", "scale")
        if getattr(asked, name) != getattr(usual, name)
    ]
    if reading["readings"] and asked.range == "host":
        said.insert(0, "--range minmax or --range quantile")
    elif asked.range != usual.range:
        said.insert(0, f"--range {asked.range}")
    if said:
        output.say(f"note: run with {' '.join(said)} too, or write it under [data] of {config.source.name}")


def _require_no_cells(data: str, reading: dict[str, Any]) -> None:
    """Raises UsageError where an example is named, and what goes with a file."""
    of_range = ("ranges", "tail", "scale", "readings")
    said = any(value not in (None, ()) for name, value in reading.items() if name not in of_range)
    if said or any(text not in RANGES for text in reading["ranges"]):
        raise UsageError(
            f"--data {data} is read already: the options for columns, rows and cells go with a file"
        )


def _read(
    file: Path, config: "Config", settings: "DataSection", reading: dict[str, Any]
) -> tuple["Gathered", list[tuple[float, float]] | None]:
    """The readings of a file, shared out over the nodes, and the ranges that are given for its columns.

    Raises UsageError and DataError.
    """
    from dcka.inject.csv_reader import read_csv
    from dcka.inject.gathered import gather

    by_column = None if reading["split"] else settings.split_by
    table = read_csv(
        file,
        columns=settings.columns or None,
        missing=cast("Missing", settings.missing),
        missing_marker=settings.missing_marker,
        split_by=by_column,
        **{name: reading[name] for name in ("delimiter", "decimal", "header", "label")},
    )
    how = cast("How", "column" if by_column else settings.split)
    ranges = _ranges([text for text in reading["ranges"] if text not in RANGES], table)
    return gather(table, config.ids, how), ranges


def _settings(config: "Config", reading: dict[str, Any]) -> "DataSection":
    """[data] of the network file, with what the call says in its place. Raises UsageError."""
    if reading["split"] and reading["split_by"]:
        raise UsageError("--split and --split-by exclude each other: leave one of them out")
    said = {name: reading[name] for name in ("split_by", "split", "missing", "tail", "scale")}
    said["range"] = next((text for text in reversed(reading["ranges"]) if text in RANGES), None)
    if reading["columns"] is not None:
        said["columns"] = [name.strip() for name in next(csv.reader([reading["columns"]]), [])]
    if reading["missing_marker"]:
        said["missing_marker"] = list(reading["missing_marker"])
    settings = config.replaced("data", None, **said).data
    if not reading["readings"]:
        require_quantile(reading["tail"], settings.range)
    return settings


def _ranges(texts: Sequence[str], table: "Table") -> list[tuple[float, float]] | None:
    """A (low, high) for each column, the column's own ends where no text is for it; None without texts.

    A text that names no column is for the one in its place. Raises UsageError.
    """
    if not texts:
        return None
    lows, highs = table.values.min(axis=0), table.values.max(axis=0)
    ends = {name: (float(a), float(b)) for name, a, b in zip(table.columns, lows, highs, strict=True)}
    for place, text in enumerate(texts):
        named, mark, both = text.rpartition("=")
        name = named if mark else ", ".join(table.columns[place : place + 1])
        low, _, high = both.partition(",")
        if name not in ends:
            columns = ", ".join(ends)
            raise UsageError(f"--range {text}: there is no such column; the columns are {columns}")
        try:
            ends[name] = float(low), float(high)
        except ValueError as error:
            raise UsageError(
                f"--range {text}: name who finds it, host, minmax or quantile; or write LOW,HIGH or COLUMN=LOW,HIGH, "
                f"as {name}=0,100"
            ) from error
    return [ends[name] for name in table.columns]


def _example(name: str, config: "Config") -> "Gathered":
    """An example for the network's nodes, in the order of their ids. Raises UsageError where it does not fit."""
    from dcka.datasets import gaussians, suthaharan
    from dcka.inject.gathered import Gathered

    if name == "gaussians":
        made = gaussians(config.run.seed, len(config.ids))
    elif name == "suthaharan":
        made = suthaharan()
    else:
        raise UsageError(f"--data {name}: the examples are gaussians and suthaharan")
    if len(made.points) != len(config.ids):
        raise UsageError(
            f"--data {name}: it is of {len(made.points)} nodes and the network has {len(config.ids)}; "
            f"make a network for it, in a folder of its own, with: dcka init --nodes {len(made.points)}"
        )
    new = dict(zip(made.node_ids, config.ids, strict=True))
    labels = made.labels and {new[node]: texts for node, texts in made.labels.items()}
    return Gathered(
        made.name,
        made.columns,
        {new[node]: values for node, values in made.values.items()},
        labels,
        {new[node]: group for node, group in made.groups.items()},
        made.report,
    )


def warn_of_k(dataset: "Gathered", config: "Config", output: Output) -> None:
    """The run will refuse it, and it may have another K by then; but now the data are before one's eyes."""
    from dcka.inject.errors import DataError

    try:
        dataset.check_k(config.run.k)
    except DataError as error:
        output.say(f"warning: {error}, or run with --k")


def facts_of(dataset: "Dataset | ReadingSet") -> dict[str, Any]:
    """What a verb's record says of the data set that the nodes hold now."""
    from dcka.inject.readings import ReadingSet

    common = {
        "dataset": dataset.id.hex(),
        "name": dataset.name,
        "columns": dataset.columns,
        "points": dataset.size,
        "nodes": {node: dataset.rows(node) for node in dataset.node_ids},
        "groups": dataset.groups,
        "dropped": len(dataset.report.dropped),
        "blank": dataset.report.blank,
        "warnings": dataset.report.warnings,
    }
    if isinstance(dataset, ReadingSet):
        return {**common, "readings": True, "decimals": dataset.decimals, "clipped": {}}
    return {
        **common,
        "readings": False,
        "bits": dataset.grid.bits,
        "scale": dataset.grid.scale,
        "step": dataset.grid.step if dataset.grid.scale == "one" else None,
        "steps": dataset.grid.steps,
        "offset": dataset.grid.offset,
        "clipped": dict(zip(dataset.columns, dataset.clipped, strict=True)),
        "constant": dataset.grid.constant,
    }


def words_of(record: dict[str, Any], config: "Config") -> str:
    """The same in sentences; `record` has `skipped` beside, the nodes that had theirs already."""
    what, which = ("readings", "readings") if record["readings"] else ("points", "data set")
    lines = [
        f"{config.network.name}: {len(record['nodes'])} nodes hold {record['points']:,} {what} of "
        f"{', '.join(record['columns'])} ({which} {record['dataset']})"
    ]
    if record["skipped"]:
        lines.append(f"{len(record['skipped'])} of them had theirs already")
    clipped = {name: count for name, count in record["clipped"].items() if count}
    if clipped:
        lines.append(
            "clipped to the range: " + ", ".join(f"{name} {count:,}" for name, count in clipped.items())
        )
    empty = [str(node) for node, rows in record["nodes"].items() if not rows]
    if empty:
        lines.append(f"without points, and they take part with zeros: {', '.join(empty)}")
    return "\n".join(lines)
