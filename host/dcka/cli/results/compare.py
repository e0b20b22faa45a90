"""`dcka results compare`."""

from typing import Any

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.results.options import clipped, network_name_option, run_of


@click.command(
    "compare",
    epilog=examples(
        "dcka results compare 11 12                     two runs of one network",
        "dcka results compare north/7 south/7 --json    of two",
    ),
)
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@network_name_option
@place_option
@json_option
def command(first: str, second: str, network: str | None, history: str | None, output: Output) -> int:
    """Set two runs beside each other: what was asked for differently, and how far apart the centres are."""
    from dcka.history.compare import compare

    with opened(history) as store:
        found = compare(run_of(store, first, network), run_of(store, second, network))
    output.result(found, "\n".join(_lines(found)))
    return 0


def _lines(found: dict[str, Any]) -> list[str]:
    one, other = found["runs"]
    names = [clipped(f"{run['network']}/{run['run']}") for run in (one, other)]
    rows = [("", *names)]
    for name in ("state", "verdict", "step_count", "ssd", "wall_s"):
        rows.append((name, *(_word(run[name]) for run in (one, other))))
    rows += [
        (name, *(clipped(_word(value), 40) for value in pair)) for name, pair in found["parameters"].items()
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if found["ssd_ratio"] is not None:
        lines.append(f"SSD of the second: {found['ssd_ratio']:.6f} times that of the first")
    if found["centroids_equal"]:
        lines.append("the centres are equal, bit for bit")
    elif found["largest_distance"] is not None:
        lines.append(
            f"centres are up to {found['largest_distance']:.6g} away from the nearest of the other run"
        )
    if not found["same_data"]:
        lines.append("they are of different data")
    return lines


def _word(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
