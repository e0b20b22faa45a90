"""Run after run on one network, with faults drawn from a seed; and whether anything leaks: memory, files, threads."""

import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcka.bench.errors import Absent, BenchUsageError
from dcka.bench.faults.fault import Scene, Settings
from dcka.bench.faults.stages import plain
from dcka.bench.live import Say
from dcka.bench.proxy import DOWN, UP
from dcka.bench.scale.footprint import resident_kb
from dcka.emulation.cpython import CPythonNetwork
from dcka.errors import DckaError

LIMIT_S = 90.0
WARM_RUNS = 3
"""Before what is open is counted for the first time: caches fill."""
MOST_GROWTH = 0.15
MOST_KB = 6 * 1024
"""So much more memory may be resident in the last third of the runs than in the first, of each process: either."""
MOST_FILES = 8
"""Sockets that are just closing come and go."""
MOST_THREADS = 2


@dataclass(frozen=True)
class Sample:
    """Of one process: resident KB, open files, threads."""

    kb: float
    files: int
    threads: int


def sample(pid: int) -> Sample:
    """What a process has. Raises Absent where this system does not say."""
    folder = Path(f"/proc/{pid}")
    try:
        files = len(list((folder / "fd").iterdir()))
        threads = len(list((folder / "task").iterdir()))
    except OSError:
        raise Absent("open files and threads are read from /proc, which only Linux has") from None
    return Sample(resident_kb(pid), files, threads)


def soak(seconds: float, settings: Settings, say: Say) -> dict[str, Any]:
    """Runs until `seconds` have passed, two of three with a fault.

    `runs`, `whole`, `partial`, `without_result`, `results_wrong`, `nodes_lost`, `faults` (how often each), `processes`
    (of host, nodes, broker: the medians of the first and the last third of the runs), `leaks` (sentences), `seed`,
    `ok`. Raises BenchUsageError.
    """
    if seconds <= 0:
        raise BenchUsageError(f"--seconds {seconds:g}: a soak takes longer than that")
    chance = random.Random(settings.seed)
    say(f"soak of {seconds:g} s, seed {settings.seed}")
    with plain(settings, say) as scene:
        scene.live.give()
        course = _Course(scene, chance)
        until = time.monotonic() + seconds
        while time.monotonic() < until or course.runs < 2 * WARM_RUNS:
            course.once()
        return {"seconds": seconds, "seed": settings.seed, **course.record()}


class _Course:
    """The runs so far."""

    def __init__(self, scene: Scene, chance: random.Random) -> None:
        self._scene = scene
        self._chance = chance
        self._samples: dict[str, list[Sample]] = {"host": [], "nodes": [], "broker": []}
        self._counts = {"whole": 0, "partial": 0, "without_result": 0}
        self._played: dict[str, int] = {}
        self._wrong: list[str] = []
        self._lost = 0
        self.runs = 0

    def once(self) -> None:
        """A run, and perhaps a fault in it."""
        fault = self._chance.choice([*FAULTS, *[""] * (len(FAULTS) // 2)])
        at_step = self._chance.randrange(1, 6)
        begun = time.monotonic()
        done = not fault

        def on_event(event: str, data: dict[str, Any]) -> None:
            nonlocal done
            if not done and event == "step" and data["step"] >= at_step:
                done = True
                self._played[fault] = self._played.get(fault, 0) + 1
                FAULTS[fault](self._scene, self._chance)
            self._scene.turn()

        self.runs += 1
        word = "without_result"
        try:
            ran = self._scene.live.run(LIMIT_S, on_event, ready_s=30.0)
        except DckaError as error:
            self._scene.say(f"run {self.runs}: {error}")
        else:
            if ran.outcome.finished:
                word = "whole" if ran.identical else "partial"
            if ran.wrong:
                self._wrong.append(f"run {self._scene.live.number}: {ran.verdict.reasons[0]}")
        finally:
            self._scene.finish()
        self._counts[word] += 1
        self._lost += self._scene.live.lost()
        self._look()
        self._scene.say(f"run {self.runs}: {fault or 'no fault'}: {word}, {time.monotonic() - begun:.1f} s")

    def _look(self) -> None:
        nodes, broker = self._scene.live.nodes, self._scene.things["broker"]
        pids = {"host": os.getpid(), "broker": broker.pid}
        pids["nodes"] = nodes.pid if isinstance(nodes, CPythonNetwork) else None
        for name, pid in pids.items():
            if pid is not None and self.runs > WARM_RUNS:
                self._samples[name].append(sample(pid))

    def record(self) -> dict[str, Any]:
        """What came of it."""
        processes, leaks = {}, []
        for name, samples in self._samples.items():
            third = max(1, len(samples) // 3)
            first, last = _median(samples[:third]), _median(samples[-third:])
            processes[name] = {"first": vars(first), "last": vars(last)}
            leaks += _leaks(name, first, last)
        return {
            "runs": self.runs,
            **self._counts,
            "faults": dict(sorted(self._played.items())),
            "results_wrong": len(self._wrong),
            "wrong": self._wrong,
            "nodes_lost": self._lost,
            "processes": processes,
            "leaks": leaks,
            "ok": not self._wrong and not self._lost and not leaks and self._counts["whole"] > 0,
        }


def _median(samples: list[Sample]) -> Sample:
    if not samples:
        return Sample(0.0, 0, 0)
    return Sample(
        statistics.median(one.kb for one in samples),
        int(statistics.median(one.files for one in samples)),
        int(statistics.median(one.threads for one in samples)),
    )


def _leaks(name: str, first: Sample, last: Sample) -> list[str]:
    found = []
    if last.kb - first.kb > max(MOST_KB, MOST_GROWTH * first.kb):
        found.append(f"{name}: resident memory went from {first.kb / 1024:.1f} to {last.kb / 1024:.1f} MB")
    if last.files - first.files > MOST_FILES:
        found.append(f"{name}: open files went from {first.files} to {last.files}")
    if last.threads - first.threads > MOST_THREADS:
        found.append(f"{name}: threads went from {first.threads} to {last.threads}")
    return found


def _restart(scene: Scene, chance: random.Random) -> None:
    scene.things["broker"].restart()


def _freeze(scene: Scene, chance: random.Random) -> None:
    pid = scene.things["broker"].pid
    os.kill(pid, signal.SIGSTOP)
    scene.later(chance.uniform(0.5, 3.0), lambda: os.kill(pid, signal.SIGCONT))


def _cut(scene: Scene, chance: random.Random) -> None:
    share = chance.uniform(0.05, 1.0)
    for second in range(chance.randrange(1, 4)):
        scene.later(second, lambda: scene.things["proxy"].cut(share))


def _half_open(scene: Scene, chance: random.Random) -> None:
    scene.things["proxy"].half_open(*chance.choice(((UP,), (DOWN,), (UP, DOWN))))


def _silent(scene: Scene, chance: random.Random) -> None:
    scene.things["proxy"].silence(True)
    scene.later(chance.uniform(0.5, 3.0), lambda: scene.things["proxy"].silence(False))


def _power_cut(scene: Scene, chance: random.Random) -> None:
    node = chance.choice(scene.live.work.config.ids)
    scene.live.nodes.kill(node)
    scene.later(chance.uniform(0.1, 2.0), lambda: scene.live.nodes.restart(node))


FAULTS: dict[str, Callable[[Scene, random.Random], None]] = {
    "broker_restart": _restart,
    "broker_paused": _freeze,
    "connections_cut": _cut,
    "half_open": _half_open,
    "silent_server": _silent,
    "power_cut": _power_cut,
}


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"{record['runs']} runs: {record['whole']} whole, {record['partial']} partial, "
        f"{record['without_result']} without a result, {record['results_wrong']} wrong; {record['nodes_lost']} nodes "
        f"lost; seed {record['seed']}",
        "faults: " + ", ".join(f"{name} {count}" for name, count in record["faults"].items()),
    ]
    for name, found in record["processes"].items():
        first, last = found["first"], found["last"]
        lines.append(
            f"{name}: {first['kb'] / 1024:.1f} → {last['kb'] / 1024:.1f} MB, {first['files']} → {last['files']} open "
            f"files, {first['threads']} → {last['threads']} threads"
        )
    return "\n".join(
        [*lines, *record["wrong"], *record["leaks"], "nothing wrong" if record["ok"] else "FAIL"]
    )
