"""`raw_upload`: every reading travels once, hop by hop, to the root, which clusters alone and tells the outcome."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.bench.float_messages import BOOT, RUN
from dcka.bench.pinned import Instance
from dcka.bench.shape import Branches
from dcka.bench.traffic import Traffic
from dcka.inject.data_file import Points
from dcka.reference import TreeRun
from dcka_core.codec import Reader
from dcka_core.messages import CHUNK, CONVERGED, FINAL, Commit, put_head, read_head
from dcka_core.record import Run

CHUNK_BYTES = 1000
"""Of readings in a message: with its head it fits the 1,024 bytes that a node takes by default."""


@dataclass(frozen=True, eq=False)
class RawOutcome:
    """`received`: by position, the readings that the root decoded. `work` (S, N): who is awake in which slot."""

    traffic: Traffic
    received: dict[int, Points]
    work: NDArray[np.bool_]


def raw_upload(instance: Instance, tree: Branches, outcome: TreeRun) -> RawOutcome:
    """Readings as u16 levels of the grid, two bytes a number. In a slot each node that has something to pass on sends
    one message to its parent. `outcome`: what the root finds, and sends down as a final commit of ours."""
    traffic = Traffic(tree.ids)
    queues: list[deque[bytes]] = [
        deque() if index == tree.root else deque(_chunks(node, instance.dataset.points[node]))
        for index, node in enumerate(tree.ids)
    ]
    arrived: list[bytes] = []
    slots = []
    while any(queues):
        work = np.zeros(len(queues), dtype=np.bool_)
        moves = [(index, queue.popleft()) for index, queue in enumerate(queues) if queue]
        for index, payload in moves:
            parent = tree.parents[index]
            work[[index, parent]] = True
            traffic.message(tree.ids[index], len(payload), [tree.ids[parent]])
            if parent == tree.root:
                arrived.append(payload)
            else:
                queues[parent].append(payload)
        slots.append(work)
    slots += _down(instance, tree, outcome, traffic)
    received = {tree.root: instance.dataset.points[tree.ids[tree.root]]}
    received |= _decoded(arrived, tree, len(instance.dataset.columns))
    return RawOutcome(traffic, received, np.array(slots))


def _chunks(node: int, points: Points) -> list[bytes]:
    """A node's messages: a head whose step counts them, then readings."""
    readings = np.ascontiguousarray(points, dtype="<u2").tobytes()
    return [
        bytes(put_head(CHUNK, RUN, node, BOOT, number)) + readings[at : at + CHUNK_BYTES]
        for number, at in enumerate(range(0, len(readings), CHUNK_BYTES))
    ]


def _decoded(arrived: list[bytes], tree: Branches, n: int) -> dict[int, Points]:
    """Each node's readings out of the messages; those of one node come in their order, by whatever way."""
    place = {node: index for index, node in enumerate(tree.ids)}
    found: dict[int, bytes] = {}
    for payload in arrived:
        reader = Reader(payload)
        _, sender, _, _ = read_head(reader, CHUNK)
        found[place[sender]] = found.get(place[sender], b"") + payload[reader.position :]
    return {index: np.frombuffer(own, "<u2").reshape(-1, n) for index, own in found.items()}


def _down(instance: Instance, tree: Branches, outcome: TreeRun, traffic: Traffic) -> list[NDArray[np.bool_]]:
    """The final commit goes down the tree, a layer a slot."""
    commit, run = _commit(instance, tree, outcome)
    slots = [np.zeros(len(tree.ids), dtype=np.bool_) for _ in range(max(tree.depths))]
    for index in tree.inner:
        commit.sender = tree.ids[index]
        payload = bytes(commit.encode(run))
        traffic.message(commit.sender, len(payload), [tree.ids[child] for child in tree.children[index]])
        slots[tree.depths[index]][[index, *tree.children[index]]] = True
    return slots


def _commit(instance: Instance, tree: Branches, outcome: TreeRun) -> tuple[Commit, Run]:
    """The outcome as a commit, and of the run's record what its encoding takes."""
    run = Run()
    run.number = RUN
    commit = Commit()
    commit.boot = BOOT
    commit.step = len(outcome.steps)
    commit.flags = FINAL | (CONVERGED if outcome.converged else 0)
    commit.epoch = (0, tree.ids[tree.root], 0)
    commit.contributors = (1 << len(tree.ids)) - 1
    commit.missing = 0
    commit.centres = outcome.centres.ravel().tolist()
    commit.counts = outcome.counts.tolist()
    commit.ssd = outcome.ssd
    return commit, run
