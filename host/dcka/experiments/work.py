"""Monte Carlo runs: a job is a few of them on one data set with one K, by every method; its outcome is plain JSON."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dcka.datasets import gaussians
from dcka.engine import First, Points, lloyd, prepare
from dcka.experiments.network import Network, Table, central_start, first_step, network
from dcka.reference import Grid, fit_grid

CKA = "cka"
MOST_STEPS = 2000
SEEDS_APART = 1_000_000
"""Between the streams of two draws of the data; runs count within."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """`data`: gaussians, or the name of a set. `draw`: which sample of the Gaussians; of a set, 0. `first`, `count`:
    the runs. `nodes`: who share the points. `methods`: "cka", or a start of DCKA. `seed`: of everything drawn."""

    data: str
    draw: int
    k: int
    first: int
    count: int
    nodes: int
    methods: tuple[str, ...]
    seed: int

    @property
    def key(self) -> str:
        """A name for files, of all but what a folder has in common."""
        return f"{self.data}-draw{self.draw}-k{self.k}-runs{self.first}-{self.first + self.count - 1}"

    def record(self) -> Row:
        return asdict(self)


def run_seed(seed: int, draw: int, run: int) -> int:
    """The seed of a run: of the nodes' streams, and of how a set is dealt."""
    return (seed * SEEDS_APART + draw) * SEEDS_APART + run


def perform(job: Job, values: Table | None = None) -> list[Row]:
    """A row for each run and method. `values` (M, n): the set's points; None for the Gaussians, which are made here.

    A set is dealt to the nodes anew in each run, equal numbers at random; a sample of the Gaussians stays as it was
    drawn, each node with its own.
    """
    rows: list[Row] = []
    for run in range(job.first, job.first + job.count):
        seed = run_seed(job.seed, job.draw, run)
        net = _sample(job.seed + job.draw, job.nodes) if values is None else dealt(values, job.nodes, seed)
        rows += [_row(job, net, method, run, seed) for method in job.methods]
    return rows


def dealt(values: Table, nodes: int, seed: int) -> Network:
    """`values` (M, n) dealt at random to `nodes` nodes, equal numbers (the first get one more where it must be)."""
    points, grid = _prepared(_Same(values))
    numbers = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
    return network(np.array_split(values[numbers.permutation(len(values))], nodes), points, grid)


class _Same:
    """Points as a key: the same array."""

    def __init__(self, values: Table) -> None:
        self.values = values

    def __hash__(self) -> int:
        return hash(self.values.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and (
            other.values is self.values or np.array_equal(other.values, self.values)
        )


@lru_cache(maxsize=3)
def _prepared(same: _Same) -> tuple[Points, Grid]:
    return prepare(same.values), fit_grid(same.values)


def checksum(seed: int, nodes: int = 5) -> str:
    """SHA-256 over the Gaussians of that seed, node by node, as little-endian float64."""
    found = hashlib.sha256()
    for own in gaussians(seed, nodes).values.values():
        found.update(np.ascontiguousarray(own, dtype="<f8").tobytes())
    return found.hexdigest()


@lru_cache(maxsize=4)
def _sample(seed: int, nodes: int) -> Network:
    return network(list(gaussians(seed, nodes).values.values()))


def _row(job: Job, net: Network, method: str, run: int, seed: int) -> Row:
    begun = time.perf_counter()
    found = central_start(net, job.k, seed, run) if method == CKA else first_step(net, method, job.k, seed)
    own = isinstance(found, First)
    result = lloyd(net.points, found.centres if isinstance(found, First) else found, MOST_STEPS)
    return {
        "data": job.data,
        "draw": job.draw,
        "k": job.k,
        "run": run,
        "method": method,
        "ssd": result.ssd,
        "steps": result.steps + own,
        "converged": result.converged,
        "empty": int((result.counts == 0).sum()),
        "seconds": round(time.perf_counter() - begun, 4),
    }


def jobs_of(
    data: str,
    draws: int,
    ks: Sequence[int],
    runs: int,
    a_job: int,
    nodes: int,
    methods: Sequence[str],
    seed: int,
) -> list[Job]:
    """All runs of a data set, `a_job` of them a job, so that more runs later keep the jobs that are done."""
    return [
        Job(data, draw, k, first, min(a_job, runs - first), nodes, tuple(methods), seed)
        for draw in range(draws)
        for k in ks
        for first in range(0, runs, a_job)
    ]
