"""Twenty MicroPython nodes with 5,000 points each, K = 100, over an encrypted mosquitto."""

from pathlib import Path
from typing import Any

import numpy as np

from dcka.bench.errors import BenchError
from dcka.bench.live import Live, Say, Work, emulated, figures_of, work_on
from dcka.bench.locks import locked_mosquitto
from dcka.bench.scale.cases import Case
from dcka.bench.scale.footprint import resident_kb
from dcka.datasets import birch
from dcka.errors import DckaError
from dcka.inject.dataset import Dataset, from_values
from dcka.inject.errors import DataError
from dcka.runs.controller import OnEvent

K = 100
EACH = 5_000
HEAPS = ("160K", "192K", "224K", "256K", "320K", "512K")
"""Tried from the smallest; the first on which the run ends is told."""
MAX_STEPS = 20
LIMIT_S = 240.0
_BOARDS = "PSRAM: more heap than a board without it has (docs/memory.md); reckoned, no ESP32 has run it"
_STAND_IN = "made: 100 Gaussians on a grid of ten by ten, as Birch1 has them; not Birch1, which is not here"


def measure_birch(case: Case, nodes: int, each: int, folder: Path | None, say: Say) -> dict[str, Any]:
    """One run on the smallest heap of HEAPS that it ends on."""
    dataset, source = _readings(nodes, each, folder)
    run = {"seed": 1, "max_steps": MAX_STEPS, "patience_ms": 10_000}
    task = work_on(dataset, K, run, {"kind": "random", "seed": 2})
    tried: dict[str, str] = {}
    for heap in HEAPS:
        found = _on(case, task, heap, say)
        if isinstance(found, dict):
            return {**found, "readings": source, "needs": _BOARDS, "too_small": tried}
        tried[heap] = found
        say(f"{case.name}: heap {heap}: {found}")
    return {
        "finished": False,
        "bit_identical": False,
        "steps": 0,
        "engine": case.engine,
        "wall_s": 0.0,
        "slots_per_s": 0.0,
        "ratio_vs_raw": None,
        "host_kb_per_node": None,
        "readings": source,
        "too_small": tried,
        "reason": f"no heap up to {HEAPS[-1]} was enough",
    }


def _on(case: Case, task: Work, heap: str, say: Say) -> dict[str, Any] | str:
    """The figures; a sentence where a node ends on this heap."""
    with (
        locked_mosquitto() as doors,
        emulated(task, doors.nodes, doors.host, runtime="micropython", heap=heap) as live,
    ):
        try:
            live.give()
            ran = live.run(LIMIT_S, _alive(live))
        except DckaError as error:
            failures = live.nodes.failures()
            return failures[0].sentence if failures else str(error)
        failures = live.nodes.failures()
        if failures:
            return failures[0].sentence
        pids = [live.nodes.node(node).pid for node in task.config.ids] if hasattr(live.nodes, "node") else []
        kb = [resident_kb(pid) for pid in pids if pid is not None]
    say(f"{case.name}: heap {heap}: {ran.verdict.word}, {ran.outcome.wall_s:.1f} s")
    wall, figures = ran.outcome.wall_s, figures_of(ran)
    return {
        **figures,
        "engine": case.engine,
        "tls": True,
        "wall_s": wall,
        "slots_per_s": 2 * ran.outcome.record["depth"] * figures["steps"] / wall if wall else 0.0,
        "ratio_vs_raw": None,
        "host_kb_per_node": sum(kb) / len(kb) if kb else None,
        "heap_kb": int(heap[:-1]),
        "live_bytes": max((int(one.get("heap", 0)) for one in ran.outcome.results.values()), default=0),
        "points_per_node": task.dataset.rows(task.config.ids[0]),
        "k": K,
    }


def _alive(live: Live) -> OnEvent:
    """Ends the run where a node has: the others would wait for it."""

    def look(event: str, data: dict[str, Any]) -> None:
        if event == "turn" and (failures := live.nodes.failures()):
            raise BenchError(failures[0].sentence)

    return look


def _readings(nodes: int, each: int, folder: Path | None) -> tuple[Dataset, str]:
    """Birch1's points dealt in turn; made ones, and said so, where it is not here."""
    try:
        every, source = birch.load("birch1", folder).astype(np.float64)[: nodes * each * 2], "Birch1"
    except DataError:
        stream = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(1)))
        places = np.array([(x, y) for x in range(10) for y in range(10)], dtype=np.float64)
        every = np.repeat(places, nodes * each // K + 1, axis=0)
        every = every + stream.standard_normal(every.shape) * 0.25
        source = _STAND_IN
    picked = every[np.linspace(0, len(every) - 1, nodes * each).astype(int)]
    dealt = {node: picked[node - 1 :: nodes] for node in range(1, nodes + 1)}
    return from_values("birch1", ("x", "y"), dealt), source
