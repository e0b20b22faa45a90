"""How long a list of many stored runs takes."""

import json
import statistics
import time
from pathlib import Path
from typing import Any

from dcka.bench.live import Say
from dcka.history import open_history, record_outcome
from dcka.history.outcomes import rows_of
from dcka.history.store import Store
from dcka.runs.outcome import Outcome

RUNS = 10_000
A_BATCH = 50
REPEATS = 7
DATASET = "00112233445566aa"


def measure_listing(folder: Path, say: Say) -> dict[str, Any]:
    """`list_10000_ms`: all of 10,000 runs, as `dcka results list --limit 0 --json` has them, ready to be printed;
    `list_page_ms`: the newest 50 of them, the way a page asks. Medians."""
    say(f"{RUNS:,} runs are stored, and listed")
    with open_history(str(folder / "listing.sqlite")) as history:
        record_outcome(history, _outcome(1), _dataset())
        store = Store(history.engine)
        for first in range(2, RUNS + 1, A_BATCH):
            batch = rows_of(_outcome(first), None, None)
            for number in range(first + 1, min(first + A_BATCH, RUNS + 1)):
                batch.add(rows_of(_outcome(number), None, None))
            store.write(batch)
        store.close()

        def listed(limit: int | None) -> int:
            runs = history.summaries(limit=limit)
            json.dumps(runs)
            return len(runs)

        everything, page = [], []
        for _ in range(REPEATS):
            began = time.perf_counter()
            count = listed(None)
            everything.append(1000 * (time.perf_counter() - began))
            began = time.perf_counter()
            listed(50)
            page.append(1000 * (time.perf_counter() - began))
    return {
        "runs": count,
        "list_10000_ms": statistics.median(everything),
        "list_page_ms": statistics.median(page),
    }


def _dataset() -> dict[str, Any]:
    return {
        "v": 1, "dataset": DATASET, "name": "greenhouse", "columns": ["temperature", "humidity"], "n": 2, "bits": 15,
        "offset": ["0.0", "0.0"], "step": "0.01", "extents": [32767, 32767], "constant": [], "nodes": {},
    }  # fmt: skip


def _outcome(number: int) -> Outcome:
    """A run of five nodes, by its record and its nodes' results."""
    members = [1, 2, 3, 4, 5]
    record = {
        "v": 1, "run": number, "kind": "tree", "members": members, "root": 1, "depth": 2, "dataset": DATASET,
        "points": 4500, "n": 2, "bits": 15, "k": 9, "init": "shared", "seed": number, "max_steps": 100,
        "patience_ms": 500,
    }  # fmt: skip
    results = {
        node: {
            "v": 1, "run": number, "node": node, "steps": 14, "converged": True, "ssd": 123_456_789, "flags": 3,
            "missing": [], "sent": 20, "bytes": 900, "heard": 40, "slots": 0, "heap": 60_000, "ms": 15,
        }
        for node in members
    }  # fmt: skip
    started = f"2026-01-{1 + number // 1000:02}T00:00:00+00:00"
    return Outcome(number, "greenhouse", "tree", record, {}, DATASET, started, 0.5, members, True, results)
