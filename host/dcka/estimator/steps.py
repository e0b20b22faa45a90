"""What each outer step came to and what it cost, out of what passes on the network in memory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.inject.quantise import Grid
from dcka_core.messages import Commit, read_commit
from dcka_core.record import Run
from dcka_core.session import COMMIT_FILE

_AMONG_NODES = ("x", "commit", "epoch")


@dataclass(frozen=True, eq=False)
class Step:
    """An outer step, in the user's units.

    `step`: from 0. `centers`: (n_clusters, n_features), what it came to at the node with the lowest id. `counts`:
    (n_clusters,), the samples of each, and `inertia`, the SSD: of the centres that it began with, each node's own in
    step 0 of a start without common ones. `spread`: how far apart two nodes' new centres are in a coordinate, at most.
    `slots`: of gossip, 0 in a tree. `broadcasts`, `bytes`: messages among the nodes for this step, and their payload.
    """

    step: int
    centers: NDArray[np.float64]
    counts: NDArray[np.int64]
    inertia: float
    spread: float
    slots: int
    broadcasts: int
    bytes: int


@dataclass
class Watcher:
    """An observer of `dcka.emulation.in_memory.Network` for one run: commits, reports, and the messages by step.

    `commits[step][node]`: what each node has put on its flash; `step` is that of the commit, from 1. `reports`: the
    telemetry `step/<i>`, likewise, of the step before.
    """

    run: Run
    commits: dict[int, dict[int, Commit]] = field(default_factory=dict)
    reports: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    messages: dict[int, list[int]] = field(default_factory=dict)

    def published(self, sender: int | None, topic: str, payload: bytes, hearers: list[int]) -> None:
        kind = topic.partition("/")[0]
        if sender is not None and kind == "step":
            report = json.loads(payload)
            self.reports.setdefault(report["step"], []).append(report)
        if sender is not None and kind in _AMONG_NODES:
            step = step_of(payload) - (kind == "commit")
            entry = self.messages.setdefault(step, [0, 0])
            entry[0] += 1
            entry[1] += len(payload)

    def subscribed(self, node: int) -> None:
        """Subscriptions are the broker's business."""

    def again(self, topic: str, payload: bytes, hearer: int) -> None:
        """Nor is a retained message sent by a node."""

    def saved(self, node: int, name: str, content: bytes) -> None:
        """What a node has put on its flash."""
        if name == COMMIT_FILE:
            commit = read_commit(content, self.run)
            self.commits.setdefault(commit.step, {})[node] = commit

    def steps(self, grid: Grid) -> list[Step]:
        """Every outer step, in order."""
        return [self._step(number, held, grid) for number, held in sorted(self.commits.items())]

    def _step(self, number: int, held: Mapping[int, Commit], grid: Grid) -> Step:
        reports = self.reports[number - 1]
        tables = np.array([held[node].centres for node in sorted(held)])
        own = held[min(held)]
        count = self.messages.get(number - 1, [0, 0])
        shape = (self.run.k, self.run.n)
        return Step(
            number - 1,
            grid.to_units(tables[0].reshape(shape)),
            np.array(own.counts, dtype=np.int64),
            sum(report["ssd"] for report in reports) * grid.unit**2,
            float((tables.max(axis=0) - tables.min(axis=0)).max()) * grid.unit,
            max(report.get("slots", 0) for report in reports),
            *count,
        )


def step_of(payload: bytes) -> int:
    """The outer step in the head of a message among nodes (protocol, section 4): the fourth varint behind a byte."""
    at = 1
    for _ in range(4):
        value = shift = 0
        while payload[at] & 0x80:
            value |= (payload[at] & 0x7F) << shift
            shift += 7
            at += 1
        value |= payload[at] << shift
        at += 1
    return value
