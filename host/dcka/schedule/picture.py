"""`draw_design`: the graph with its load on the left, the timetable on the right, as one PNG or SVG file."""

import io
import textwrap
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dcka.config.state import write_whole
from dcka.plots.draw import DPI, INK, NODES
from dcka.schedule.design import Design
from dcka.schedule.errors import ScheduleError
from dcka.schedule.layout import Places, by_hops, on_circle
from dcka.schedule.words import counted, signs, text

# Okabe and Ito's colours. The order is that of the signs.
STATES = {
    "·": ("asleep", "#FFFFFF"),
    "-": ("awake, waits", "#DDDDDD"),
    "h": ("hears", "#56B4E9"),
    "S": ("sends", "#D55E00"),
    "B": ("both", "#CC79A7"),
}
LINK, CHARGES = "#CCCCCC", "cividis_r"
GRAPH_INCHES = 6.4
TITLE_LETTERS = 66
"""As many of the title fit above the graph."""
ROW_INCHES, LEAST_INCHES, MOST_INCHES = 0.24, 5.4, 14.0
SLOT_INCHES, NARROW_INCHES, WIDE_INCHES = 0.16, 3.6, 12.0
NAMED_NODES, NAMED_ROWS = 120, 60
"""Beyond these the ids could not be read."""


def draw_design(design: Design, path: Path, name: str) -> Path:
    """Draw the design into `path`, whose ending says PNG or SVG; returns it. The same design gives the same bytes.

    Raises ScheduleError for another ending, StateError where the file cannot be written.
    """
    form = path.suffix.lower().lstrip(".")
    if form not in ("png", "svg"):
        raise ScheduleError(f"{path}: a picture is a .png or an .svg file")
    height = float(np.clip(ROW_INCHES * len(design.graph.ids) + 1.2, LEAST_INCHES, MOST_INCHES))
    width = float(np.clip(SLOT_INCHES * design.table_slots + 1.0, NARROW_INCHES, WIDE_INCHES))
    graph_width = max(GRAPH_INCHES, 0.8 * height)
    figure = Figure(figsize=(graph_width + width, height + 1.6), dpi=DPI, layout="constrained")
    lines = text(design, name).splitlines()
    figure.suptitle(lines[0], fontsize=13, fontweight="bold", color=INK)
    left, right = figure.subplots(1, 2, width_ratios=[graph_width, width])
    _draw_graph(figure, left, design, graph_width)
    _draw_timetable(right, design)
    left.set_title(textwrap.fill(lines[1], TITLE_LETTERS), fontsize=10, loc="left", color=INK)
    step = f"{counted(design.slots, 'slot')}, {counted(design.broadcasts, 'broadcast')} an outer step"
    right.set_title(step, fontsize=10, loc="left", color=INK)
    packed = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "dcka", "svg.fonttype": "none"}):
        figure.savefig(packed, format=form, metadata={"Date": None} if form == "svg" else None)
    write_whole(path, packed.getvalue())
    return path


def _draw_graph(figure: Figure, axes: Axes, design: Design, graph_width: float) -> None:
    ids = design.graph.ids
    places = on_circle(len(ids)) if design.kind == "pairs" else by_hops(design.graph.union())
    where = {node: places[index] for index, node in enumerate(ids)}
    if design.kind != "pairs":
        every = {link for phase in design.graph.phases for link in phase}
        _lines(axes, where, sorted(every), LINK, 0.8, 1)
    handles = _draw_messages(axes, design, where)
    size = float(np.clip(9000 / max(1, len(ids)), 40, 420)) * (graph_width / GRAPH_INCHES) ** 2
    charges = np.array([design.costs[node].mah for node in ids])
    drawn = axes.scatter(
        places[:, 0],
        places[:, 1],
        s=size,
        c=charges,
        cmap=CHARGES,
        vmin=0,
        edgecolors=INK,
        linewidths=[2.6 if node == design.root else 0.8 for node in ids],
        zorder=4,
    )
    _name_nodes(axes, design, where, drawn.to_rgba(charges), size)
    bar = figure.colorbar(drawn, ax=axes, location="bottom", shrink=0.7, pad=0.02, aspect=36)
    bar.set_label("modelled charge, mAh a day", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=INK)
    low, high = places.min(axis=0), places.max(axis=0)
    margin = 0.08 * float((high - low).max()) or 1.0
    axes.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin))
    axes.set(aspect="equal", anchor="N", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if handles:
        axes.legend(handles=handles, loc="best", fontsize=8, frameon=False)


def _draw_messages(axes: Axes, design: Design, where: dict[int, Places]) -> list[Line2D]:
    """The tree's links, or each phase's (each slot's) in a colour of its own; what the legend says of them."""
    if design.parents is not None:
        tree = [(node, parent) for node, parent in design.parents.items() if parent]
        _lines(axes, where, tree, INK, 2.2, 2)
        handles = [Line2D([], [], color=INK, linewidth=2.2, label="tree")]
        if len(tree) < len({link for phase in design.graph.phases for link in phase}):
            handles.append(Line2D([], [], color=LINK, linewidth=0.8, label="other links"))
        return handles
    word = "slot" if design.kind == "pairs" else "phase"
    handles = []
    for number, slot in enumerate(design.timetable.slots):
        links = sorted(
            {(min(send.sender, other), max(send.sender, other)) for send in slot for other in send.hearers}
        )
        colour = NODES[number % len(NODES)]
        # Links that serve in several slots show all their colours, one around the other.
        width = 1.4 + 0.8 * min(6, len(design.timetable.slots) - 1 - number)
        _lines(axes, where, links, colour, width, 2 + number / 1000)
        if number < len(NODES):
            handles.append(Line2D([], [], color=colour, linewidth=1.6, label=f"{word} {number}"))
    return handles


def _lines(
    axes: Axes,
    where: dict[int, Places],
    links: list[tuple[int, int]],
    colour: str,
    width: float,
    layer: float,
) -> None:
    ends = [np.array([where[a], where[b]]) for a, b in links]
    axes.add_collection(LineCollection(ends, colors=colour, linewidths=width, zorder=layer))


def _name_nodes(axes: Axes, design: Design, where: dict[int, Places], colours: Places, size: float) -> None:
    if len(where) > NAMED_NODES:
        return
    points = float(np.clip(np.sqrt(size) * 0.5, 4.0, 10.0))
    for (node, (x, y)), colour in zip(where.items(), colours, strict=True):
        dark = float(np.dot(to_rgba(tuple(colour))[:3], (0.299, 0.587, 0.114))) < 0.5
        weight = "bold" if node == design.root else "normal"
        ink = "white" if dark else INK
        axes.text(
            x, y, str(node), fontsize=points, ha="center", va="center", color=ink, weight=weight, zorder=5
        )


def _draw_timetable(axes: Axes, design: Design) -> None:
    order = list(STATES)
    rows = signs(design)
    slots = design.table_slots
    axes.set_xlabel(
        "slot" if design.repeats == 1 else f"slot of one period; {design.repeats} in a step", color=INK
    )
    axes.set_ylabel("node", color=INK)
    if not slots:
        axes.set(xticks=[], yticks=[])
        return
    shown = np.array([[order.index(sign) for sign in row] for row in rows.values()])
    axes.imshow(
        shown,
        cmap=ListedColormap([colour for _, colour in STATES.values()]),
        vmin=0,
        vmax=len(order) - 1,
        aspect="auto",
        interpolation="nearest",
    )
    named = len(rows) <= NAMED_ROWS
    places = np.arange(len(rows)) if named else np.linspace(0, len(rows) - 1, 12).astype(int)
    axes.set_yticks(places, [str(design.graph.ids[place]) for place in places])
    if slots <= 12:
        axes.set_xticks(range(slots))
    axes.set_xticks(np.arange(-0.5, slots), minor=True)
    axes.set_yticks(np.arange(-0.5, len(rows)), minor=True)
    if slots <= 120 and named:
        axes.grid(which="minor", color="#EEEEEE", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.tick_params(labelsize=8, colors=INK)
    used = {sign for row in rows.values() for sign in row}
    handles = [
        Patch(facecolor=colour, edgecolor="#999999", label=label)
        for sign, (label, colour) in STATES.items()
        if sign in used
    ]
    axes.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=5, frameon=False, fontsize=9
    )
