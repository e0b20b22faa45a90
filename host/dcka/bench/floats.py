"""What the methods that compute in floats have in common: data, starts, assignment, and the exact outcome.

The readings are the levels of the grid that ours has, as floats: the same data. A node assigns and adds up in float64;
what it mixes and sends is float32, as on a board. All readings lie in one table (M, n), node after node.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dcka.bench.errors import BenchError
from dcka.bench.pinned import Instance
from dcka.reference.starts import local_start, shared_start

Float = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FloatData:
    """`points` (M, n); `owner` (M,), positions; `starts` (N, K, n), each node's own draw; `basis` (K, n), what a
    cluster without readings anywhere in the first step ends with."""

    points: Float
    owner: Ints
    starts: Float
    basis: Float

    @classmethod
    def of(cls, instance: Instance) -> "FloatData":
        """Raises BenchError for a node that holds fewer readings than clusters."""
        tables = [instance.dataset.points[node] for node in instance.ids]
        starts = []
        for node, table in zip(instance.ids, tables, strict=True):
            start = local_start(table, instance.k, instance.seed, node)
            if start is None:
                raise BenchError(
                    f"{instance.name}: node {node} has fewer readings than {instance.k} clusters"
                )
            starts.append(start)
        owner = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        basis = shared_start(instance.dataset.grid.extents, instance.k, instance.seed)
        return cls(
            np.concatenate(tables).astype(np.float64),
            owner,
            np.array(starts, dtype=np.float64),
            basis.astype(np.float64),
        )

    @cached_property
    def spread(self) -> float:
        """The root mean square of the readings' distances from their mean, per coordinate."""
        return math.sqrt(float(np.square(self.points - self.points.mean(axis=0)).mean()))

    @property
    def nodes(self) -> int:
        return len(self.starts)

    def labels(self, centres: Float) -> Ints:
        """(M,): the nearest of its node's centres (N, K, n) to each reading; the lowest index wins a tie."""
        counts = np.bincount(self.owner, minlength=self.nodes)
        best = np.full(len(self.points), np.inf)
        labels = np.zeros(len(self.points), dtype=np.int64)
        columns = np.ascontiguousarray(self.points.T)
        for cluster in range(centres.shape[1]):
            distance = np.zeros(len(self.points))
            for j, column in enumerate(columns):
                away = column - np.repeat(centres[:, cluster, j], counts)
                away *= away
                distance += away
            np.putmask(labels, distance < best, cluster)
            np.minimum(best, distance, out=best)
        return labels

    def sums(self, centres: Float) -> Float:
        """(N, K, n + 1): for each node the counts m and sums u of its readings by their nearest centres."""
        k, n = centres.shape[1:]
        cells = self.owner * k + self.labels(centres)
        found = np.empty((self.nodes * k, n + 1))
        found[:, 0] = np.bincount(cells, minlength=len(found))
        for j in range(n):
            found[:, 1 + j] = np.bincount(cells, weights=self.points[:, j], minlength=len(found))
        return found.reshape(self.nodes, k, n + 1)

    def everywhere(self, centres: Float) -> Float:
        """The same centres (K, n) at each node."""
        return np.broadcast_to(centres, (self.nodes, *centres.shape))

    def exact(self, steps: int) -> Float:
        """(K, n): the centres after so many outer steps with exact consensus, in float64."""
        centres, basis = self.starts, self.basis
        for _ in range(steps):
            basis = ratio(self.sums(centres).sum(axis=0), basis)
            centres = self.everywhere(basis)
        return basis

    def mislabelled(self, centres: Float, exact: Float) -> int:
        """How many readings have another label by their node's `centres` (N, K, n) than by `exact` (K, n)."""
        return int((self.labels(centres) != self.labels(self.everywhere(exact))).sum())


def ratio(sums: Float, basis: Float) -> Float:
    """Centres (…, K, n) from sums (…, K, n + 1): u / m, and those of `basis` where a cluster has no mass."""
    mass = sums[..., :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mass > 0, sums[..., 1:] / mass, basis)
