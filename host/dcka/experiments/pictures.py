"""The pictures of the report, each as SVG and PNG."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.lines
import matplotlib.ticker
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcka.config.state import write_whole
from dcka.datasets.nine_gaussians import MEANS
from dcka.experiments.network import Network
from dcka.experiments.table import NAMES, values_of
from dcka.experiments.work import CKA, Row
from dcka.plots.draw import INK, NODES

DPI = 120
COLOURS = {
    name: NODES[i] for i, name in enumerate(("local", "sorted", "snake", "shared", "partition", "kmeans++"))
}
COLOURS[CKA] = INK
METHODS = {CKA: "CKA", "local": "local (the paper's)"}

LEAST_RATIO = 0.02
"""Of spreads that is drawn: intervals may reach down to 0, where all runs of a resample ended alike."""
MOST_PERCENT = 60
"""Beyond it the axis of differences turns logarithmic: one start may be a hundred times another."""

SLOTS_SHOWN = 14

Record = dict[str, Any]


def save(figure: Figure, folder: Path, name: str) -> str:
    """NAME.svg and NAME.png; returns `name`. The same figures give the same bytes."""
    for kind in ("svg", "png"):
        packed = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": name}):
            figure.savefig(packed, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
        write_whole(folder / f"{name}.{kind}", packed.getvalue())
    return name


def _axes(
    title: str, count: int = 1, size: tuple[float, float] = (7.0, 4.4), columns: int = 4
) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels of `size` inches, `columns` in a row."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    figure.suptitle(title, fontsize=12, fontweight="bold", color=INK)
    found = np.atleast_1d(figure.subplots(rows, columns)).ravel().tolist()
    for axes in found[count:]:
        axes.remove()
    for axes in found[:count]:
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=9, colors=INK)
    return figure, found[:count]


def centres(net: Network, record: Record, folder: Path) -> str:
    """Result 1: the points, the nine means, and the centres that all nodes ended with."""
    figure, (axes,) = _axes("Nine Gaussians: where DCKA ends", size=(6.4, 6.2))
    every = np.concatenate(net.tables)
    faint: Record = {"color": "#88CCEE", "markersize": 3, "markeredgewidth": 0, "alpha": 0.5}
    axes.plot(every[:, 0], every[:, 1], ".", label="readings", **faint)
    means, found = np.array(MEANS), np.array(record["equality"]["centres"])
    ring: Record = {"color": "#D55E00", "markersize": 13, "fillstyle": "none"}
    axes.plot(means[:, 0], means[:, 1], "o", label="the Gaussians' means", **ring)
    axes.plot(
        found[:, 0], found[:, 1], "x", color=INK, markersize=8, markeredgewidth=2, label="DCKA's centres"
    )
    axes.set(aspect="equal", xlabel="x", ylabel="y")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return save(figure, folder, "centres")


def mass(record: Record, folder: Path) -> str:
    """Result 2: x²_i1(s) of every node in the first outer steps, and how fast the nodes agree."""
    figure, (left, right) = _axes("Consensus on the mass of cluster 1", 2, (5.6, 4.2))
    _courses(left, record["consensus"])
    _decay(right, record["consensus"])
    return save(figure, folder, "consensus")


def _courses(axes: Axes, course: Record) -> None:
    """Every node's x²_i1, outer steps side by side, and the average that they come to."""
    for number, (step, rows) in enumerate(course["mass"].items()):
        values = np.array(rows)[:SLOTS_SHOWN]
        slots = np.arange(len(values)) + number * SLOTS_SHOWN
        for i in range(values.shape[1]):
            name = f"node {i + 1}" if not number else None
            axes.plot(slots, values[:, i], "-", color=NODES[i], linewidth=1.4, label=name)
        axes.hlines(course["limit"][step], slots[0], slots[-1], colors=INK, linestyles=":", linewidth=1.2)
        axes.text(slots[0], axes.get_ylim()[0], f"t = {int(step) + 1}", fontsize=9, color=INK, va="bottom")
    axes.set(xlabel=f"slots, {SLOTS_SHOWN} of each outer step", ylabel="x²_i1")
    axes.legend(fontsize=8, frameon=False, ncols=2)


def _decay(axes: Axes, course: Record) -> None:
    """The largest distance from the average in the first outer step, and the rate that the spectrum predicts."""
    values = np.array(course["mass"]["0"])
    error = np.abs(values - values[0].mean()).max(axis=1)
    slots = np.flatnonzero(error > 1e-9 * error[0])
    rate = course["rate_per_slot_predicted"]
    measured = "largest distance from the mean, t = 1"
    axes.semilogy(slots, error[slots], "o", color=NODES[0], markersize=4, label=measured)
    predicted = error[2] * rate ** (slots - 2.0)  # from the end of the first period on
    axes.semilogy(slots, predicted, "--", color=NODES[1], label=f"|λ2(A_c A_b)|^½ = {rate:.4f} a slot")
    axes.set(xlabel="slot", ylabel="distance")
    axes.legend(fontsize=8, frameon=False)


def curves(record: Record, folder: Path) -> str:
    """Result 3: the SSD against the iteration."""
    found = record["curves"]
    figure, places = _axes("SSD against the iteration", len(found), (4.2, 3.9))
    for axes, (k, lines) in zip(places, found.items(), strict=True):
        axes.plot(lines["dcka"], "-", color=NODES[0], linewidth=3, alpha=0.5, label="DCKA, full simulation")
        axes.plot(lines["cka_same_start"], "--", color=INK, linewidth=1.2, label="CKA from the blended start")
        axes.plot(lines["cka"], ":", color=NODES[1], linewidth=1.6, label="CKA from one node's draw")
        axes.set(title=f"K = {k}", xlabel="iteration", ylim=(0, None))
        axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    places[0].set_ylabel("SSD")
    figure.legend(
        *places[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9
    )
    return save(figure, folder, "curves")


def differences(record: Record, data: str, folder: Path) -> str:
    """Result 4: for each K and start the difference of the means from CKA, in percent of CKA's mean, and the ratio of
    the spreads; bars are 95 % intervals."""
    of_set = [line for line in record["monte_carlo"] if line["data"] == data]
    central = {line["k"]: line["mean"] for line in of_set if line["method"] == CKA}
    lines = [line for line in of_set if "against_cka" in line]
    ks, starts = sorted(central), list(dict.fromkeys(line["method"] for line in lines))
    figure, (left, right) = _axes(f"{NAMES.get(data, data)}: DCKA against CKA", 2, (5.8, 4.2))
    for line in lines:
        at = ks.index(line["k"]) + (starts.index(line["method"]) - (len(starts) - 1) / 2) * 0.11
        scale, found = 100 / central[line["k"]], line["against_cka"]
        own: Record = {"color": COLOURS[line["method"]], "markersize": 5, "capsize": 2, "linewidth": 1.2}
        ends = [None if end is None else end * scale for end in found["difference_interval"]]
        _bar(left, at, found["difference"] * scale, ends, own)
        if found["spread_ratio"] is not None:
            _bar(right, at, found["spread_ratio"], found["spread_interval"], own)
    _scales(left, right)
    for axes in (left, right):
        axes.set_xticks(range(len(ks)), list(map(str, ks)))
        axes.set_xlim(-0.6, len(ks) - 0.4)
    handles = [
        matplotlib.lines.Line2D(
            [], [], marker="o", linestyle="none", color=COLOURS[s], label=METHODS.get(s, s)
        )
        for s in starts
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(starts), frameon=False, fontsize=9)
    return save(figure, folder, f"difference-{data}")


def _scales(left: Axes, right: Axes) -> None:
    """Axes of differences and of ratios, with a line where there is none."""
    left.axhline(0, color=INK, linewidth=0.8)
    right.axhline(1, color=INK, linewidth=0.8)
    left.set(ylabel="mean SSD, % above CKA's", xlabel="K")
    right.set(ylabel="spread, ratio to CKA's", xlabel="K", yscale="log")
    left.margins(y=0.1)
    low, high = right.get_ylim()
    right.set_ylim(max(low, LEAST_RATIO), max(high, 2.0))
    right.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
    right.yaxis.set_minor_locator(matplotlib.ticker.LogLocator(subs=(2, 5)))
    right.yaxis.set_minor_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
    if max(map(abs, left.get_ylim())) > MOST_PERCENT:
        left.set_yscale("symlog", linthresh=10)
        left.margins(y=0.1)
        left.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))


def _bar(axes: Axes, at: float, value: float, ends: Sequence[float | None], own: Record) -> None:
    low, high = ends
    if low is None or high is None:
        axes.plot([at], [value], "o", color=own["color"], markersize=own["markersize"])
        return
    axes.errorbar([at], [value], yerr=[[max(0.0, value - low)], [max(0.0, high - value)]], fmt="o", **own)


def spreads(rows: Sequence[Row], data: str, best: float | None, folder: Path) -> str:
    """Every run's SSD, by K and method; the best known as a line where it is known for that K."""
    ks = sorted({row["k"] for row in rows if row["data"] == data})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, places = _axes(
        f"{NAMES.get(data, data)}: every run", len(ks), (max(3.0, 1.1 + 0.42 * len(methods)), 4.0)
    )
    numbers = np.random.default_rng(0)
    for axes, k in zip(places, ks, strict=True):
        for place, method in enumerate(methods):
            values = np.concatenate(values_of(rows, data, k, method))[:600]
            at = place + numbers.uniform(-0.25, 0.25, len(values))
            axes.plot(at, values, ".", color=COLOURS[method], markersize=4, alpha=0.5, markeredgewidth=0)
            axes.hlines(values.mean(), place - 0.35, place + 0.35, colors=COLOURS[method], linewidth=2)
        if best is not None and k == 100:
            axes.axhline(best, color=INK, linewidth=0.8, linestyle=":")
            axes.annotate(
                "best known",
                (1, best),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8,
            )
        axes.set(title=f"K = {k}", yscale="log")
        _readable(axes)
        axes.set_xticks(
            range(len(methods)), [METHODS.get(m, m).split(" ")[0] for m in methods], rotation=60, fontsize=8
        )
    figure.supylabel("final SSD; a bar is the mean", fontsize=10)
    return save(figure, folder, f"runs-{data}")


def _readable(axes: Axes) -> None:
    """Few ticks on a logarithmic axis of values: 1, 2, 5 of each decade, or round numbers within a decade or two."""
    low, high = axes.get_ylim()
    wide = high / low > 10
    axes.yaxis.set_major_locator(
        matplotlib.ticker.LogLocator(subs=(1, 2, 5)) if wide else matplotlib.ticker.MaxNLocator(6)
    )
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.yaxis.set_major_formatter(
        matplotlib.ticker.FuncFormatter(
            lambda x, _: f"{x:,.0f}" if x < 1e6 else f"{x:.4g}".replace("e+", "e")
        )
    )


def bound(record: Record, folder: Path) -> str:
    """The error bound beside the error."""
    found = record["theory"]["bound"]
    figure, (axes,) = _axes("How far the nodes' centres are from the network's", size=(7.0, 4.2))
    measured = np.array([np.nan if value is None else value for value in found["measured"]])
    seen = measured > 1e-14
    slots = np.arange(len(measured))
    axes.semilogy(
        slots[seen], measured[seen], "o-", color=NODES[0], markersize=4, label="largest error, measured"
    )
    axes.semilogy(slots, found["paper"], "-", color=NODES[1], label="the paper's bound")
    axes.semilogy(
        slots, found["corrected"], "--", color=NODES[2], label="the corrected bound (in force later)"
    )
    axes.set(xlabel="slot", ylabel="distance, in the data's units")
    axes.legend(fontsize=9, frameon=False)
    return save(figure, folder, "bound")
