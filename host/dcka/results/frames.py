"""Tables of a run for pandas, which is asked for only here."""

from typing import TYPE_CHECKING, Any

from dcka.history.stored import iso

if TYPE_CHECKING:
    import pandas

    from dcka.results.run import Run


def frame(run: "Run", of: str) -> "pandas.DataFrame":
    """As `Run.to_dataframe`."""
    if of not in _TABLES:
        raise ValueError(f"of = {of!r}: there are tables of {', '.join(_TABLES)}")
    try:
        import pandas
    except ImportError:
        raise ImportError("to_dataframe needs pandas, which is not installed: pip install pandas") from None
    return _TABLES[of](run, pandas)


def _steps(run: "Run", pandas: Any) -> "pandas.DataFrame":
    columns = ["at", "ssd", "contributors", "missing", "final", "converged", "slots"]
    rows = [
        (
            iso(step.at),
            step.ssd,
            len(step.contributors),
            len(step.missing),
            step.final,
            step.converged,
            step.slots,
        )
        for step in run.steps
    ]
    index = pandas.Index([step.step for step in run.steps], name="step", dtype="int64")
    table = pandas.DataFrame(rows, columns=columns, index=index)
    table["at"] = pandas.to_datetime(table["at"], utc=True)
    return table


def _centroids(run: "Run", pandas: Any) -> "pandas.DataFrame":
    centroids, counts = run.centroids, run.counts
    if centroids is None:
        return pandas.DataFrame({"count": []}, index=pandas.RangeIndex(0, name="cluster"))
    names = run.columns or [f"x{j}" for j in range(centroids.shape[1])]
    table = pandas.DataFrame(
        centroids, columns=names, index=pandas.RangeIndex(len(centroids), name="cluster")
    )
    # A column of the data may be called so, too.
    table.insert(len(names), "count", counts, allow_duplicates=True)
    return table


def _nodes(run: "Run", pandas: Any) -> "pandas.DataFrame":
    left_out = ("v", "run", "node", "ledger")
    rows = [
        {name: value for name, value in result.items() if name not in left_out}
        for _, result in sorted(run.nodes.items())
    ]
    grid = run.stored.grid
    for row in rows:
        if grid is not None and row.get("ssd") is not None:
            row["ssd"] *= grid.unit**2
    index = pandas.Index(sorted(run.nodes), name="node", dtype="int64")
    return pandas.DataFrame(rows, index=index)


_TABLES = {"steps": _steps, "centroids": _centroids, "nodes": _nodes}
