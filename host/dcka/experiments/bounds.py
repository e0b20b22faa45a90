"""The paper's bound of the error after some slots, and the slots that follow from it: the formulas."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


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


def in_force_from(x: Table, found: Constants) -> int:
    """The first slot at which `in_force` is true of every cluster of state x."""
    uneven = float((x[..., 0].max(axis=0) / x[..., 0].mean(axis=0)).max())
    slot = max(
        0, math.floor(math.log(0.5 * found.zeta**2 / (found.nodes * uneven)) / math.log(found.rho)) - 1
    )
    while not in_force(x, found, slot).all():
        slot += 1
    return slot


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


def counterexample(matrices: Sequence[Table]) -> dict[str, float | bool]:
    """One cluster, one dimension, slot 0: the first node has one point at 100, each other 1,000 points at 0."""
    x = np.array([[[1.0, 100.0]]] + [[[1000.0, 0.0]]] * (len(matrices[0]) - 1))
    error, limit = float(errors([x])[0, 0]), float(bound(x, constants(matrices), 0)[0])
    return {"error": error, "bound": limit, "violated": error > limit}
