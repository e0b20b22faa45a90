"""What the paper proves, beside what is: the error bound, S(δ), the margin, the formulas of cost, time and memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.experiments.consensus import full_run
from dcka.experiments.network import Network, basis_of, own_starts
from dcka.reference import (
    InnerClock,
    Link,
    dcka,
    experiment1_phases,
    experiment2_phases,
    metropolis,
)

Table = NDArray[np.float64]
Record = dict[str, Any]

SLOTS = 60
MARGIN_TRIALS = 2000


@dataclass(frozen=True)
class Constants:
    """Of a schedule of `nodes` nodes: ε, its least weight that is not 0; τ, its period; ζ = 1 − ε/(4N²), ρ =
    ζ^(1/τ)."""

    nodes: int
    epsilon: float
    tau: int

    @property
    def zeta(self) -> float:
        return 1 - self.epsilon / (4 * self.nodes**2)

    @property
    def rho(self) -> float:
        return float(self.zeta ** (1 / self.tau))


def constants(matrices: Sequence[Table]) -> Constants:
    """Those of a periodic schedule whose phases together are connected."""
    least = min(float(matrix[matrix > 0].min()) for matrix in matrices)
    return Constants(len(matrices[0]), least, len(matrices))


def sigma(x: Table) -> Table:
    """σ_k (K,) of a state x (N, K, n + 1), counts first: max of max_h ‖x¹_h‖ / x̄² and ‖x̄¹‖ · max_h x²_h / (x̄²)²."""
    counts, sums = x[..., 0], x[..., 1:]
    mean = counts.mean(axis=0)
    one = np.linalg.norm(sums, axis=2).max(axis=0) / mean
    other = np.linalg.norm(sums.mean(axis=0), axis=1) * counts.max(axis=0) / mean**2
    return np.asarray(np.maximum(one, other), dtype=np.float64)


def bound(x: Table, found: Constants, slot: int, factor: int = 2) -> Table:
    """The paper's bound (K,) of a centre's error after `slot` slots from state x: factor · N ζ^-2 ρ^s σ_k, factor 2.

    With factor 4 it is right from the slot on where `in_force` says so.
    """
    share: float = factor * found.nodes * found.zeta**-2 * found.rho**slot
    return share * sigma(x)


def in_force(x: Table, found: Constants, slot: int) -> NDArray[np.bool_]:
    """(K,): N ζ^-2 ρ^s max_h x²_h ≤ x̄²/2, where the denominator that the proof leaves out is at least one half."""
    left = found.nodes * found.zeta**-2 * found.rho**slot * x[..., 0].max(axis=0)
    return np.asarray(left <= x[..., 0].mean(axis=0) / 2)


def errors(states: Sequence[Table]) -> Table:
    """(S + 1, K): the largest distance of a node's x¹/x² from the ratio of the means; infinite without mass."""
    sums = states[0].mean(axis=0)
    centre = sums[:, 1:] / sums[:, :1]
    found = []
    for x in states:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = x[..., 1:] / x[..., :1]
        distance = np.linalg.norm(ratio - centre, axis=2)
        found.append(np.where(np.isnan(distance), np.inf, distance).max(axis=0))
    return np.array(found)


def slots_by_formula(x: Table, found: Constants, delta: float) -> int:
    """S(δ) = ⌈log_ρ(ζ² δ / (2 N σ))⌉ for the largest σ_k."""
    share = found.zeta**2 * delta / (2 * found.nodes * float(sigma(x).max()))
    return max(0, math.ceil(math.log(share) / math.log(found.rho)))


def evolve(x: Table, matrices: Sequence[Table], slots: int) -> list[Table]:
    """x(0) … x(slots)."""
    states = [x]
    for s in range(slots):
        states.append(np.tensordot(matrices[s % len(matrices)], states[-1], axes=1))
    return states


def counterexample() -> Record:
    """Five nodes, one cluster, one dimension: the first has one point at 100, the others 1,000 points at 0 each."""
    x = np.array([[[1.0, 100.0]]] + [[[1000.0, 0.0]]] * 4)
    found = constants([metropolis(phase, range(1, 6)) for phase in experiment1_phases()])
    error, limit = float(errors([x])[0, 0]), float(bound(x, found, 0)[0])
    return {"error": error, "bound": limit, "violated": error > limit}


def bound_check(net: Network, k: int, seed: int) -> Record:
    """The bound and the corrected one, slot by slot, in the first outer step of experiment 1; the largest of a
    cluster."""
    matrices = [metropolis(phase, range(1, 6)) for phase in experiment1_phases()]
    run = dcka(
        net.tables, own_starts(net, "local", k, seed), InnerClock(matrices, SLOTS), 1, basis_of(net, k, seed)
    )
    first = run.steps[0].inputs
    found = constants(matrices)
    measured = errors(evolve(first, matrices, SLOTS))
    paper = np.array([bound(first, found, s) for s in range(SLOTS + 1)])
    right = np.array([bound(first, found, s, 4) for s in range(SLOTS + 1)])
    violations = int((measured > paper).sum())
    needed = next(s for s in range(1_000_000) if in_force(first, found, s).all())
    return {
        "nodes": found.nodes,
        "epsilon": found.epsilon,
        "tau": found.tau,
        "zeta": found.zeta,
        "rho": found.rho,
        "measured": [_finite(value) for value in measured.max(axis=1).tolist()],
        "paper": paper.max(axis=1).tolist(),
        "corrected": right.max(axis=1).tolist(),
        "violations": violations,
        "corrected_in_force_from_slot": needed,
        "counterexample": counterexample(),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def slots_check(delta: float = 0.01, seed: int = 1) -> list[Record]:
    """S(δ) beside the slots that were needed, on the graphs of both experiments, for δ = `delta` of the points' spread.

    The state is one cluster of points in the unit square: node i has 1 … 100 points whose mean is anywhere in it.
    """
    found = []
    for name, phases, nodes in (("exp1", experiment1_phases(), 5), ("exp2", experiment2_phases(), 20)):
        matrices = [metropolis(phase, range(1, nodes + 1)) for phase in phases]
        numbers = np.random.default_rng(seed)
        counts = numbers.integers(1, 101, (nodes, 1)).astype(float)
        x = np.concatenate([counts, counts * numbers.random((nodes, 2))], axis=1)[:, None]
        state, slots = x, 0
        while errors([x, state])[1].max() > delta:
            state = np.tensordot(matrices[slots % len(matrices)], state, axes=1)
            slots += 1
        constant = constants(matrices)
        found.append(
            {
                "graph": name,
                "nodes": nodes,
                "delta": delta,
                "formula": slots_by_formula(x, constant, delta),
                "needed": slots,
                "epsilon": constant.epsilon,
                "rho": constant.rho,
            }
        )
    return found


def paper_margin(points: Table, centres: Table) -> float:
    """min over points and other centres of ½(‖y − c_k'‖² − ‖y − c_k‖²), c_k the nearest: the paper's δ, a squared
    distance."""
    squared = np.sort(np.square(points[:, None] - centres[None]).sum(axis=2), axis=1)
    return float((squared[:, 1] - squared[:, 0]).min() / 2)


def right_margin(points: Table, centres: Table) -> float:
    """min over points and other centres of ½(‖y − c_k'‖ − ‖y − c_k‖): centres that are off by less change no label."""
    distance = np.sort(np.linalg.norm(points[:, None] - centres[None], axis=2), axis=1)
    return float((distance[:, 1] - distance[:, 0]).min() / 2)


def margin_check(seed: int, trials: int = MARGIN_TRIALS) -> Record:
    """How often labels flip when every centre is moved, in a direction of the worst case, by 0.999 of each margin.

    The worst case pulls the centre of the point with the least margin away from it, and the other one to it.
    """
    numbers = np.random.default_rng(seed)
    flips = {"paper": 0, "corrected": 0, "just_outside": 0}
    for _ in range(trials):
        points, centres = numbers.normal(size=(30, 2)) * 3, numbers.normal(size=(4, 2)) * 3
        for name, margin in (
            ("paper", 0.999 * paper_margin(points, centres)),
            ("corrected", 0.999 * right_margin(points, centres)),
            ("just_outside", 1.001 * right_margin(points, centres)),
        ):
            flips[name] += _flips(points, centres, margin)
    return {"trials": trials, "flips": flips}


def _flips(points: Table, centres: Table, by: float) -> bool:
    distance = np.linalg.norm(points[:, None] - centres[None], axis=2)
    order = np.argsort(distance, axis=1)
    two = np.take_along_axis(distance, order[:, :2], axis=1)
    worst = int((two[:, 1] - two[:, 0]).argmin())
    nearest, other = order[worst, :2]
    moved = centres.copy()
    for which, sign in ((nearest, 1.0), (other, -1.0)):
        away = centres[which] - points[worst]
        moved[which] += sign * by * away / np.linalg.norm(away)
    after = np.linalg.norm(points[:, None] - moved[None], axis=2).argmin(axis=1)
    return bool((after != order[:, 0]).any())


def cost_check(net: Network, k: int, seed: int) -> Record:
    """The formulas of communication, time and memory beside what a run is counted to take, message by message.

    `communication`: bytes, 2·N_l·K·S·T·N_b with the mean N_l of links a slot. `time`: operations on a vector (a
    distance, a sum), T·K·(M + N·S + N). `memory`: numbers held at once in the network, (2N + M)·K.
    """
    run = full_run(net, k, seed, keep_slots=True)
    phases, nodes, numbers = experiment1_phases(), len(net.tables), net.tables[0].shape[1] + 1
    steps, slots = len(run.steps), [step.slots for step in run.steps]
    points = sum(net.sizes)
    counted = _counted(phases, slots, nodes, k, numbers, points)
    links = sum(len(phases[s % len(phases)]) for count in slots for s in range(count)) / max(1, sum(slots))
    mean_slots = sum(slots) / steps
    return {
        "outer_steps": steps,
        "slots_a_step": mean_slots,
        "links_a_slot": links,
        "communication": {
            "formula": 2 * links * k * mean_slots * steps * numbers * 8,
            "counted": counted["bytes"],
        },
        "time": {
            "formula": steps * k * (points + nodes * mean_slots + nodes),
            "counted": counted["operations"],
        },
        "memory": {"formula": (2 * nodes + points) * k, "counted": counted["numbers"]},
    }


def _counted(
    phases: Sequence[Sequence[Link]], slots: Sequence[int], nodes: int, k: int, numbers: int, points: int
) -> dict[str, int]:
    """Goes through a run message by message; an operation is one on a whole vector of a point or a cluster."""
    sent = operations = 0
    for count in slots:
        operations += points * k + points  # distances to every centre, and each point added to one sum
        for s in range(count):
            operations += nodes * k  # what a node keeps of its own
            for _ in phases[s % len(phases)]:
                for _ in range(2):
                    sent += k * numbers * 8
                    operations += k  # what it hears is weighted and added
        operations += nodes * k  # the ratios
    held = points + nodes * k * 2  # a label a point; sums and centres a node
    return {"bytes": sent, "operations": operations, "numbers": held}
