"""What the paper proves, beside what is: the error bound, S(δ), the margin, the formulas of cost, time and memory."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.datasets import gaussians
from dcka.experiments import bounds, margins
from dcka.experiments.consensus import full_run, matrices
from dcka.experiments.costs import counted_run, formulas
from dcka.experiments.network import Network, basis_of, network, own_starts
from dcka.reference import InnerClock, Link, dcka, experiment1_phases, experiment2_phases

Table = NDArray[np.float64]
Record = dict[str, Any]

SLOTS = 60
"""Followed in a step: long before, every node's error is rounding."""
SHOWN_SLOTS = (0, 1, 2, 5, 10)
SWEEP_STATES = MARGIN_TRIALS = 2000
COST_SLOTS, COST_STEPS = 12, 5


def check(net: Network, k: int, seed: int) -> Record:
    """All of it, on experiment 1's network."""
    return {
        "bound": bound_check(net, k, seed),
        "bound_sweep": bound_sweep(seed),
        "slots": slots_check(net, k, seed),
        "margin": margins.margin_check(seed, MARGIN_TRIALS),
        "cost": cost_check(net, k, seed),
    }


def bound_check(net: Network, k: int, seed: int) -> Record:
    """The bound and the corrected one, slot by slot, in the first outer step of experiment 1; the largest of a
    cluster. `times`: by what the paper's exceeds the error, the least of a cluster, at some slots."""
    clock = InnerClock(matrices(), SLOTS)
    run = dcka(net.tables, own_starts(net, "local", k, seed), clock, 1, basis_of(net, k, seed))
    first, found = run.steps[0].inputs, bounds.constants(matrices())
    measured = bounds.errors(bounds.evolve(first, matrices(), SLOTS))
    paper = np.array([bounds.bound(first, found, s) for s in range(SLOTS + 1)])
    right = np.array([bounds.bound(first, found, s, 4) for s in range(SLOTS + 1)])
    with np.errstate(divide="ignore"):
        times = (paper / measured).min(axis=1)
    return {
        "nodes": found.nodes,
        "epsilon": found.epsilon,
        "tau": found.tau,
        "zeta": found.zeta,
        "rho": found.rho,
        "measured": [_finite(value) for value in measured.max(axis=1).tolist()],
        "paper": paper.max(axis=1).tolist(),
        "corrected": right.max(axis=1).tolist(),
        "times": {str(slot): _finite(float(times[slot])) for slot in SHOWN_SLOTS},
        "violations": int((measured > paper).sum()),
        "corrected_in_force_from_slot": bounds.in_force_from(first, found),
        "counterexample": bounds.counterexample(matrices()),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def bound_sweep(seed: int, states: int = SWEEP_STATES) -> Record:
    """How often the paper's bound is violated, slot by slot, from `states` random states of one cluster.

    Node i has m_i points, the logarithm of m_i normal with a deviation of 0 to 4, and a mean anywhere on a line.
    `share`: at SHOWN_SLOTS; `last_slot`: the last at which any state violates it, of SLOTS; None where none does.
    """
    numbers = np.random.default_rng(seed)
    counts = np.exp(numbers.normal(size=(5, states, 1)) * numbers.uniform(0, 4, (1, states, 1)))
    x = np.concatenate([counts, counts * numbers.normal(size=counts.shape)], axis=2)
    found = bounds.constants(matrices())
    measured = bounds.errors(bounds.evolve(x, matrices(), SLOTS))
    violated = np.array([measured[s] > bounds.bound(x, found, s) for s in range(SLOTS + 1)])
    any_at = np.flatnonzero(violated.any(axis=1))
    return {
        "states": states,
        "share": {str(slot): float(violated[slot].mean()) for slot in SHOWN_SLOTS},
        "last_slot": int(any_at[-1]) if len(any_at) else None,
        "ever": float(violated.any(axis=0).mean()),
    }


def slots_check(net: Network, k: int, seed: int) -> list[Record]:
    """S(δ) beside what was needed, in every outer step of a run on the graphs of each experiment, δ being the margin of
    that step's centres: half the least difference of a point's distances to its two nearest.

    For each graph, [median, least, greatest] over the steps of `delta`, `formula`, `for_error`: the first slot from
    which on no node's centre is off by more than δ, `for_labels`: from which on every node labels as K-means does. The
    second network has twenty nodes with 45 points each.
    """
    small = network(list(gaussians(seed % 2**32, 20, 5).values.values()))
    graphs = (("exp1", net, experiment1_phases()), ("exp2", small, experiment2_phases()))
    return [{"graph": name, **_slots_of(own, k, seed, phases)} for name, own, phases in graphs]


def _slots_of(net: Network, k: int, seed: int, phases: Sequence[Sequence[Link]]) -> Record:
    weights = matrices(phases)
    found, follow = bounds.constants(weights), SLOTS * len(phases) * len(net.tables) // 5
    rows = [
        _one_step(net, step.inputs, weights, found, follow) for step in full_run(net, k, seed, phases).steps
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    spread = {n: [float(np.median(own)), min(own), max(own)] for n, own in columns.items()}
    return {
        "nodes": len(net.tables),
        "epsilon": found.epsilon,
        "rho": found.rho,
        "steps": len(rows),
        **spread,
    }


def _one_step(
    net: Network, x: Table, weights: Sequence[Table], found: bounds.Constants, follow: int
) -> Record:
    full = x[..., 0].any(axis=0)
    states = bounds.evolve(x[:, full], weights, follow)
    total = states[0].sum(axis=0)
    centres = total[:, 1:] / total[:, :1]
    delta = min(margins.right_margin(own, centres) for own in net.tables)
    outside = bounds.errors(states).max(axis=1) > delta
    labels = [_labels(own, centres) for own in net.tables]
    for_error = _after_last(outside)
    # Beyond it no label can be another: that is what the margin says.
    wrong = np.array([not _agree(net, state, labels) for state in states[:for_error]], dtype=np.bool_)
    return {
        "delta": delta,
        "formula": bounds.slots_by_formula(x[:, full], found, delta),
        "for_error": for_error,
        "for_labels": _after_last(wrong),
    }


def _after_last(bad: NDArray[np.bool_]) -> int:
    places = np.flatnonzero(bad)
    return int(places[-1]) + 1 if len(places) else 0


def _labels(points: Table, centres: Table) -> NDArray[np.int64]:
    labels: NDArray[np.int64] = np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)
    return labels


def _agree(net: Network, x: Table, labels: Sequence[NDArray[np.int64]]) -> bool:
    """Whether every node with its own ratios gives its points `labels`; a cluster without mass has no centre yet."""
    if not x[..., 0].all():
        return False
    return all(
        np.array_equal(_labels(own, part[:, 1:] / part[:, :1]), right)
        for own, part, right in zip(net.tables, x, labels, strict=True)
    )


def cost_check(net: Network, k: int, seed: int) -> list[Record]:
    """The formulas beside counts, of a run of COST_STEPS outer steps with COST_SLOTS slots each: on experiment 1, on
    twenty nodes with 45 points each and experiment 2's graphs, and on the same nodes all linked to each other."""
    small = network(list(gaussians(seed % 2**32, 20, 5).values.values()))
    every = [(a, b) for a in range(1, 21) for b in range(a + 1, 21)]
    cases: Mapping[str, tuple[Network, Sequence[Sequence[Link]]]] = {
        "experiment 1": (net, experiment1_phases()),
        "20 nodes, experiment 2's graphs": (small, experiment2_phases()),
        "20 nodes, complete graph": (small, [every]),
    }
    found = []
    for name, (own, phases) in cases.items():
        starts = own_starts(own, "local", k, seed)
        counts = counted_run(own.tables, starts, phases, COST_SLOTS, COST_STEPS)[1]
        record = formulas(own.tables, phases, k, COST_SLOTS, COST_STEPS)
        for what in ("bytes", "operations", "numbers"):
            record[what]["counted"] = getattr(counts, what)
        found.append({"case": name, "nodes": len(own.tables), "points": sum(own.sizes), **record})
    return found
