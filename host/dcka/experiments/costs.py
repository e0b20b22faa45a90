"""The paper's formulas of cost, time and memory beside a run in which they are counted as they happen.

Nodes here are plain Python: a message is packed into bytes and its length added up, an operation on a vector adds one
where it is done, and what a node holds is looked at when it holds most.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dcka.reference import Link, metropolis

Vector = list[float]
Record = dict[str, Any]
NUMBER_BYTES = 8


@dataclass
class Counts:
    """`bytes`, `messages`: sent. `operations`: on a vector of a point or a cluster: a distance, a sum, a scaling.
    `numbers`: held at once in the network, the points themselves left out, at most."""

    bytes: int = 0
    messages: int = 0
    operations: int = 0
    numbers: int = 0

    def distance(self, a: Vector, b: Vector) -> float:
        self.operations += 1
        return math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))

    def add(self, total: Vector, a: Vector, factor: float = 1.0) -> None:
        """total ← total + factor · a."""
        self.operations += 1
        for j, x in enumerate(a):
            total[j] += factor * x

    def ratio(self, x: Vector) -> Vector:
        self.operations += 1
        return [value / x[0] for value in x[1:]]


@dataclass
class Node:
    """`x`: K vectors (count, sums); `heard`: what came in this slot, by sender. `labels`: of its points."""

    points: list[Vector]
    centres: list[Vector]
    x: list[Vector] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    heard: dict[int, list[Vector]] = field(default_factory=dict)

    def held(self) -> int:
        """Numbers, the points left out."""
        rows = [*self.centres, *self.x, *(row for rows in self.heard.values() for row in rows)]
        return len(self.labels) + sum(map(len, rows))


def counted_run(
    tables: Sequence[Any], starts: Sequence[Any], phases: Sequence[Sequence[Link]], slots: int, steps: int
) -> tuple[list[Node], Counts]:
    """DCKA on nodes 1 … N with Metropolis' weights, `slots` a step, message by message; the nodes at its end."""
    nodes = [Node(t.tolist(), s.tolist()) for t, s in zip(tables, starts, strict=True)]
    weights = [metropolis(phase, range(1, len(nodes) + 1)).tolist() for phase in phases]
    counts = Counts()
    for _ in range(steps):
        for node in nodes:
            _assign(node, counts)
        for s in range(slots):
            for sender, receiver in _both_ways(phases[s % len(phases)]):
                _send(nodes[sender], sender, nodes[receiver], counts)
            counts.numbers = max(counts.numbers, sum(node.held() for node in nodes))
            for node, row in zip(nodes, enumerate(weights[s % len(phases)]), strict=True):
                _mix(node, *row, counts)
        for node in nodes:
            node.centres = [
                counts.ratio(x) if x[0] > 0 else old for x, old in zip(node.x, node.centres, strict=True)
            ]
    return nodes, counts


def _assign(node: Node, counts: Counts) -> None:
    node.x = [[0.0] * (1 + len(node.centres[0])) for _ in node.centres]
    node.labels = []
    for point in node.points:
        squared = [counts.distance(point, centre) for centre in node.centres]
        node.labels.append(squared.index(min(squared)))
        counts.add(node.x[node.labels[-1]], [1.0, *point])


def _both_ways(links: Sequence[Link]) -> Iterator[tuple[int, int]]:
    for a, b in links:
        yield a - 1, b - 1
        yield b - 1, a - 1


def _send(sender: Node, place: int, receiver: Node, counts: Counts) -> None:
    """A message holds x of every cluster."""
    width = len(sender.x[0])
    packed = struct.pack(f"<{width * len(sender.x)}d", *(value for row in sender.x for value in row))
    counts.bytes += len(packed)
    counts.messages += 1
    values = struct.unpack(f"<{len(packed) // NUMBER_BYTES}d", packed)
    receiver.heard[place] = [list(values[k : k + width]) for k in range(0, len(values), width)]


def _mix(node: Node, place: int, weights: Vector, counts: Counts) -> None:
    mixed = [[0.0] * len(row) for row in node.x]
    for sender, rows in [(place, node.x), *node.heard.items()]:
        for total, row in zip(mixed, rows, strict=True):
            counts.add(total, row, weights[sender])
    node.x, node.heard = mixed, {}


def formulas(
    tables: Sequence[Any], phases: Sequence[Sequence[Link]], k: int, slots: int, steps: int
) -> Record:
    """`paper`: 2·N_l·K·S·T·N_b bytes, T·K·(M + N·S + N) operations, (2N + M)·K numbers. `ours`: with every neighbour's
    vector weighted, T·(K·(M + S·(N + 2N_l) + N) + M) operations, and a label a point in place of K, what a node has
    heard in a slot beside its own, M + K·(N·(2n + 1) + 2·max N_l·(n + 1)) numbers."""
    nodes, points, width = len(tables), sum(map(len, tables)), tables[0].shape[1]
    used = [len(phases[s % len(phases)]) for s in range(slots)]
    links = sum(used) / slots
    return {
        "links_a_slot": links,
        "bytes": {"paper": 2 * links * k * slots * steps * (width + 1) * NUMBER_BYTES},
        "operations": {
            "paper": steps * k * (points + nodes * slots + nodes),
            "ours": steps * (k * (points + slots * (nodes + 2 * links) + nodes) + points),
        },
        "numbers": {
            "paper": (2 * nodes + points) * k,
            "ours": points + k * (nodes * (2 * width + 1) + 2 * max(used) * (width + 1)),
        },
    }
