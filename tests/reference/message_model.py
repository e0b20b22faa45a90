"""One outer step of `gossip` as messages, written out from the protocol, section 5, without numpy.

Nodes run ahead of each other as far as the rules let them, in a random order of deliveries; running sums are
taken modulo 2^W. It is slow and has no other use than to be compared with the reference.
"""

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

Row = list[int]


@dataclass
class Window:
    """low and high by (cluster, coordinate), clusters without mass, who is ready, whether somebody moved."""

    low: dict[tuple[int, int], int]
    high: dict[tuple[int, int], int]
    lacking: set[int]
    ready: set[int]
    moved: bool


@dataclass
class Message:
    sender: int
    phase: int
    slot: int
    running: list[tuple[list[int], list[Row]]]
    window: Window


@dataclass
class Node:
    """`x`: for each cluster [mass, sums…]; `links`: for each phase the neighbours with their divisors."""

    node: int
    x: list[Row]
    links: list[dict[int, int]]
    everyone: set[int]
    window_slots: int
    tolerance: int
    modulus: int
    moved: bool
    slot: int = -1
    decided: bool = False
    window: Window | None = None
    running: dict[tuple[int, int], list[Row]] = field(default_factory=dict)
    seen: dict[tuple[int, int], list[Row]] = field(default_factory=dict)
    heard: set[tuple[int, int]] = field(default_factory=set)
    heard_now: set[int] = field(default_factory=set)

    def enter(self) -> Message:
        self.slot += 1
        phase = self.slot % len(self.links)
        if self.slot % self.window_slots == 0:
            self._open()
        self.heard_now = set()
        before = [list(row) for row in self.x]
        groups = []
        for divisor in sorted(set(self.links[phase].values())):
            receivers = [h for h, d in self.links[phase].items() if d == divisor]
            running = self.running.setdefault((phase, divisor), [[0] * len(row) for row in self.x])
            for k, row in enumerate(before):
                for j, value in enumerate(row):
                    self.x[k][j] -= len(receivers) * (value // divisor)
                    running[k][j] = (running[k][j] + value // divisor) % self.modulus
            groups.append((receivers, [list(row) for row in running]))
        return Message(self.node, phase, self.slot, groups, self._copy())

    def _open(self) -> None:
        needed = {(p, h) for p, links in enumerate(self.links) for h in links}
        ready = {self.node} if self.slot > 0 and needed <= self.heard else set()
        self.heard = set()
        low = {
            (k, j): 256 * u // row[0] for k, row in enumerate(self.x) if row[0] for j, u in enumerate(row[1:])
        }
        lacking = {k for k, row in enumerate(self.x) if not row[0]}
        self.window = Window(low, dict(low), lacking, ready, self.moved)

    def _copy(self) -> Window:
        assert self.window is not None
        w = self.window
        return Window(dict(w.low), dict(w.high), set(w.lacking), set(w.ready), w.moved)

    def hear(self, message: Message) -> None:
        assert message.slot == self.slot
        (rows,) = [rows for receivers, rows in message.running if self.node in receivers]
        old = self.seen.get((message.phase, message.sender), [[0] * len(row) for row in self.x])
        for k, row in enumerate(rows):
            for j, value in enumerate(row):
                self.x[k][j] += (value - old[k][j]) % self.modulus
        self.seen[message.phase, message.sender] = rows
        own, other = self.window, message.window
        assert own is not None
        for key, value in other.low.items():
            own.low[key] = min(own.low.get(key, value), value)
            own.high[key] = max(own.high.get(key, other.high[key]), other.high[key])
        own.lacking |= other.lacking
        own.ready |= other.ready
        own.moved |= other.moved
        self.heard.add((message.phase, message.sender))
        self.heard_now.add(message.sender)

    def may_leave(self) -> bool:
        return self.heard_now == set(self.links[self.slot % len(self.links)])

    def decide(self) -> bool:
        """After the last slot of a window."""
        assert self.window is not None
        w = self.window
        near = all(w.high[key] - w.low[key] <= self.tolerance for key in w.low)
        mixed = any(k in w.lacking for k, _ in w.low)
        return w.ready == self.everyone and near and not mixed


def run_step(
    mass: Any,
    ids: list[int],
    phases: list[list[tuple[int, int]]],
    window: int,
    tolerance: int,
    max_slots: int,
    width: int,
    moved: list[bool],
    seed: int,
) -> list[Node]:
    """The nodes after the step, from `mass` (N, K, n + 1) whole numbers."""
    nodes = {}
    for node, own, has_moved in zip(ids, mass, moved, strict=True):
        rows = []
        for phase in phases:
            degree = {i: sum(i in link for link in phase) for i in ids}
            others = [b if a == node else a for a, b in phase if node in (a, b)]
            rows.append({h: 1 + max(degree[node], degree[h]) for h in others})
        x = [[int(value) for value in row] for row in own]
        nodes[node] = Node(node, x, rows, set(ids), window, tolerance, 1 << width, has_moved)
    return _deliver(nodes, max_slots, random.Random(seed))


def _deliver(nodes: dict[int, Node], max_slots: int, chance: random.Random) -> list[Node]:
    queues: dict[tuple[int, int], deque[Message]] = {}
    ended: set[int] = set()

    def enter(node: Node) -> None:
        message = node.enter()
        for other in node.links[message.phase]:
            queues.setdefault((node.node, other), deque()).append(message)

    for node in nodes.values():
        enter(node)
    while len(ended) < len(nodes):
        moves: list[tuple[int, int]] = [
            (sender, receiver)
            for (sender, receiver), queue in queues.items()
            if queue and queue[0].slot == nodes[receiver].slot and receiver not in ended
        ]
        moves += [(i, i) for i, node in nodes.items() if i not in ended and node.may_leave()]
        sender, receiver = chance.choice(moves)
        node = nodes[receiver]
        if sender != receiver:
            node.hear(queues[sender, receiver].popleft())
            continue
        node.decided = (node.slot + 1) % node.window_slots == 0 and node.decide()
        if node.decided or node.slot + 1 == max_slots:
            ended.add(receiver)
        else:
            enter(node)
    return list(nodes.values())
