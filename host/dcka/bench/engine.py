"""The engine beside scikit-learn's KMeans: the same start, to the end, measured in turn in one process of its own.

What is set in the environment for OpenBLAS (`OPENBLAS_CORETYPE`, `OPENBLAS_L2_SIZE`) can slow scikit-learn, so the
measuring process runs without it, and the record says which of OpenBLAS's kernels it took.
"""

import json
import os
import queue
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from dcka.bench.errors import BenchError, BenchUsageError
from dcka.processes import ProcessGroup

CASES = ("birch1", "gaussians", "d16")
THREADS = (1, 2)
AIMS = {
    "1_thread": {"birch1": 5.0, "gaussians": 2.0, "d16": 1.3},
    "2_threads": {"birch1": 4.0, "gaussians": 1.5, "d16": 1.3},
}
"""Of scikit-learn's better time over ours."""
LEFT_OUT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

Record = dict[str, Any]
Say = Callable[[str], None]


def engine(
    cases: Collection[str] = CASES, folder: Path | None = None, say: Say = lambda text: None
) -> Record:
    """Measure `cases` (of CASES); `folder`: where Birch1 is, if not in the usual places.

    `cases`: by case and number of threads. `skipped`: by case, why. `ok`: everywhere the reference's labels, and
    its SSD to 1e-12. Raises BenchUsageError for no such case, BenchError where the measuring process fails.
    """
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        raise BenchUsageError(f"there is no case {unknown[0]!r}; the cases are {', '.join(CASES)}")
    begun = time.monotonic()
    record: Record = {
        "cases": {},
        "skipped": {},
        "left_out_of_environment": [n for n in LEFT_OUT if n in os.environ],
    }
    for found in _measured([case for case in CASES if case in cases], folder, say):
        if "case" not in found:
            record |= found
        elif "absent" in found:
            record["skipped"][found["case"]] = found["absent"]
        else:
            record["cases"].setdefault(found.pop("case"), {})[found.pop("threads")] = found
    record["aims"] = AIMS
    record["ok"] = all(
        row["labels_equal"] and row["ssd_rel_diff"] <= 1e-12
        for case in record["cases"].values()
        for row in case.values()
    )
    record["seconds"] = round(time.monotonic() - begun, 1)
    return record


def _measured(cases: Collection[str], folder: Path | None, say: Say) -> list[Record]:
    """What the measuring process says, line by line."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    environment = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    command = [
        sys.executable,
        "-P",
        "-m",
        "dcka.bench.engine_measure",
        json.dumps(list(cases)),
        str(folder or ""),
    ]
    found: list[Record] = []
    with ProcessGroup() as group:
        child = group.start(command, name="engine bench", env=environment, on_line=lines.put)
        while True:
            try:
                line = lines.get(timeout=0.2)
            except queue.Empty:
                if child.poll() is None:
                    continue
                child.lines()  # waits for the rest of its output
                if lines.empty():
                    break
                continue
            if line.startswith("{"):
                found.append(json.loads(line))
                say(_heard(found[-1]))
        if child.poll():
            said = child.lines() or ["nothing said"]
            raise BenchError(f"the measuring process ended with code {child.poll()}: {said[-1]}")
    return found


def _heard(found: Mapping[str, Any]) -> str:
    if "absent" in found:
        return f"{found['case']} left out: {found['absent']}"
    if "case" in found:
        return f"{found['case']}, {found['threads']}: {found['ratio']:.2f} times scikit-learn"
    return f"compiled: the first calls took {found['first_calls_s']:.1f} s"


def text(record: Mapping[str, Any]) -> str:
    """The record as a table for a terminal."""
    lines = [f"{'':<12}{'threads':>8}{'ours':>11}{'lloyd':>11}{'elkan':>11}{'steps':>7}{'ratio':>8}   aim"]
    for name, case in record["cases"].items():
        for threads, row in case.items():
            aim = AIMS[threads][name]
            times = "".join(f"{row['seconds'][who] * 1000:>8.2f} ms" for who in ("ours", "lloyd", "elkan"))
            same = "" if row["labels_equal"] else "   LABELS DIFFER from the reference"
            met = "met" if row["ratio"] >= aim else "missed"
            lines.append(
                f"{name:<12}{threads[0]:>8}{times}{row['steps']:>7}{row['ratio']:>8.2f}   {aim:g}: {met}{same}"
            )
    kernels = ", ".join(sorted({f"{one['library']} ({one['kernel']})" for one in record["kernels"]}))
    lines.append(f"scikit-learn ran on {kernels}; ours is compiled for {record['compiled_for']}")
    lines.append(
        f"first calls: {record['first_calls_s']:.1f} s, {record['from_cache']} kernels from numba's cache; not counted"
    )
    return "\n".join(lines)
