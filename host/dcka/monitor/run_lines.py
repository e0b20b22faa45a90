"""A run's story for a terminal: clusters, how far the nodes are apart, what it has cost. Text, never markup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from dcka.energy import BATTERY_MAH
from dcka.monitor.events import clean
from dcka.monitor.sparkline import sparkline
from dcka.monitor.story import Story

Json = dict[str, Any]

SHOWN_CLUSTERS = 12
SHOWN_COLUMNS = 6
SPARK_WIDTH = 60
_NAME_WIDTH = 10


@dataclass(frozen=True)
class Grid:
    """What the levels of a run mean: `columns` names, `offset` and `steps` floats in the user's units."""

    columns: Sequence[str]
    offset: Sequence[float]
    steps: Sequence[float]

    @classmethod
    def of(cls, record: Json | None, n: int) -> "Grid":
        """Levels as they are, where the data set is not known."""
        if record is None:
            return cls([f"x{j + 1}" for j in range(n)], [0.0] * n, [1.0] * n)
        return cls(record["columns"], record["offset"], record["steps"])

    def value(self, level: int, j: int) -> float:
        """In the user's units."""
        return self.offset[j] + self.steps[j] * level


def run_lines(story: Story, verdict: Mapping[str, Any] | None = None) -> list[Text]:
    """Of a clustering; nothing of the other kinds of run, whose numbers are no clusters."""
    if story.centres is None:
        return []
    return [*_agreement(story), *_clusters(story), *_cost(story), *_verdict(verdict)]


def _agreement(story: Story) -> list[Text]:
    """gossip: how far apart the nodes are, window by window, and how many still move."""
    lines = []
    if story.spreads is not None and (steps := list(story.spreads.steps())):
        windows = story.spreads.of_step(steps[-1])
        values = [value for _, value in windows]
        words = f"  step {steps[-1]}: nodes differ by {values[-1]:.3g} levels"
        rate = story.part("run") or {}
        if rate.get("rate"):
            words += f" (predicted: × {rate['rate']:.3g} a slot)"
        lines.append(Text(f"{words}  {sparkline(values, SPARK_WIDTH)}"))
    moved = [
        part["moved"]
        for step in sorted(story.progress.ssd)
        if (part := story.part(f"step/{step}")) and part["moved"] is not None
    ]
    if moved:
        lines.append(Text(f"  {moved[-1]} of {len(story.run.members)} nodes' centres moved in the last step"))
    return lines


def _clusters(story: Story) -> list[Text]:
    """The newest centres that anybody has told of, with their sizes."""
    if story.centres is None or not story.centres.steps:
        return []
    newest = max(story.centres.steps)
    kept = story.centres.steps[newest]
    run, grid = story.run, Grid.of(story.grid, story.run.n)
    shown = min(run.n, SHOWN_COLUMNS)
    names = [clean(name, _NAME_WIDTH) for name in grid.columns[:shown]]
    more = [] if run.n == shown else [f"+{run.n - shown}"]
    head = ["cluster", "points", *names, *more]
    rows = []
    for k in range(min(run.k, SHOWN_CLUSTERS)):
        levels = kept.sets[0][k * run.n : k * run.n + shown]
        size = "" if kept.counts is None else f"{kept.counts[k]:,}"
        rows.append([str(k), size, *(f"{grid.value(level, j):.5g}" for j, level in enumerate(levels))])
    widths = [
        max(len(row[at]) for row in [head, *rows] if at < len(row)) for at in range(len(head) - len(more))
    ]
    lines = [
        Text("  " + "  ".join(cell.rjust(width) for cell, width in zip(head, widths, strict=False)), "dim")
    ]
    lines += [
        Text("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)))
        for row in rows
    ]
    if run.k > SHOWN_CLUSTERS:
        lines.append(Text(f"  … and {run.k - SHOWN_CLUSTERS} more", style="dim"))
    if len(kept.sets) > 1:
        lines.append(
            Text(
                f"  node {min(kept.of)}'s; {len(kept.sets)} different sets among {len(kept.of)} nodes", "dim"
            )
        )
    return lines


def _cost(story: Story) -> list[Text]:
    """What the nodes have said that the run took."""
    results = [part for name in story.parts if name.startswith("result/") and (part := story.part(name))]
    if not results:
        return []
    sent, octets = (sum(one[name] for one in results) for name in ("sent", "bytes"))
    words = f"  {sent:,} broadcasts, {octets:,} bytes from {len(results)} nodes"
    days = [one["battery_days"] for one in results if one.get("battery_days")]
    if days:
        words += f"; modelled: {min(days):.3g} days of {BATTERY_MAH:,.0f} mAh at the worst node"
    return [Text(words, style="dim")]


def _verdict(verdict: Mapping[str, Any] | None) -> list[Text]:
    """What the check has come to; the first reason names the first difference."""
    if not verdict:
        return []
    word = str(verdict["verdict"])
    reasons = [clean(reason, 160) for reason in verdict.get("reasons", ())]
    text = f"  {word}" + (f": {reasons[0]}" if reasons else "")
    return [Text(text, style="bold green" if word == "PASS" else "bold red")]
