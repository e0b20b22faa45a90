"""What is to be drawn, before anything is: two axes, few enough points, a group and a colour for each."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.check import Verdict
from dcka.inject.dataset import Dataset

MOST_POINTS = 6000
"""Points that are drawn, shared evenly among the groups: beyond it a cloud only becomes a blot, and the file large;
and a few rare points must not vanish behind many."""

MOST_GROUPS = 9
"""As many colours as the palette tells apart: with more labels than that, points are coloured by node."""

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture of the same readings. `title`, `caption`: above it. `passed`: the verdict.

    `centres`: each node's, (K, n), and `reference`, (K, n) or None; in the user's units.
    """

    title: str
    caption: str
    passed: bool
    centres: Mapping[int, Table]
    reference: Table | None


@dataclass(frozen=True, eq=False)
class Scene:
    """`axes`: the two dimensions drawn (one, where there is only one). `labels`: their names with units.

    `groups`: for each group of points its name and those of its readings (m, n) that are drawn; `by`: what
    groups them: "node", then in the nodes' order, or "label", then the largest group first. `low`, `high`: the
    least and the greatest reading of each axis; the grid's ends where some were clipped. `shown`, `size`: points
    drawn, of all. `dimensions`: n. `scaled`: whether the axes have units that are not compared. `outside`: readings
    beyond the grid.
    """

    axes: tuple[int, ...]
    labels: tuple[str, ...]
    groups: list[tuple[str, Table]]
    by: str
    low: Table
    high: Table
    shown: int
    size: int
    dimensions: int
    scaled: bool = False
    outside: int = 0


def panel(verdict: Verdict, title: str) -> Panel:
    """The panel of a run that was checked: its SSD and its verdict below the title."""
    ssd = verdict.figures.get("ssd")
    words = [f"SSD {ssd:.6g}"] if isinstance(ssd, float) else []
    error = verdict.figures.get("max_error")
    if verdict.figures.get("bit_identical") is True:
        words.append("every node bit for bit the reference")
    elif isinstance(error, float):
        words.append(f"largest error {error:.1g} of {verdict.figures['tolerance']:.1g} allowed")
    return Panel(title, ", ".join([*words, verdict.word]), verdict.passed, verdict.centres, verdict.reference)


def scene(dataset: Dataset, units: Mapping[str, str] | None = None) -> Scene:
    """Choose the axes (the two dimensions of largest spread, in their order), group the points (by label where there
    are labels, and few enough; by node otherwise), and thin each group out evenly."""
    every = np.concatenate(list(dataset.values.values()))
    spread = _spread(dataset.grid.scaled(every))
    axes = tuple(sorted(int(j) for j in np.argsort(-spread, kind="stable")[:2]))
    by, groups = _groups(dataset, every)
    most = max(1, MOST_POINTS // max(1, len(groups)))
    drawn = [(name, own[:: max(1, -(-len(own) // most))]) for name, own in groups]
    seen = every if len(every) else np.zeros((1, len(dataset.columns)))
    outside = sum(dataset.clipped)
    if outside:
        seen = np.clip(seen, *dataset.grid.to_units([[0] * len(dataset.columns), dataset.grid.extents]))
    return Scene(
        axes=axes,
        labels=tuple(_named(dataset.columns[j], units or {}) for j in axes),
        groups=drawn if by == "node" else sorted(drawn, key=lambda group: -len(group[1])),
        by=by,
        low=seen.min(axis=0)[list(axes)],
        high=seen.max(axis=0)[list(axes)],
        shown=sum(len(own) for _, own in drawn),
        size=len(every),
        dimensions=len(dataset.columns),
        scaled=dataset.grid.scale != "one",
        outside=outside,
    )


def _spread(every: Table) -> Table:
    return np.asarray(every.std(axis=0) if len(every) else np.zeros(every.shape[1]))


def _groups(dataset: Dataset, every: Table) -> tuple[str, list[tuple[str, Table]]]:
    if dataset.labels is not None:
        labels = np.concatenate(list(dataset.labels.values()))
        names = sorted(set(labels.tolist()))
        if 1 < len(names) <= MOST_GROUPS:
            return "label", [(name, every[labels == name]) for name in names]
    return "node", [(f"node {node}", own) for node, own in dataset.values.items()]


def _named(column: str, units: Mapping[str, str]) -> str:
    return f"{column} ({units[column]})" if column in units else column
