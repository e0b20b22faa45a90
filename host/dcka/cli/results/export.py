"""`dcka results export`."""

import sys
from pathlib import Path
from typing import Any

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.results.options import filters, run_of, wanted
from dcka.errors import UsageError


@click.command(
    "export",
    epilog=examples(
        "dcka results export > runs.csv                               a row a run",
        "dcka results export 12 --table centroids --out centroids.csv",
        "dcka results export --since 7d --table steps --format parquet --out steps.parquet",
    ),
)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(("csv", "json", "parquet")), default="csv", show_default=True,
    help="Parquet needs the extra parquet (pyarrow), and --out.",
)  # fmt: skip
@click.option(
    "--table", metavar="TABLE",
    help="runs, steps, centroids, results or statuses.  [default: runs; steps where a RUN is named]",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="[default: stdout]"
)
@filters
@place_option
@json_option
def command(
    runs: tuple[str, ...],
    form: str,
    table: str | None,
    out: Path | None,
    history: str | None,
    output: Output,
    **given: Any,
) -> int:
    """Write runs as a table for other programs: the ones that are named, or all that the filters let through.

    In CSV, lists of nodes are numbers with blanks between them, and texts that a spreadsheet would take for a formula
    get an apostrophe. With --json, stdout gets what was written where, so --out is needed.
    """
    from dcka.config.state import write_whole
    from dcka.history.export import export

    if out is None and (form == "parquet" or output.json_mode):
        what = "--format parquet" if form == "parquet" else "--json"
        raise UsageError(f"{what} needs --out FILE: stdout is for text")
    chosen = table or ("steps" if runs else "runs")
    with opened(history) as store:
        found = [run_of(store, ref, given["network"]) for ref in runs] if runs else wanted(store, **given)
        content = export(found, chosen, form)
    if out is None:
        sys.stdout.write(content.decode())
        sys.stdout.flush()
        return 0
    write_whole(out, content)
    record = {
        "file": out.absolute(),
        "table": chosen,
        "format": form,
        "runs": len(found),
        "bytes": len(content),
    }
    output.result(record, f"{out}: table {chosen} of {len(found)} runs, {len(content):,} bytes")
    return 0
