"""Many nodes under CPython at one broker, a run of `tree` in turns with the raw exchange of the same messages."""

import statistics
import time
from typing import Any

from dcka.bench.errors import BenchError
from dcka.bench.live import Live, Ran, Say, Work, emulated, figures_of, spread
from dcka.bench.scale.cases import Case
from dcka.bench.scale.exchange import Recorder, exchange
from dcka.bench.scale.footprint import line, processor_s, resident_kb
from dcka.broker import open_broker
from dcka.emulation.cpython import CPythonNetwork

SEED = 19
"""Of the starts 1 … 24 the one that converges in the fewest steps, 14: the runs are long enough, and bounded."""
READINGS = 4500
PATIENCE_MS = 60_000
"""A thousand nodes share a processor: what one of them has to wait for is all others, not its neighbour's radio."""
LIMIT_S = 300.0


def work(nodes: int, max_steps: int = 100) -> Work:
    """Experiment 1's 4,500 readings dealt to `nodes` nodes of a random geometric graph."""
    run = {"seed": SEED, "patience_ms": PATIENCE_MS, "max_steps": max_steps}
    return spread(nodes, readings=READINGS, run=run)


def measure_emulated(case: Case, nodes: int, repeats: int, say: Say) -> dict[str, Any]:
    """A first run, recorded and not measured; then runs and raw exchanges in turns. Times are medians."""
    task = work(nodes)
    with open_broker(case.engine) as broker, emulated(task, broker.address) as live:
        began = time.monotonic()
        live.give()
        say(f"{case.name}: {nodes} nodes have their readings after {time.monotonic() - began:.1f} s")
        made = task.plan(1)
        parents = {node: int(row["parent"]) for node, row in made.rows.items()}
        with Recorder(broker.address, task.config.network.name) as recorder:
            first = _run(live)
            recording = recorder.recording(parents)
        say(
            f"{case.name}: recorded {recording.counted:,} messages in {first.verdict.figures.get('outer_steps')} steps"
        )
        pid = pid_of(live)
        all_ran, ours, raw = [first], [], []
        for turn in range(repeats):
            before = processor_s(pid)
            all_ran.append(_run(live))
            ours.append((all_ran[-1].outcome.wall_s, processor_s(pid) - before))
            raw.append(exchange(recording, broker.address, f"{task.config.network.name}-{turn}"))
            say(
                f"{case.name}: run {ours[-1][0]:.2f} s, of which {ours[-1][1]:.2f} s computing; "
                f"raw exchange {raw[-1][0]:.2f} s, {raw[-1][1]:.2f} s"
            )
        kb = resident_kb(pid)
    worst = next((ran for ran in all_ran if not ran.identical), all_ran[-1])
    wall, cpu = (statistics.median(column) for column in zip(*ours, strict=True))
    raw_wall, raw_cpu = (statistics.median(column) for column in zip(*raw, strict=True))
    figures = figures_of(worst)
    return {
        **figures,
        "engine": case.engine,
        "wall_s": wall,
        "raw_s": raw_wall,
        "ratio_vs_raw": wall / raw_wall,
        "cpu_s": cpu,
        "raw_cpu_s": raw_cpu,
        "cpu_ratio_vs_raw": cpu / raw_cpu,
        "turns": [{"wall_s": one[0], "raw_s": other[0]} for one, other in zip(ours, raw, strict=True)],
        "slots_per_s": _slots(made.record["depth"], figures["steps"]) / wall if wall else 0.0,
        "messages": recording.counted,
        "depth": made.record["depth"],
        "host_kb_per_node": (kb - empty_kb(case.engine)) / nodes - data_kb(task) / nodes,
    }


def measure_memory(case: Case, sizes: tuple[int, ...], say: Say) -> dict[str, Any]:
    """Resident memory of the nodes' process after a short run, by number of nodes, and the line through it."""
    found: dict[int, float] = {}
    identical, worst = True, None
    wall = 0.0
    for nodes in sizes:
        task = work(nodes, max_steps=4)
        with open_broker(case.engine) as broker, emulated(task, broker.address) as live:
            live.give()
            ran = _run(live)
            found[nodes] = resident_kb(pid_of(live)) - data_kb(task)
        identical &= ran.identical
        worst = ran if worst is None or not ran.identical else worst
        wall += ran.outcome.wall_s
        say(f"{case.name}: {nodes} nodes, {found[nodes] / 1024:.1f} MB")
    slope, base, off = line(found)
    return {
        **({} if worst is None else figures_of(worst)),
        "engine": case.engine,
        "bit_identical": identical,
        "wall_s": wall,
        "slots_per_s": None,
        "ratio_vs_raw": None,
        "host_kb_per_node": slope,
        "resident_kb": {str(nodes): kb for nodes, kb in found.items()},
        "resident_kb_without_nodes": base,
        "off_the_line": off,
    }


def empty_kb(engine: str) -> float:
    """Resident memory of a nodes' process with one node: interpreter and libraries."""
    task = spread(1, readings=9, topology={"kind": "complete"})
    with open_broker(engine) as broker, emulated(task, broker.address) as live:
        live.give()
        return resident_kb(pid_of(live))


def pid_of(live: Live) -> int:
    """Of the process of nodes under CPython. Raises BenchError where it has ended."""
    pid = live.nodes.pid if isinstance(live.nodes, CPythonNetwork) else None
    if pid is None:
        raise BenchError("the process of the nodes under CPython is gone")
    return pid


def data_kb(task: Work) -> float:
    """The readings in the nodes' flash and in their memory, in KB."""
    return sum(2 * len(task.dataset.data_file(node)) for node in task.config.ids) / 1024


def _slots(depth: int, steps: int) -> int:
    """A slot is one level of the tree, up or down."""
    return 2 * depth * steps


def _run(live: Live) -> Ran:
    return live.run(LIMIT_S, ready_s=60)
