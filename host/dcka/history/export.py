"""Stored runs as tables, for other programs: CSV, JSON, Parquet."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dcka.history.errors import HistoryUsageError
from dcka.history.stored import Json, StoredRun, iso

Table = list[Json]


def _runs(runs: Iterable[StoredRun]) -> Table:
    """A row a run, as in a list."""
    return [{**run.summary(), "missing": _words(run.missing)} for run in runs]


def _steps(runs: Iterable[StoredRun]) -> Table:
    """A row a step."""
    return [
        {
            **_which(run),
            "step": step.step,
            "at": iso(step.at),
            "ssd": step.ssd,
            "in_units": run.in_units,
            "contributors": len(step.contributors),
            "missing": _words(step.missing),
            "epoch": step.epoch,
            "root": step.root,
            "slots": step.slots,
            "final": step.final,
            "converged": step.converged,
        }
        for run in runs
        for step in run.steps
    ]


def _centroids(runs: Iterable[StoredRun]) -> Table:
    """A row a cluster of each step, with a column for each of the readings'."""
    rows = []
    for run in runs:
        for step in run.steps:
            if step.centres is None:
                continue
            names = run.columns or [f"x{place}" for place in range(step.centres.shape[1])]
            for cluster, centre in enumerate(step.centres.tolist()):
                count = None if step.counts is None else int(step.counts[cluster])
                row = {**_which(run), "step": step.step, "cluster": cluster, "count": count}
                rows.append(
                    row | {_free(name, row): value for name, value in zip(names, centre, strict=True)}
                )
    return rows


def _results(runs: Iterable[StoredRun]) -> Table:
    """A row a node's result."""
    names = ("steps", "converged", "ssd", "heap", "ms", "slots", "sent", "bytes", "heard", "flags", "rebuilt")
    return [
        {
            **_which(run),
            "node": node,
            **{name: result.get(name) for name in names},
            "missing": _words(result["missing"]),
        }
        for run in runs
        for node, result in run.results.items()
    ]


def _statuses(runs: Iterable[StoredRun]) -> Table:
    """A row a status that was news."""
    return [
        {
            **_which(run),
            "node": status.node,
            "at": iso(status.at),
            "state": status.state,
            "retained": status.retained,
            **{name: status.record.get(name) for name in ("boot", "step", "rows", "heap", "free", "problem")},
        }
        for run in runs
        for status in run.statuses
    ]


TABLES: dict[str, Callable[[Iterable[StoredRun]], Table]] = {
    "runs": _runs,
    "steps": _steps,
    "centroids": _centroids,
    "results": _results,
    "statuses": _statuses,
}
FORMATS = ("csv", "json", "parquet")


def export(runs: Sequence[StoredRun], table: str, form: str) -> bytes:
    """The table of the runs in that format; JSON is a list of objects. Raises HistoryUsageError."""
    if table not in TABLES:
        raise HistoryUsageError(f"there is no table {table}; the tables are {', '.join(TABLES)}")
    rows = TABLES[table](runs)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if form == "json":
        return (json.dumps(rows, allow_nan=False, indent=1) + "\n").encode()
    if form == "parquet":
        return _parquet(rows, names)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def _parquet(rows: Table, names: Sequence[str]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise HistoryUsageError(
            "Parquet needs pyarrow; install it with: pip install 'dcka[parquet]', or take --format csv"
        ) from None
    columns = {name: [row.get(name) for row in rows] for name in names}
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _which(run: StoredRun) -> Json:
    return {"network": run.network, "run": run.number, "uid": run.uid}


def _words(nodes: Iterable[int]) -> str:
    return " ".join(map(str, nodes))


def _free(name: str, row: Json) -> str:
    """A column of the readings may have a name that the table has already."""
    return f"{name}_" if name in row else name


def _cell(value: Any) -> Any:
    """Texts as a spreadsheet may read them: one that begins like a formula is none. Numbers in full."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return ("true" if value else "false") if isinstance(value, bool) else value
