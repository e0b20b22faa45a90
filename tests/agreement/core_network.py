"""The firmware's core as a network in memory, and what its nodes say of a run: what the reference is held against.

`CoreNetwork` drives the nodes of `tests/core/bus.py` as the host does: rows, then the run record, then to the end.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bus import Bus, make_points
from numpy.typing import NDArray

from dcka.reference import bits_for
from dcka.topology import Graph, schedule
from dcka_core.actions import SAVE
from dcka_core.messages import Commit, read_commit
from dcka_core.record import Run, read_run
from dcka_core.session import COMMIT_FILE

DATASET = bytes(range(8))
PREFIX = "dcka/t/"
EVENTS = 200_000
"""Far more deliveries and deadlines than any of these runs has: a run that needs them hangs."""


@dataclass
class CoreRun:
    """What a run left: the record; by node id the commits on its flash (in order), telemetry, result, last status."""

    record: dict[str, Any]
    rows: dict[int, dict[str, Any]]
    finished: bool
    commits: dict[int, list[bytes]] = field(default_factory=dict)
    steps: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    statuses: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        """The record as the core reads it."""
        return read_run(self.record)

    def decoded(self, node: int) -> list[Commit]:
        """The commits that a node put on its flash, in order."""
        return [read_commit(payload, self.run) for payload in self.commits.get(node, [])]

    def centres(self, flat: Sequence[int]) -> NDArray[np.int64]:
        """K·n integers as (K, n)."""
        return np.array(flat, dtype=np.int64).reshape(self.record["k"], self.record["n"])


class CoreNetwork:
    """Nodes with these points, (m_i, n) by id, on the grid; `extents` (n,)."""

    def __init__(self, points: Mapping[int, Any], extents: Sequence[int], dataset: bytes = DATASET) -> None:
        self.points = {node: np.asarray(table, dtype=np.int64) for node, table in points.items()}
        self.extents = [int(extent) for extent in extents]
        self.dataset = dataset
        self.bits = bits_for(len(self.extents))
        self.bus = Bus()
        for node, table in self.points.items():
            flat = [int(value) for value in table.ravel()]
            self.bus.add(node, make_points(len(self.extents), self.bits, dataset, self.extents, flat))
        self.bus.settle()
        self.number = 0

    def run(self, graph: Graph, kind: str, **settings: Any) -> CoreRun:
        """One run, to its end or until nothing happens any more. `settings`: keys of the run record."""
        self.number += 1
        plan = schedule(graph, "gossip" if kind == "gossip" else "tree")
        record: dict[str, Any] = {
            "v": 1,
            "run": self.number,
            "kind": kind,
            "members": list(plan.members),
            "root": plan.root,
            "depth": plan.depth,
            "dataset": self.dataset.hex(),
            "points": sum(map(len, self.points.values())),
            "n": len(self.extents),
            "bits": self.bits,
            "patience_ms": 500,
            "window": plan.window,
            **settings,
        }
        rows = plan.row_records(self.number)
        self.bus.log = []
        self.bus.trace = []
        for node, row in rows.items():
            self.bus.publish(f"{PREFIX}rows/{node}", json.dumps(row), True)
        self.bus.settle()
        self.bus.publish(f"{PREFIX}run", json.dumps(record), True)
        finished = self.bus.run(lambda: self._ended(self.number), EVENTS)
        self.bus.settle()
        return self._read(CoreRun(record, rows, finished))

    def _ended(self, number: int) -> bool:
        sessions = [node.session for node in self.bus.nodes.values()]
        return all(session and session.run.number == number and session.done for session in sessions)

    def _read(self, outcome: CoreRun) -> CoreRun:
        for node, action in self.bus.trace:
            if action[0] == SAVE and action[1] == COMMIT_FILE:
                outcome.commits.setdefault(node, []).append(bytes(action[2]))
        for topic, payload in self.bus.log:
            kind, _, node = topic.removeprefix(PREFIX).partition("/")
            if kind == "step":
                outcome.steps.setdefault(int(node), []).append(json.loads(payload))
            elif kind in ("result", "status"):
                (outcome.results if kind == "result" else outcome.statuses)[int(node)] = json.loads(payload)
        return outcome
