"""A stored run as a picture: the SSD of each step, and the way of every centre."""

import io
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dcka.config.state import write_whole
from dcka.history import StoredRun
from dcka.plots.draw import DPI, INK, NODES, POINTS

SIZE = (11.0, 4.8)
"""Inches."""


def draw_stored(run: StoredRun, path: Path) -> Path:
    """Draw it into the PNG file `path`; returns it. Raises StateError where the file cannot be written."""
    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    figure.suptitle(
        f"run {run.name}: {run.kind}, K = {run.k}, {run.nodes} nodes, {run.state}", fontsize=13, color=INK
    )
    left, right = figure.subplots(1, 2)
    _curve(left, run)
    _ways(right, run)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    write_whole(path, picture.getvalue())
    return path


def _curve(axes: Axes, run: StoredRun) -> None:
    known = [(step.step, step.ssd) for step in run.steps if step.ssd is not None]
    axes.plot([step for step, _ in known], [ssd for _, ssd in known], "o-", color=NODES[0], markersize=4)
    for step in run.lost_steps:
        axes.axvspan(step - 0.5, step + 0.5, color=NODES[5], alpha=0.25, linewidth=0)
    axes.set_xlabel("outer step" + ("; shaded: nobody saw it" if run.lost_steps else ""))
    axes.set_ylabel("SSD" if run.in_units else "SSD (of the grid)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _ways(axes: Axes, run: StoredRun) -> None:
    """In the two dimensions in which the final centres lie farthest apart."""
    paths = [step.centres for step in run.steps if step.centres is not None]
    if not paths or run.centroids is None:
        axes.text(0.5, 0.5, "no centres are stored", ha="center", va="center", transform=axes.transAxes)
        return
    spread = np.ptp(run.centroids, axis=0)
    shown = sorted(np.argsort(-spread, kind="stable")[:2].tolist())
    names = run.columns or [f"dimension {place}" for place in range(len(spread))]
    way = np.array(paths)[:, :, shown]
    for cluster in range(way.shape[1]):
        colour = POINTS[cluster % len(POINTS)]
        across = way[:, cluster, 0]
        up = way[:, cluster, 1] if len(shown) > 1 else np.zeros_like(across)
        axes.plot(across, up, "-", color=colour, linewidth=1, alpha=0.7)
        axes.plot(across[-1], up[-1], "o", color=colour, markersize=8, markeredgecolor=INK)
    axes.set_xlabel(names[shown[0]])
    if len(shown) > 1:
        axes.set_ylabel(names[shown[1]])
