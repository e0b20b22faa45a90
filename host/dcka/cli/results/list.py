"""`dcka results list`."""

from typing import TYPE_CHECKING, Any

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.results.options import clipped, filters, wanted, wanted_summaries

if TYPE_CHECKING:
    from dcka.history import StoredRun


@click.command(
    "list",
    epilog=examples(
        "dcka results list                              the newest 50 clusterings",
        "dcka results list --network-name greenhouse --since 7d",
        "dcka results list --state partial --limit 0    all that went without somebody",
        "dcka results list --json | jq '.runs[].ssd'",
    ),
)
@filters
@place_option
@json_option
def command(history: str | None, output: Output, **given: Any) -> int:
    """Show the runs that are stored, the newest first."""
    from dcka.history.place import is_own_and_new

    own = is_own_and_new(history)
    if own is not None:
        output.result(
            {"history": own, "runs": []}, f"no runs yet; dcka monitor and dcka run put them into {own}"
        )
        return 0
    with opened(history) as store:
        if output.json_mode:
            output.result({"history": store.name, "runs": wanted_summaries(store, **given)}, "")
            return 0
        runs = wanted(store, **given)
    output.result({}, "\n".join(_lines(runs)) if runs else f"no such runs are in {store.name}")
    return 0


def _lines(runs: "list[StoredRun]") -> list[str]:
    from datetime import datetime

    head = ("run", "kind", "K", "nodes", "steps", "SSD", "state", "check", "began", "data")
    rows = [head]
    for run in runs:
        ssd = "" if run.ssd is None else f"{run.ssd:.6g}" + ("" if run.in_units else " (grid)")
        rows.append(
            (
                clipped(run.name),
                run.kind,
                str(run.k or ""),
                str(run.nodes),
                str(run.step_count or ""),
                ssd,
                run.state,
                run.verdict or "",
                f"{datetime.fromtimestamp(run.begun_at):%Y-%m-%d %H:%M:%S}",
                clipped(run.data, 24),
            )
        )
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
