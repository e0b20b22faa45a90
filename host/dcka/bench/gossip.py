"""The paper's method: Metropolis weights on a switching graph, float32, stopped by an oracle.

P. Lin, Y. Wang, H. Qi, Y. Hong, "Distributed consensus-based K-means algorithm in switching multi-agent networks",
J. Syst. Sci. Complex. 31:1128–1145, 2018. It says how many slots are enough, by a bound that asks for hundreds of times
what is needed, and has no rule by which a node could stop. Here somebody stops it who knows the exact outcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.bench.errors import BenchError
from dcka.bench.float_messages import Floats, changed_shares, shares, sizes
from dcka.bench.floats import Float, FloatData, ratio
from dcka.bench.traffic import Traffic
from dcka.reference import metropolis
from dcka.topology import Graph

MOST_SLOTS = 20_000
"""Of an outer step; a step that needs more has come to the end of float32."""


@dataclass(frozen=True, eq=False)
class Air:
    """Who hears whom, phase by phase. `ids`, ascending. `weights`: (N, N) float32, Metropolis'. `hears`: (N, N), True
    at [i, h] where i hears h. `replayed`: the phases go on over the end of an outer step."""

    ids: tuple[int, ...]
    weights: tuple[Floats, ...]
    hears: tuple[NDArray[np.bool_], ...]
    replayed: bool = False

    @classmethod
    def of(cls, graph: Graph, replayed: bool = False, fixed: bool = False) -> "Air":
        """`fixed`: a link's weight goes by its ends' neighbours over all phases, not by those of the phase."""
        known = {link for phase in graph.phases for link in phase} if fixed else None
        weights = [metropolis(phase, graph.ids, known) for phase in graph.phases]
        hears = [(matrix > 0) & ~np.eye(len(graph.ids), dtype=np.bool_) for matrix in weights]
        return cls(graph.ids, tuple(matrix.astype(np.float32) for matrix in weights), tuple(hears), replayed)


@dataclass(frozen=True, eq=False)
class GossipOutcome:
    """`centres` (N, K, n), after the last step; `slots` of each outer step; `traffic`, and `changed`: that where only
    the clusters that changed travel (None where it was not asked for). `work` (P, N): in which phases a node sends or
    hears."""

    centres: Float
    slots: tuple[int, ...]
    traffic: Traffic
    changed: Traffic | None
    work: NDArray[np.bool_]


def gossip(
    data: FloatData, air: Air, steps: int, tolerance: float, remembering: bool = False
) -> GossipOutcome:
    """So many outer steps, each stopped at the first slot at which every node's centres are within `tolerance` spreads
    of the exact ones, in each coordinate; `remembering`: `changed` is counted too.

    Raises BenchError where a step does not get there.
    """
    centres, basis = data.starts, data.everywhere(data.basis)
    traffic = Traffic(air.ids)
    changed = Traffic(air.ids) if remembering else None
    slots: list[int] = []
    before: Floats | None = None
    for step in range(steps):
        inputs = data.sums(centres)
        exact = ratio(inputs.sum(axis=0), np.zeros(basis.shape[1:]))
        begin = sum(slots) if air.replayed else 0
        states = mix(inputs, air, begin, exact, tolerance * data.spread)
        basis = centres = ratio(states[-1].astype(np.float64), basis)
        sent = states[:-1]
        slots.append(len(sent))
        _count(traffic, changed, air, step, begin, sent, before)
        before = sent
    work = np.array([hears.any(axis=1) for hears in air.hears])
    return GossipOutcome(centres, tuple(slots), traffic, changed, work)


def mix(inputs: Float, air: Air, begin: int, exact: Float, allowed: float) -> Floats:
    """The states (S + 1, N, K, n + 1) from `inputs` on: x(s + 1) = A(s) x(s), to the first slot at which no node's u/m
    is further than `allowed` from `exact` (K, n) in a coordinate. Clusters without mass anywhere count as agreed.

    `begin`: the first slot's number, by which its phase goes. Raises BenchError after MOST_SLOTS slots.
    """
    shape = inputs.shape
    oracle = Oracle(exact, inputs[..., 0].sum(axis=0) > 0, allowed)
    x = inputs.reshape(shape[0], -1).astype(np.float32)
    states = [x]
    while not oracle.content(x.reshape(shape)):
        if len(states) > MOST_SLOTS:
            raise BenchError(f"gossip: not within {allowed:g} of the exact centres after {MOST_SLOTS} slots")
        x = air.weights[(begin + len(states) - 1) % len(air.weights)] @ x
        states.append(x)
    return np.stack(states).reshape(-1, *shape)


class Oracle:
    """Knows the exact centres (K, n) of a step, and stops it: every node's u/m has to be within `allowed` of them, in
    each coordinate of the clusters that have mass somewhere, `full` (K,)."""

    def __init__(self, exact: Float, full: NDArray[np.bool_], allowed: float) -> None:
        self._target = exact.astype(np.float32)
        self._full = full
        self._allowed = np.float32(allowed)
        self._worst: tuple[int, int, int] | None = None

    def content(self, x: Floats) -> bool:
        """Whether x (N, K, n + 1) is near enough: m > 0 and |u − c·m| ≤ allowed·m."""
        if self._worst is not None and not self._near(x, *self._worst):
            return False
        mass = x[..., :1]
        excess = np.abs(x[..., 1:] - self._target * mass) - self._allowed * mass
        excess[:, ~self._full] = -1
        excess[(x[..., 0] <= 0) & self._full] = np.inf
        at = int(excess.argmax())
        node, cluster, j = (int(place) for place in np.unravel_index(at, excess.shape))
        # Where it was worst it stays so for a while: one number is looked at instead of all.
        self._worst = node, cluster, j
        return bool(excess[self._worst] <= 0)

    def _near(self, x: Floats, node: int, cluster: int, j: int) -> bool:
        mass = x[node, cluster, 0]
        off = abs(x[node, cluster, 1 + j] - self._target[cluster, j] * mass)
        return bool(mass > 0 and off - self._allowed * mass <= 0)


def _count(
    traffic: Traffic,
    changed: Traffic | None,
    air: Air,
    step: int,
    begin: int,
    sent: Floats,
    before: Floats | None,
) -> None:
    """Encode and count the messages of a step.

    `changed`: a cluster is left out where the node sent the very same bits in the same slot of the step before; who
    hears it is taken to remember all slots of that step, and to know that silence means no change.
    """
    slots = range(len(sent))
    for phase in range(len(air.hears)):
        own = [slot for slot in slots if (begin + slot) % len(air.hears) == phase]
        nodes = np.flatnonzero(air.hears[phase].any(axis=0))
        if not own or not len(nodes):
            continue
        ids = [air.ids[node] for node in nodes]
        x = sent[np.array(own)[:, None], nodes]
        found = np.zeros((len(own), len(air.ids)), dtype=np.int64)
        found[:, nodes] = sizes(ids, step, own, shares(ids, step, own, x))
        traffic.slots(found, air.hears[phase])
        if changed is not None:
            fresh = changed_clusters(x, before, own, nodes)
            found[:, nodes] = changed_shares(ids, step, own, x, fresh)[0]
            changed.slots(found, air.hears[phase])


def changed_clusters(
    x: Floats, before: Floats | None, slots: Sequence[int], nodes: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """(S, N, K): the clusters whose numbers are not those of the same slot and node `before`."""
    fresh = np.ones(x.shape[:3], dtype=np.bool_)
    if before is not None:
        known = [slot for slot in slots if slot < len(before)]
        fresh[: len(known)] = (x[: len(known)] != before[np.array(known, dtype=np.intp)[:, None], nodes]).any(
            axis=3
        )
    return fresh
