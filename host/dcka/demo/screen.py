"""How a demonstration looks while it goes: a live table on a terminal, plain lines anywhere else."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from dcka.check import Verdict
from dcka.demo.play import View
from dcka.demo.report import NAMES
from dcka.inject.dataset import Dataset
from dcka.monitor.live import live
from dcka.monitor.sparkline import ASCII_BLOCKS, BLOCKS, sparkline

WIDTH = 36  # of a panel; two fit side by side into a terminal of 80 columns
REFRESH_HZ = 15


@dataclass
class _Act:
    """One run, as far as it is seen: the SSD of each step, and how it ended."""

    ssd: list[float] = field(default_factory=list)
    costs: str = ""
    word: str = ""


@contextlib.contextmanager
def screen(console: Console, schedules: Sequence[str]) -> Iterator[View]:
    """A view on this console for the time of the block; the last state stays on it."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines(console)
        return
    view = Screen(console, schedules)
    with live(view, console, REFRESH_HZ):
        yield view


def costs(figures: dict[str, Any]) -> str:
    """`110 slots, 552 broadcasts, 61,234 bytes, 0.21 s`; what is not known is left out."""
    words = [
        f"{figures[name]:,} {unit}"
        for name, unit in (("slots", "slots"), ("broadcasts", "broadcasts"), ("payload_bytes", "bytes"))
        if figures[name]
    ]
    return ", ".join([*words, f"{figures['wall_s']:.2f} s"])


class Lines:
    """A line an event, for a log."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._blocks = BLOCKS if console.encoding.startswith("utf") else ASCII_BLOCKS
        self._nodes = 0
        self._acts: dict[str, _Act] = {}

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self._say(text)

    def begin(self, nodes: int, runtime: str) -> None:
        """Broker and nodes are being started."""
        self._nodes = nodes
        self._say(f"starting a broker and {nodes} nodes ({runtime})")

    def online(self, count: int) -> None:
        """So many nodes are online."""
        if count == self._nodes:
            self._say(f"{count} of {count} nodes online")

    def injected(self, readings: int, seconds: float) -> None:
        """All nodes have their readings."""
        self._say(f"{readings:,} readings injected in {seconds:.2f} s")

    def held(self, dataset: Dataset) -> None:
        """What the nodes hold; the readings were told of before."""

    def begun(self, kind: str) -> None:
        """A run begins."""
        self._acts[kind] = _Act()

    def step(self, kind: str, step: int, ssd: float) -> None:
        """A step has ended at every node."""
        self._acts[kind].ssd.append(ssd)
        self._say(f"{kind:<6}  step {step + 1:>3}  SSD {ssd:.7g}")

    def ended(self, kind: str, figures: dict[str, Any], verdict: Verdict) -> None:
        """A run has ended, and was checked."""
        bars = sparkline(self._acts[kind].ssd, WIDTH, self._blocks)
        self._say(f"{NAMES[kind]}: {verdict.word}, {figures['steps']} steps, {costs(figures)}  {bars}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, emoji=False, soft_wrap=True)


class Screen:
    """A table that changes: nodes, readings, and the runs side by side."""

    def __init__(self, console: Console, schedules: Sequence[str]) -> None:
        self._blocks = BLOCKS if console.encoding.startswith("utf") else ASCII_BLOCKS
        self._acts = {kind: _Act() for kind in schedules}
        self._nodes = self._count = 0
        self._runtime = self._readings = ""
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Something worth knowing."""
        self._notes.append(text)

    def begin(self, nodes: int, runtime: str) -> None:
        """Broker and nodes are being started."""
        self._nodes, self._runtime = nodes, runtime

    def online(self, count: int) -> None:
        """So many nodes are online."""
        self._count = count

    def injected(self, readings: int, seconds: float) -> None:
        """All nodes have their readings."""
        self._readings = f"{readings:,} readings injected in {seconds:.2f} s"

    def held(self, dataset: Dataset) -> None:
        """What the nodes hold; the readings were told of before."""

    def begun(self, kind: str) -> None:
        """A run begins."""
        self._acts[kind].word = "running"

    def step(self, kind: str, step: int, ssd: float) -> None:
        """A step has ended at every node."""
        self._acts[kind].ssd.append(ssd)

    def ended(self, kind: str, figures: dict[str, Any], verdict: Verdict) -> None:
        """A run has ended, and was checked."""
        act = self._acts[kind]
        act.costs, act.word = costs(figures), verdict.word

    def __rich__(self) -> RenderableType:
        """The table as it is now."""
        nodes = Text(f"{self._count} of {self._nodes} nodes online ({self._runtime})")
        if self._count == self._nodes:
            nodes.stylize("green")
        parts: list[RenderableType] = [nodes, Text(self._readings)]
        parts.append(Columns([self._panel(kind) for kind in self._acts]))
        return Group(*parts, *(Text(note, style="yellow") for note in self._notes))

    def _panel(self, kind: str) -> Panel:
        act = self._acts[kind]
        styles = {"PASS": "bold green", "FAIL": "bold red"}
        step = f"step {len(act.ssd):>3}   SSD {act.ssd[-1]:.7g}" if act.ssd else ""
        bars = sparkline(act.ssd, WIDTH - 4, self._blocks) if act.ssd else ""
        body = Group(
            Text(step),
            Text(bars, style="cyan"),
            Text(act.costs or " "),
            Text(act.word or "waits", style=styles.get(act.word, "dim")),
        )
        return Panel(body, title=Text(NAMES[kind]), title_align="left", width=WIDTH)
