"""Experiment 1, results 1 to 3: what the network comes to, how fast it agrees, and how the SSD falls."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.datasets.nine_gaussians import MEANS
from dcka.engine import First, lloyd
from dcka.experiments.network import Network, basis_of, central_start, first_step, own_starts
from dcka.reference import (
    FloatDcka,
    InnerClock,
    Link,
    dcka,
    experiment1_phases,
    metropolis,
    predicted_rate,
)

TOLERANCE = 1e-9
"""In the data's units: of a spread of some 10, so that no point of a sample lies so close to a border."""
SHORTCUT_TOLERANCE = 1e-11
"""As a share of the data's range."""
FIT_FROM, FIT_TO = 1e-3, 1e-10
"""The part of the decay that is fitted, as a share of the first error: after other modes, before rounding."""
RATE_SLOTS = 120

Table = NDArray[np.float64]
Record = dict[str, Any]


def matrices(phases: Sequence[Sequence[Link]] | None = None) -> list[Table]:
    """Metropolis' weights of `phases`, in which every node has a link; of experiment 1's (b) and (c) without."""
    phases = experiment1_phases() if phases is None else phases
    nodes = max(node for phase in phases for link in phase for node in link)
    return [metropolis(phase, range(1, nodes + 1)) for phase in phases]


def full_run(net: Network, k: int, seed: int, phases: Sequence[Sequence[Link]] | None = None) -> FloatDcka:
    """The whole simulation, both clocks, from the literal start, until two nodes' centres differ by TOLERANCE.

    It makes as many outer steps as with exact consensus, which stands still in the last: centres that agree to a
    tolerance need not stand still in every bit.
    """
    clock = InnerClock(matrices(phases), tolerance=TOLERANCE)
    first = first_step(net, "local", k, seed)
    assert isinstance(first, First)
    steps = lloyd(net.points, first.centres).steps + 1
    return dcka(net.tables, own_starts(net, "local", k, seed), clock, steps, basis_of(net, k, seed), False)


def shortcut(
    net: Network, k: int, seed: int, init: str, phases: Sequence[Sequence[Link]], steps: int
) -> Record:
    """The first `steps` outer steps, at most, with both clocks on `phases`, beside Lloyd's algorithm from the blended
    centres, which stands for them in Monte Carlo runs. `ssd_rel_diff`: the largest, step by step; `centre_diff`: the
    largest of a coordinate at any node in the end, as a share of the data's range; `same`: the first is below 1e-9."""
    span = net.grid.step * (2**net.grid.bits - 1)
    clock = InnerClock(matrices(phases), tolerance=SHORTCUT_TOLERANCE * span)
    run = dcka(net.tables, own_starts(net, init, k, seed), clock, steps, basis_of(net, k, seed), False)
    first = first_step(net, init, k, seed)
    assert isinstance(first, First)
    central = lloyd(net.points, first.centres, len(run.steps) - 1, keep_ssd=True)
    theirs = np.array([first.ssd, *central.ssds])[: len(run.steps)]
    ours = np.array([float(step.ssd.sum()) for step in run.steps])
    apart = float(np.abs(ours / theirs - 1).max())
    return {
        "k": k,
        "init": init,
        "outer_steps": len(run.steps),
        "slots": int(sum(step.slots for step in run.steps)),
        "ssd_rel_diff": apart,
        "centre_diff": float(np.abs(run.centres - central.centres).max() / span),
        "same": bool(apart < 1e-9 and all(step.agreed for step in run.steps)),
    }


def equality(net: Network, k: int, seed: int) -> Record:
    """Result 1. `dcka_equals_cka`: every node of the full simulation gives every point the label that K-means on all
    points gives it, from the same first step; `ssd` of both, and their centres. `farthest_from_a_mean`: the largest
    distance of a Gaussian's mean to the nearest centre. `cka_random`: CKA's SSD from one node's draw."""
    run = full_run(net, k, seed)
    first = first_step(net, "local", k, seed)
    assert isinstance(first, First)
    central = lloyd(net.points, first.centres)
    labels = np.split(central.labels, np.cumsum(net.sizes)[:-1])
    same = all(
        _labels_equal(table, centres, own)
        for table, centres, own in zip(net.tables, run.centres, labels, strict=True)
    )
    gap = float(np.abs(run.centres - central.centres).max())
    return {
        "dcka_equals_cka": bool(same and abs(run.ssd / central.ssd - 1) < 1e-9),
        "ssd_dcka": run.ssd,
        "ssd_cka": central.ssd,
        "largest_centre_difference": gap,
        "outer_steps": len(run.steps),
        "slots": int(sum(step.slots for step in run.steps)),
        "centres": run.centres[0].tolist(),
        "farthest_from_a_mean": _farthest(np.array(MEANS), run.centres[0]),
        "cka_random": lloyd(net.points, central_start(net, k, seed, 0)).ssd,
    }


def _farthest(means: Table, centres: Table) -> float:
    """The largest distance of a mean to the centre nearest to it."""
    return float(np.linalg.norm(means[:, None] - centres, axis=2).min(axis=1).max())


def _labels_equal(table: Table, centres: Table, labels: NDArray[np.int64]) -> bool:
    squared = np.square(table[:, None] - centres[None]).sum(axis=2)
    return bool(np.array_equal(squared.argmin(axis=1), labels))


def mass_course(net: Network, k: int, seed: int, steps: Sequence[int] = (0, 1, 2)) -> Record:
    """Result 2. `mass`: for each outer step of `steps`, x²_i1(s) of every node, (slots + 1, N); `limit` of each.

    `consensus_rate_measured`: the factor per period of the distance from the mean, by least squares on its logarithm;
    `consensus_rate_predicted`: |λ2| of A_c A_b. Per slot it is the square root.
    """
    clock = InnerClock(matrices(), slots=RATE_SLOTS)
    run = dcka(net.tables, own_starts(net, "local", k, seed), clock, max(steps) + 1, basis_of(net, k, seed))
    mass = {}
    for step in steps:
        x = run.steps[step].x
        assert x is not None
        mass[step] = x[:, :, 0, 0]
    every = np.stack(
        [np.concatenate([s.x[..., c] for s in run.steps if s.x is not None], axis=2) for c in range(3)]
    )
    measured = fitted_rate(every.transpose(1, 2, 3, 0).reshape(RATE_SLOTS + 1, len(net.tables), -1), 2)
    rate = predicted_rate(matrices())
    logs = np.log(measured) / np.log(rate.per_period)
    return {
        "mass": {str(step): own.tolist() for step, own in mass.items()},
        "limit": {str(step): float(own[0].mean()) for step, own in mass.items()},
        "consensus_rate_measured": measured,
        "consensus_rate_predicted": rate.per_period,
        "rate_per_slot_measured": float(measured**0.5),
        "rate_per_slot_predicted": rate.per_slot,
        "log_ratio": float(logs),
        "within_5_percent": bool(abs(logs - 1) <= 0.05),
    }


def fitted_rate(x: Table, period: int) -> float:
    """The factor per period at which x (slots + 1, N, …) approaches its mean over the nodes.

    The logarithm of the norm of the error, at whole periods, against the period, by least squares, while the error is
    within FIT_TO … FIT_FROM of the first.
    """
    flat = x[::period].reshape(-1, x.shape[1], int(np.prod(x.shape[2:])))
    error = np.linalg.norm(flat - flat.mean(axis=1, keepdims=True), axis=(1, 2))
    share = error / error[0]
    inside = np.flatnonzero((share <= FIT_FROM) & (share >= FIT_TO))
    if len(inside) < 3:
        raise ValueError("The decay has fewer than 3 periods to fit.")
    slope = np.polyfit(inside, np.log(error[inside]), 1)[0]
    return float(np.exp(slope))


def curves(net: Network, ks: Sequence[int], seed: int) -> Record:
    """Result 3: for each K the SSD before each update, of CKA from one node's draw and of DCKA, and of CKA from DCKA's
    blended centres, which must be DCKA's."""
    found: Record = {}
    for k in ks:
        first = first_step(net, "local", k, seed)
        assert isinstance(first, First)
        blended = lloyd(net.points, first.centres, keep_ssd=True)
        run = full_run(net, k, seed)
        found[str(k)] = {
            "dcka": [float(step.ssd.sum()) for step in run.steps],
            "cka_same_start": [first.ssd, *blended.ssds.tolist()],
            "cka": lloyd(net.points, central_start(net, k, seed, 0), keep_ssd=True).ssds.tolist(),
        }
        ours, theirs = found[str(k)]["dcka"], found[str(k)]["cka_same_start"]
        found[str(k)]["same"] = len(ours) == len(theirs) and bool(
            np.allclose(ours, theirs, rtol=1e-9, atol=0)
        )
    return found
