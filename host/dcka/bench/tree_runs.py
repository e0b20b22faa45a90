"""Runs of the real nodes: `ours` on the tree of the radio graph, `star` on a tree with one parent, and set-up alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.bench.errors import BenchError
from dcka.bench.traffic import Traffic
from dcka.emulation.in_memory import HOP_MS, Lost, Network
from dcka.inject.dataset import Dataset
from dcka.mqtt.connection import encoded
from dcka.topology import Graph, schedule
from dcka_core.messages import CHANGE, COMMIT, CONVERGED, UP
from dcka_core.points import Points

PATIENCE_MS = 500
MAX_STEPS = 100
LIMIT_MS = 100_000_000
"""Far more than any of these runs takes: who needs it hangs. Below half a period of a node's clock."""

RUN = 1
_CONSENSUS = ("x", "commit", "epoch")
_GOSSIP = {"slots": 0, "max_slots": 10_000, "tolerance": 840}
_TYPES = {UP: "up", COMMIT: "commit", CHANGE: "change"}


class Counter:
    """Counts what passes on a network, in two parts: consensus among the nodes, and all else.

    `by_type`: (broadcasts, bytes) of up, commit, change and epoch messages. `reports`: what nodes say to the host.
    """

    def __init__(self, ids: tuple[int, ...]) -> None:
        self.setup = Traffic(ids)
        self.consensus = Traffic(ids)
        self.reports = Traffic(ids)
        self.by_type: dict[str, list[int]] = {}
        self.prepared = False

    def published(self, sender: int | None, topic: str, payload: bytes, hearers: list[int]) -> None:
        part = self._part(topic)
        part.message(sender, len(payload), hearers)
        if part is self.consensus:
            kind = "epoch" if topic.startswith("epoch") else _TYPES[payload[0] & 15]
            entry = self.by_type.setdefault(kind, [0, 0])
            entry[0] += 1
            entry[1] += len(payload)

    def subscribed(self, node: int) -> None:
        part = self.consensus if self.prepared else self.setup
        part.asked[part.place[node]] += 1

    def again(self, topic: str, payload: bytes, hearer: int) -> None:
        part = self._part(topic)
        part.heard[part.place[hearer]] += 1
        part.bytes_heard[part.place[hearer]] += len(payload)

    def _part(self, topic: str) -> Traffic:
        kind = topic.partition("/")[0]
        if kind in _CONSENSUS:
            return self.consensus
        return self.reports if self.prepared and kind != "run" else self.setup


@dataclass(frozen=True, eq=False)
class TreeOutcome:
    """A run that every node has ended. `centres`: (N, K·n), in the order of the ids; `steps`, `ssd`, `converged`: of
    each node. `elapsed_ms`: from the run's record to the last node's end. `dropped`: messages by reason, all nodes."""

    count: Counter
    centres: NDArray[np.int64]
    steps: tuple[int, ...]
    ssd: tuple[int, ...]
    converged: bool
    missing: bool
    elapsed_ms: int
    dropped: dict[str, int]


@dataclass(frozen=True)
class Settings:
    """Of a run: K, the seed of the starts, T_max, the patience, a hop's time, what is lost."""

    k: int
    seed: int
    max_steps: int = MAX_STEPS
    patience_ms: int = PATIENCE_MS
    hop_ms: int = HOP_MS
    lost: Lost | None = None


def run_tree(
    dataset: Dataset, points: Mapping[int, Points], links: Graph, settings: Settings, root: int | None = None
) -> TreeOutcome:
    """A run of `tree` on the shallowest tree of `links`, as `dcka run` plans it. Raises BenchError where it does not
    end, or a node ends without what it has to have."""
    network = Network(points, settings.hop_ms, settings.lost)
    count = Counter(links.ids)
    record = prepare(network, count, dataset, links, "tree", settings, root)
    network.observer = count
    begun = network.now
    network.publish(None, "run", encoded(record), True)
    left = list(links.ids)

    def ended() -> bool:
        while left and (session := network.session(left[-1])) is not None and session.done:
            left.pop()
        return not left

    if not network.run(ended, LIMIT_MS):
        raise BenchError(f"node {left[-1]} had not ended its run after {LIMIT_MS} ms")
    elapsed = network.now - begun
    network.settle()
    return _outcome(network, links, count, elapsed)


def prepare(
    network: Network,
    count: Counter,
    dataset: Dataset,
    graph: Graph,
    kind: str,
    settings: Settings,
    root: int | None = None,
) -> dict[str, Any]:
    """Give every node its rows, as the host does, and let it say that it has them; the run's record, not yet sent.

    Raises BenchError where a node does not get so far.
    """
    network.observer = count
    made = schedule(graph, kind, root)
    for node, row in made.row_records(RUN).items():
        network.publish(None, f"rows/{node}", encoded(row), True)
    network.settle()
    if int(count.setup.sent.min()) < 1:
        raise BenchError("a node did not say that it is prepared")
    count.prepared = True
    record = {
        "v": 1,
        "run": RUN,
        "kind": kind,
        "members": list(made.members),
        "dataset": dataset.id.hex(),
        "points": dataset.size,
        "n": len(dataset.columns),
        "bits": dataset.grid.bits,
        "k": settings.k,
        "init": "local",
        "seed": settings.seed,
        "max_steps": settings.max_steps,
        "patience_ms": settings.patience_ms,
    }
    if kind == "tree":
        return record | {"root": made.root, "depth": made.depth}
    return record | {"window": made.window} | _GOSSIP


def setup_alone(
    dataset: Dataset, points: Mapping[int, Points], graph: Graph, kind: str, settings: Settings
) -> Traffic:
    """What it takes until the nodes know what to do in a run of `kind`: rows, subscriptions, statuses, and the run's
    record, which is counted and not acted upon."""
    network = Network(points)
    count = Counter(graph.ids)
    record = prepare(network, count, dataset, graph, kind, settings)
    count.published(None, "run", encoded(record), list(graph.ids))
    return count.setup


def _outcome(network: Network, links: Graph, count: Counter, elapsed_ms: int) -> TreeOutcome:
    held = []
    dropped: dict[str, int] = {}
    for node in links.ids:
        session = network.session(node)
        if session.held is None:
            raise BenchError(f"node {node} ended its run without a commit")
        held.append(session.held)
        for reason, times in network.dropped(node).items():
            dropped[reason] = dropped.get(reason, 0) + times
    return TreeOutcome(
        count,
        np.array([commit.centres for commit in held], dtype=np.int64),
        tuple(commit.step for commit in held),
        tuple(commit.ssd for commit in held),
        all(commit.flags & CONVERGED for commit in held),
        any(commit.missing for commit in held),
        elapsed_ms,
        dropped,
    )
