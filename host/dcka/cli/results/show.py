"""`dcka results show`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dcka.cli.history import opened, place_option
from dcka.cli.options import examples, json_option
from dcka.cli.output import Output
from dcka.cli.results.options import clipped, network_name_option, run_of

if TYPE_CHECKING:
    from dcka.history import StoredRun


@click.command(
    "show",
    epilog=examples(
        "dcka results show                     the last run",
        "dcka results show greenhouse/12",
        "dcka results show 3f9a --json         all of it, every step, as one JSON object",
    ),
)
@click.argument("run", metavar="[RUN]", default="last")
@network_name_option
@place_option
@json_option
def command(run: str, network: str | None, history: str | None, output: Output) -> int:
    """Show one run: what was asked for, every step that was seen, what was not seen, and what came of it."""
    with opened(history) as store:
        found = run_of(store, run, network)
        output.result(found.record(), None if output.json_mode else "\n".join(_lines(found)))
    return 0


def _lines(run: "StoredRun") -> list[str]:
    lines = [
        f"run {clipped(run.name)} (id {run.uid}): {run.kind}, K = {run.k}, {run.nodes} nodes, {run.state}"
    ]
    if run.reason:
        lines.append(f"  {clipped(run.reason, 300)}")
    if run.missing:
        lines.append(f"  without {', '.join(map(str, run.missing))} in all steps or some")
    lines += _gaps(run)
    if run.steps:
        lines += ["", *_steps(run)]
    if run.centroids is not None:
        lines += ["", *_centroids(run)]
    if run.check is not None:
        lines += [
            "",
            f"{run.verdict}: " + "; ".join(clipped(one, 300) for one in run.check.get("reasons", ())),
        ]
    return lines


def _gaps(run: "StoredRun") -> list[str]:
    words = {
        "monitor": "no monitor ran",
        "broker": "the broker was away",
        "store": "nothing could be stored",
        "unseen": "nobody listened when it began",
    }
    lines = []
    for gap in run.gaps:
        record = gap.record()
        times = f"from {record['began_at'] or '?'} to {record['ended_at'] or 'now'}"
        lines.append(f"  gap: {words.get(gap.kind, gap.kind)}, {times}")
    if run.lost_steps:
        lines.append(f"  steps that nobody saw: {_ranges(run.lost_steps)}")
    return lines


def _ranges(numbers: list[int]) -> str:
    """`3-7, 9`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in found)


def _steps(run: "StoredRun") -> list[str]:
    rows = [("step", "SSD", "readings of", "remarks")]
    for step in run.steps:
        remarks = [f"without {', '.join(map(str, step.missing))}"] if step.missing else []
        remarks += [f"epoch {step.epoch}, root {step.root}"] if step.epoch else []
        remarks += ["final"] if step.final else []
        ssd = "" if step.ssd is None else f"{step.ssd:.9g}"
        rows.append((str(step.step), ssd, f"{len(step.contributors)} nodes", ", ".join(remarks)))
    return _table(rows)


def _centroids(run: "StoredRun") -> list[str]:
    if run.centroids is None:
        return []
    names = [clipped(name, 20) for name in run.columns] or [
        f"x{place}" for place in range(run.centroids.shape[1])
    ]
    rows = [("cluster", "readings", *names)]
    for cluster, centre in enumerate(run.centroids.tolist()):
        count = "" if run.counts is None else f"{run.counts[cluster]:,}"
        rows.append((str(cluster), count, *(f"{value:.6g}" for value in centre)))
    return _table(rows)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
