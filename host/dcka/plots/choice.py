"""How a K was found, shown: the curves of all indices as a picture, as CSV, and a page of words."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from dcka.choosing.choice import Choice
from dcka.choosing.words import NAMES, RULE_OF, indices_of, picks, rows_of, verdict
from dcka.config.state import write_whole
from dcka.plots.draw import DPI, INK, NODES

PANEL = (4.6, 3.4)
"""Inches."""
FILE, CURVES, TABLE = "report.md", "curves", "curves.csv"
TITLES = {
    "ssd": "SSD of the best start",
    **NAMES,
    "silhouette": "simplified silhouette",
    "gap": "gap statistic",
}


def draw_choice(choice: Choice, title: str) -> Figure:
    """A panel for the SSD and each index against K. A dashed line is the K that was taken, a ring what an index speaks
    for; bars are one standard error."""
    keys = ["ssd", *indices_of(choice)]
    columns = 3 if len(keys) > 4 else 2
    rows = -(-len(keys) // columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.5), layout="constrained")
    figure.suptitle(title, fontsize=13, fontweight="bold", color=INK)
    places = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axes in places[len(keys) :]:
        axes.remove()
    spoken = picks(choice)
    for axes, key in zip(places, keys, strict=False):
        _panel(axes, choice, key, spoken.get(key))
    places[0].plot(
        [], [], "o", color=NODES[0], markersize=9, fillstyle="none", label="what an index speaks for"
    )
    handles = places[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    return figure


def _panel(axes: Axes, choice: Choice, key: str, spoken: int | None) -> None:
    known = [(point.k, getattr(point, key), point.gap_se) for point in choice.curves]
    found = [(k, value, error) for k, value, error in known if value is not None]
    ks, values = [k for k, _, _ in found], [value for _, value, _ in found]
    decides = RULE_OF.get(key) == choice.rule
    colour = NODES[1] if decides else NODES[0]
    axes.axvline(choice.k, color=INK, linestyle="--", linewidth=1.0, label=f"K = {choice.k}, taken")
    if key == "gap":
        errors = [error or 0.0 for _, _, error in found]
        axes.errorbar(ks, values, yerr=errors, fmt="o-", color=colour, markersize=4, linewidth=1.4, capsize=3)
    else:
        axes.plot(ks, values, "o-", color=colour, markersize=4, linewidth=1.4)
    if spoken is not None:
        axes.plot([spoken], [values[ks.index(spoken)]], "o", color=colour, markersize=12, fillstyle="none")
    axes.set_title(
        f"{TITLES[key]}: decides" if decides else TITLES[key], fontsize=10, color=INK,
        fontweight="bold" if decides else "normal",
    )  # fmt: skip
    axes.set_xlabel("K", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if max(map(abs, values)) >= 1000:
        axes.yaxis.set_major_formatter(
            StrMethodFormatter("{x:,.0f}" if max(map(abs, values)) < 1e6 else "{x:.3g}")
        )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=INK)


def write_report(choice: Choice, name: str, record: Mapping[str, Any], folder: Path) -> Path:
    """report.md, curves.svg, curves.png and curves.csv in a folder that is there; returns the report's path.

    `name`: of the data set. `record`: of the run, as `dcka run --json` has it. Raises StateError.
    """
    figure = draw_choice(choice, f"{name}: which K")
    for kind in ("svg", "png"):
        packed = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": CURVES}):
            figure.savefig(packed, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
        write_whole(folder / f"{CURVES}.{kind}", packed.getvalue())
    write_whole(folder / TABLE, _csv(choice).encode())
    write_whole(folder / FILE, "\n".join(_page(choice, name, record)).encode())
    return folder / FILE


def _csv(choice: Choice) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    rows = [
        {**asdict(point), "seed": trial.seed, "run": trial.run, "score": trial.score}
        for point, trial in zip(choice.curves, choice.trials, strict=True)
    ]
    table.writerow(rows[0])
    table.writerows(row.values() for row in rows)
    return text.getvalue()


def _page(choice: Choice, name: str, record: Mapping[str, Any]) -> list[str]:
    head, *rows = rows_of(choice)
    rows = [
        [f"**{cell}**" for cell in row] if point.k == choice.k else row
        for row, point in zip(rows, choice.curves, strict=True)
    ]
    nodes, points = record["nodes"], sum(record["counts"] or [0])
    lines = [
        f"# {name}: K = {choice.k}\n",
        f"{verdict(choice)}.\n",
        f"{nodes} nodes with {points:,} readings clustered with each K from {choice.low} to {choice.high} from "
        f"{choice.starts} starts ({choice.init}). The start of the least SSD counts; the network scored its "
        f"clustering, and clustered once more with the K that was taken: run {choice.run}, seed {choice.seed}.\n",
        f"![The SSD and the indices against K; a dashed line marks K = {choice.k}]({CURVES}.svg)\n",
        _cells(head),
        f"|{'---:|' * len(head)}",
        *map(_cells, rows),
        "\nA star is what an index speaks for. SSD, Calinski–Harabasz, BIC and silhouette are the nodes' own, in whole "
        "numbers, and `dcka check` compares them with the reference, bit for bit.",
    ]
    if choice.gap_sets:
        lines.append(
            f"The gap statistic, with {choice.gap_sets} reference sets, is this computer's, from the readings "
            "that it holds."
        )
    columns = record["columns"]
    lines += [
        f"\n## The clustering, run {choice.run}\n",
        _cells(["cluster", "readings", *columns]),
        f"|{'---:|' * (2 + len(columns))}",
    ]
    for cluster, (count, centre) in enumerate(zip(record["counts"], record["centres"], strict=True)):
        lines.append(_cells([str(cluster), f"{count:,}", *(f"{value:.5g}" for value in centre)]))
    lines.append(f"\nThe figures: [{TABLE}]({TABLE}). What each index is good for: docs/choosing-k.md.\n")
    return lines


def _cells(row: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace(' *', ' ★') for cell in row)} |"
