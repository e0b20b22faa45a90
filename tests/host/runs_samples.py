"""A run of two nodes, made by hand, for tests of what the host makes of a run."""

from typing import Any

from dcka.runs.outcome import Outcome
from dcka_core.messages import CONVERGED, FINAL, Commit
from dcka_core.record import read_run

RECORD: dict[str, Any] = {
    "v": 1,
    "run": 3,
    "kind": "tree",
    "members": [2, 1],
    "root": 2,
    "depth": 2,
    "dataset": "00112233445566aa",
    "points": 7,
    "n": 2,
    "bits": 15,
    "k": 2,
    "init": "local",
    "seed": 1,
    "max_steps": 10,
    "patience_ms": 500,
    "slots": 0,
    "max_slots": 200,
    "window": 0,
    "tolerance": 0,
}


def commit(sender: int, *, step: int = 4, flags: int = FINAL | CONVERGED, record: Any = None) -> bytes:
    """A commit of the run, as the node `sender` publishes it."""
    made = Commit()
    made.sender, made.boot, made.step, made.flags = sender, 1, step, flags
    made.epoch, made.contributors, made.missing = (0, 2, 0), 3, 0
    made.centres, made.counts, made.ssd = [1, 2, 30, 40], [3, 4], 99
    return bytes(made.encode(read_run(record or RECORD)))


def result(node: int) -> dict[str, Any]:
    """The result of a node."""
    return {
        "v": 1, "run": 3, "node": node, "steps": 4, "converged": True, "ssd": 99, "missing": [], "flags": 3,
        "sent": 8, "bytes": 320, "heard": 8, "slots": 0, "ms": 12, "heap": 60_000,
    }  # fmt: skip


def outcome(**changes: Any) -> Outcome:
    """A finished run, with `changes`."""
    values: dict[str, Any] = {
        "run": 3,
        "network": "lab",
        "kind": "tree",
        "record": RECORD,
        "rows": {1: {"v": 1, "run": 3, "parent": 2, "children": [], "near": [2]}},
        "dataset": RECORD["dataset"],
        "started": "2024-01-01T00:00:00+00:00",
        "wall_s": 0.25,
        "members": [2, 1],
        "finished": True,
        "results": {1: result(1), 2: result(2)},
        "commits": {1: commit(1).hex(), 2: commit(2).hex()},
        "steps": {2: [{"v": 1, "run": 3, "node": 2, "step": 0, "ssd": 120, "flags": 0}]},
        "statuses": {1: {"v": 1, "node": 1, "state": "done"}},
    }
    return Outcome(**(values | changes))
