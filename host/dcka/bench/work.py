"""The benchmark's jobs, on as many processors as there are: each is by itself, and its outcome is plain JSON.

`python -m dcka.bench.work FILE` is a helper process: the file holds jobs, a JSON object a line, and the outcome of the
n-th goes into FILE.n, after which n is printed.
"""

import json
import os
import queue
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dcka.bench import ulb
from dcka.bench.errors import Absent, BenchError
from dcka.bench.methods import Bench, measure
from dcka.bench.pinned import instance
from dcka.bench.scaling import growth, loss
from dcka.bench.summary import figures
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

FEW = 6
"""Jobs for which no helpers are started."""
MOST_PROCESSES = 8

Say = Callable[[str], None]
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """`part`: a case, "growth" or "loss". `seed`: of the graph; `nodes`: of growth and loss; `folder`: of ulb's
    files."""

    part: str
    seed: int = 0
    nodes: int = 0
    folder: str | None = None

    def __str__(self) -> str:
        nodes = f", {self.nodes} nodes" if self.nodes else ""
        return f"{self.part}{nodes}{f', graph {self.seed}' if self.seed else ''}"


def perform(job: Job) -> Outcome:
    """The record of growth or loss; of a case `about` and `methods`, or `absent` with a sentence where data are
    missing. Raises BenchError for a run that does not end."""
    if job.part == "growth":
        return growth(job.nodes).record()
    if job.part == "loss":
        return loss(job.nodes, job.seed).record()
    try:
        folder = None if job.folder is None else Path(job.folder)
        made, lost = ulb.load(folder) if job.part == "ulb" else (instance(job.part, job.seed), None)
    except Absent as error:
        return {"absent": str(error)}
    bench = Bench.of(made, lost)
    about = {"nodes": len(made.ids), "k": made.k, "readings": made.dataset.size, "outer_steps": bench.steps}
    return {"about": about, "methods": figures(measure(bench))}


def perform_all(jobs: Sequence[Job], say: Say, processes: int | None = None) -> dict[Job, Outcome]:
    """The outcome of each job; `say` is told when one is done. `processes`: None for one a processor; few jobs are
    done by this process alone.

    Raises BenchError as `perform` does, and where a helper ends before its work.
    """
    if processes is None:
        processes = 1 if len(jobs) <= FEW else min(os.cpu_count() or 1, MOST_PROCESSES)
    shares = [list(jobs[first::processes]) for first in range(processes)]
    found: dict[Job, Outcome] = {}
    with scratch_folder("bench") as folder, ProcessGroup() as group:
        helpers = [_Helper(group, share, folder / str(number)) for number, share in enumerate(shares[1:])]

        def done(job: Job, outcome: Outcome) -> None:
            found[job] = outcome
            say(f"{job} ({len(found)} of {len(jobs)})")

        for job in shares[0]:
            done(job, perform(job))
            for helper in helpers:
                helper.collect(done)
        for helper in helpers:
            helper.finish(done)
    return found


class _Helper:
    """A process that works on `jobs`; its files begin with `path`."""

    def __init__(self, group: ProcessGroup, jobs: Sequence[Job], path: Path) -> None:
        self._jobs = jobs
        self._path = path
        self._left = len(jobs)
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        path.write_text("".join(json.dumps(asdict(job)) + "\n" for job in jobs), encoding="utf-8")
        # -P: what lies in the current folder is not imported.
        command: list[str | Path] = [sys.executable, "-P", "-m", "dcka.bench.work", path]
        self._child: Child = group.start(command, name="bench helper", on_line=self._lines.put)

    def collect(self, done: Callable[[Job, Outcome], None]) -> None:
        """Take what has been finished."""
        while not self._lines.empty():
            self._take(self._lines.get(), done)

    def finish(self, done: Callable[[Job, Outcome], None]) -> None:
        """Wait for the rest. Raises BenchError where the helper ends before."""
        while self._left:
            try:
                self._take(self._lines.get(timeout=0.2), done)
            except queue.Empty:
                if self._child.poll() is not None and self._lines.empty():
                    said = self._child.lines() or ["nothing said"]
                    raise BenchError(f"a helper of the benchmark ended before its work: {said[-1]}") from None

    def _take(self, line: str, done: Callable[[Job, Outcome], None]) -> None:
        # What is no number is a helper's complaint; its end will tell.
        if line.isdigit():
            self._left -= 1
            place = self._path.with_name(f"{self._path.name}.{line}")
            done(self._jobs[int(line)], json.loads(place.read_text(encoding="utf-8")))


def _help(path: Path) -> None:
    jobs = [Job(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, job in enumerate(jobs):
        path.with_name(f"{path.name}.{number}").write_text(json.dumps(perform(job)), encoding="utf-8")
        print(number, flush=True)


if __name__ == "__main__":
    _help(Path(sys.argv[1]))
