"""The state of a network as a table on a terminal. All that came over the network is text, never markup."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dcka.monitor.events import clean, counts
from dcka.monitor.progress import WITHOUT_SSD
from dcka.monitor.run_lines import run_lines
from dcka.monitor.sparkline import sparkline
from dcka.monitor.state import NetworkState, NodeView
from dcka.monitor.status_words import LONG_MS, held_words
from dcka.monitor.stories import Stories
from dcka.mqtt.readiness import named
from dcka.mqtt.statuses import ASLEEP

SHOWN_EVENTS = 8
SHOWN_NODES = 40
WIDTH = 60
STYLES = {
    "ready": "green",
    "running": "cyan",
    "asleep": "blue",
    "done": "bold green",
    "offline": "bold red",
    "silent": "yellow",
}


class StateTable:
    """Renders the state anew each time that rich asks for it. `broker`: its URL. `stories`: what is told of the run
    beside; its `guard` is held where they change. `verdicts`: of checked runs, by number."""

    def __init__(
        self,
        state: NetworkState,
        broker: str,
        stories: Stories | None = None,
        guard: AbstractContextManager[Any] | None = None,
        verdicts: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        self._state = state
        self._broker = broker
        self._stories = stories
        self._guard = guard or nullcontext()
        self._verdicts = {} if verdicts is None else verdicts

    def __rich__(self) -> RenderableType:
        """Head, nodes, run, last events."""
        now = time.monotonic()
        with self._guard:
            return Group(self._head(now), self._nodes(now), *self._run(), *self._story(), *self._events())

    def _story(self) -> list[Text]:
        story = None if self._stories is None else self._stories.current
        if story is None or story.number != self._state.run.number:
            return []
        return run_lines(story, self._verdicts.get(story.number))

    def _head(self, now: float) -> Text:
        state = self._state
        online = sum(
            view.state(now) in ("ready", "running", "done", "asleep") for view in state.nodes.values()
        )
        head = Text(f"network {state.network} at {self._broker}: {online} of ")
        head.append(f"{max(len(state.members), len(state.nodes))} nodes online")
        if not state.broker:
            head.append(f"   the broker is away since {ago(now - state.broker_at)}", style="bold red")
        return head

    def _nodes(self, now: float) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("node", "state", "run", "step", "rows", "heap", "heard", "dropped", "remarks"):
            table.add_column(
                name, justify="right" if name in ("node", "run", "step", "rows", "heap") else "left"
            )
        known = [*self._state.members, *sorted(set(self._state.nodes) - set(self._state.members))]
        for node in known[:SHOWN_NODES]:
            view = self._state.nodes.get(node)
            if view is None:
                table.add_row(str(node), Text("not seen", style="dim"))
            else:
                table.add_row(*_row(node, view, now, node in self._state.members))
        if len(known) > SHOWN_NODES:
            table.add_row("…", Text(f"and {len(known) - SHOWN_NODES} more", style="dim"))
        return table

    def _run(self) -> list[RenderableType]:
        run = self._state.run
        if not run.number:
            return [Text("no run is known", style="dim")]
        lines: list[RenderableType] = [Text(run.title(), style="bold")]
        if run.kind in WITHOUT_SSD:
            lines.append(Text(f"  step {run.step}"))
        elif run.ssd:
            values = [run.ssd[step] for step in sorted(run.ssd)]
            unit = " (grid)" if not run.in_units else "" if run.scale == "one" else " (in widths)"
            lines.append(Text(f"  step {run.step}, SSD {values[-1]:.7g}{unit}  {sparkline(values, WIDTH)}"))
        if run.epoch:
            lines.append(
                Text(f"  root: node {run.root}, since epoch {run.epoch} (scheduled: node {run.scheduled})")
            )
        if run.missing:
            lines.append(Text(f"  without {clean(named(run.missing))} in all steps or some", style="yellow"))
        if run.done:
            lines.append(Text(f"  {len(run.done)} of {len(run.members)} nodes have given their result"))
        return lines

    def _events(self) -> list[RenderableType]:
        last = list(self._state.events)[-SHOWN_EVENTS:]
        return [Text(event.line(), style="red" if event.bad else "dim", no_wrap=True) for event in last]


def _row(node: int, view: NodeView, now: float, member: bool) -> list[Text]:
    figures = view.figures
    state = view.state(now)
    return [
        Text(str(node)),
        Text(state + _until(view, state, now), style=STYLES.get(state, "")),
        Text(str(figures.run or "")),
        Text(str(figures.step or "")),
        Text(f"{figures.rows:,}" if figures.rows else ""),
        Text(_kilobytes(figures.heap, figures.free)),
        Text(_heard(view, now), style="dim" if view.live_at is None else ""),
        Text(counts(figures.dropped, 40)),
        Text(_remarks(view, now, member), style="yellow"),
    ]


def _until(view: NodeView, state: str, now: float) -> str:
    """Of a deep sleeper: when it will be back. How old a retained word is, nobody knows."""
    until_ms = view.status.until_ms
    if state != ASLEEP or until_ms < LONG_MS or view.live_at is None:
        return ""
    left_s = max(0.0, until_ms / 1000 - view.age(now))
    return f", {left_s / 60:.0f} min left"


def _kilobytes(heap: int, free: int) -> str:
    """Live heap, of all that there is."""
    if not heap:
        return ""
    return f"{heap / 1024:.0f} of {(heap + free) / 1024:.0f} KB" if free else f"{heap / 1024:.0f} KB"


def _heard(view: NodeView, now: float) -> str:
    """When it last spoke. What is retained may be of any age: only how long we know it is certain."""
    if view.live_at is None:
        return f"retained, over {ago(view.age(now))}"
    return f"{ago(view.age(now))} ago"


def _remarks(view: NodeView, now: float, member: bool) -> str:
    status = view.status
    words = []
    if not status.online:
        words.append(
            "before we looked" if view.offline_at is None else f"gone {ago(now - view.offline_at)} ago"
        )
    if not member:
        words.append("not in the network file")
    if status.twin:
        words.append("there twice")
    if status.stalled:
        words.append("stalled")
    if status.quarantined:
        words.append(f"quarantine: {held_words(status)}")
    if status.waiting:
        words.append(f"waits for {', '.join(map(str, status.waiting[:8]))}")
    if status.problem:
        words.append(clean(status.problem, 50))
    return ", ".join(words)


def ago(seconds: float) -> str:
    """`3 s`, `4 min`, `2 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
