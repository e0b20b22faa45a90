"""`draw_run`: panels side by side, as one PNG file."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from dcka.config.state import write_whole
from dcka.inject.dataset import Dataset
from dcka.plots.scene import Panel, Scene, Table, scene

# Paul Tol's "muted" scheme: nine colours that are told apart with any kind of colour vision.
POINTS = ("#88CCEE", "#CC6677", "#DDCC77", "#117733", "#332288", "#AA4499", "#44AA99", "#999933", "#882255")
# Okabe and Ito's, without the yellow, which is too light for a thin line.
NODES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
SHAPES = ("o", "s", "D", "h", "8", "p", "H", "^")
PASS_COLOUR, FAIL_COLOUR = "#00614A", "#A62B17"
INK = "#222222"

PANEL_INCHES = 5.6
ALONE_INCHES = 7.5
FRAME_INCHES = 2.0
"""For titles, names of axes and the legend."""
DPI = 120
SMALLEST, STEP, LARGEST = 7.0, 3.6, 26.0
"""Points: the size of the innermost ring, by how much each next one is larger, so that rings that coincide are seen
one around the other, and the size of the outermost one where there are many."""
FLATTEST = 0.2
"""K-means goes by Euclid's distance, so both axes have one scale; but where one range is below this part of the other,
nothing could be seen of it, and each has its own. So they have where the grid has a step for each."""
LEGEND_NODES, LEGEND_COLUMNS = 8, 6


def draw_run(
    dataset: Dataset,
    panels: Sequence[Panel],
    path: Path,
    *,
    title: str = "",
    units: Mapping[str, str] | None = None,
) -> Path:
    """Draw the readings and the centres of each panel, side by side, into the PNG file `path`; returns it.

    Every node's centres have a shape and a size of their own, the reference's are crosses. With more than two
    dimensions the two of largest spread are drawn, and the picture says so. `units`: of the columns, by name.
    Raises StateError where the file cannot be written.
    """
    shown = scene(dataset, units)
    window = _window(shown)
    width = ALONE_INCHES if len(panels) == 1 else PANEL_INCHES
    figure = Figure(
        figsize=(width * len(panels), width * window.aspect + FRAME_INCHES),
        dpi=DPI,
        layout="constrained",
    )
    if title:
        figure.suptitle(title, fontsize=13, fontweight="bold", color=INK)
    axes = np.atleast_1d(figure.subplots(1, len(panels), sharex=True, sharey=True))
    for number, (one, where) in enumerate(zip(panels, axes, strict=True)):
        _draw_panel(where, shown, one)
        where.set(xlim=window.x, ylim=window.y, box_aspect=window.aspect)
        if number == 0:
            where.set_ylabel(shown.labels[1] if len(shown.labels) > 1 else "", color=INK)
    _legend(figure, shown, panels)
    packed = io.BytesIO()
    figure.savefig(packed, format="png")
    write_whole(path, packed.getvalue())
    return path


class _Window(NamedTuple):
    """What part of the plane is seen, and its height over its width."""

    x: tuple[float, float]
    y: tuple[float, float]
    aspect: float


def _window(shown: Scene) -> _Window:
    """All readings with a margin, in one scale for both axes, in a frame that is not too flat and not too tall."""
    if len(shown.axes) == 1:
        return _Window(_range(shown.low[0], shown.high[0]), (-1.0, len(shown.groups) + 1.0), 0.6)
    low, high = shown.low, shown.high
    span = np.where(high > low, high - low, 1.0)
    ratio = span[1] / span[0]
    if shown.scaled or not FLATTEST <= ratio <= 1 / FLATTEST:
        return _Window(_range(low[0], high[0]), _range(low[1], high[1]), 0.8)
    aspect = float(np.clip(ratio, 0.6, 1.0))
    width = max(span[0], span[1] / aspect)
    middle = (low + high) / 2
    ends = [
        (float(middle[j] - wide / 2), float(middle[j] + wide / 2))
        for j, wide in ((0, width), (1, width * aspect))
    ]
    return _Window(_range(*ends[0]), _range(*ends[1]), aspect)


def _range(low: float, high: float) -> tuple[float, float]:
    margin = 0.04 * (high - low) or 0.5
    return float(low - margin), float(high + margin)


def _draw_panel(axes: Axes, shown: Scene, one: Panel) -> None:
    axes.set_title(one.title, fontsize=12, loc="left", color=INK, pad=22)
    colour = PASS_COLOUR if one.passed else FAIL_COLOUR
    axes.text(0, 1.015, one.caption, transform=axes.transAxes, fontsize=10, color=colour, va="bottom")
    for index, (_, readings) in enumerate(shown.groups):
        x, y = _place(shown, readings, index)
        axes.plot(x, y, ".", color=_colour(shown, index), zorder=1, **_dot(len(readings)))
    nodes = list(one.centres)
    for index in reversed(range(len(nodes))):
        x, y = _place(shown, one.centres[nodes[index]], None)
        axes.plot(x, y, linestyle="none", zorder=3 + index / 1000, **_ring(index, len(nodes)))
    if one.reference is not None:
        x, y = _place(shown, one.reference, None)
        axes.plot(x, y, linestyle="none", zorder=5, **_cross())
    axes.set_xlabel(shown.labels[0], color=INK)
    if len(shown.axes) == 1:
        axes.set_yticks([])
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9, colors=INK)


def _colour(shown: Scene, group: int) -> str:
    colours = NODES if shown.by == "node" else POINTS
    return colours[group % len(colours)]


def _dot(points: int) -> dict[str, Any]:
    """Many points are a haze, few ones have to be found."""
    few = points < 200
    return {"markersize": 6.0 if few else 3.4, "markeredgewidth": 0, "alpha": 0.8 if few else 0.4}


def _place(shown: Scene, table: Table, row: int | None) -> tuple[Table, Table]:
    """Where points or centres (m, n) go. In one dimension a group has a height of its own, and centres none."""
    if len(shown.axes) == 2:
        return table[:, shown.axes[0]], table[:, shown.axes[1]]
    height = 0.0 if row is None else 1.0 + row
    return table[:, shown.axes[0]], np.full(len(table), height)


def _ring(index: int, nodes: int) -> dict[str, Any]:
    step = min(STEP, (LARGEST - SMALLEST) / max(1, nodes - 1))
    return {
        "marker": SHAPES[index % len(SHAPES)],
        "markersize": SMALLEST + step * index,
        "markerfacecolor": "none",
        "markeredgecolor": NODES[index % len(NODES)],
        "markeredgewidth": 1.5,
    }


def _cross() -> dict[str, Any]:
    return {
        "marker": "x",
        "markersize": 6,
        "markeredgecolor": INK,
        "markeredgewidth": 1.6,
        "path_effects": [withStroke(linewidth=3.2, foreground="white")],
    }


def _legend(figure: Figure, shown: Scene, panels: Sequence[Panel]) -> None:
    """One for all panels: the nodes' rings, the reference's cross, and what the colours of the points mean."""
    nodes = list(dict.fromkeys(node for one in panels for node in one.centres))
    handles = [
        Line2D(
            [], [], linestyle="none", label=f"node {node}", **{**_ring(index, len(nodes)), "markersize": 8}
        )
        for index, node in enumerate(nodes[:LEGEND_NODES])
    ]
    if len(nodes) > LEGEND_NODES:
        handles.append(Line2D([], [], linestyle="none", label=f"… {len(nodes)} nodes"))
    handles.append(Line2D([], [], linestyle="none", label="reference", **_cross()))
    if shown.by == "label" and not all(name.isdigit() for name, _ in shown.groups):
        handles += [
            Line2D(
                [], [], linestyle="none", marker=".", color=_colour(shown, index), markersize=9, label=name
            )
            for index, (name, _) in enumerate(shown.groups)
        ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), LEGEND_COLUMNS * len(panels)),
        frameon=False,
        fontsize=10,
        handletextpad=0.2,
        columnspacing=1.4,
        title=_note(shown, "\n" if len(panels) == 1 else " "),
        title_fontsize=9,
        alignment="center",
    )


def _note(shown: Scene, between: str) -> str:
    points = f"{shown.size:,} readings"
    if shown.shown < shown.size:
        points += f", {shown.shown:,} of them drawn"
    if shown.outside:
        points += f", {shown.outside:,} beyond the range"
    colours = f"coloured by {shown.by}"
    dimensions = f"; {shown.dimensions} dimensions, the two of largest spread" if shown.dimensions > 2 else ""
    rings = "Each node's final centres are rings, one around the other where they coincide."
    return f"{points}, {colours}{dimensions}.{between}{rings}"
