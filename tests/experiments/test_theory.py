"""The paper's theory: where its bound fails, that the corrected one holds, and the margin as a property."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dcka.datasets import gaussians
from dcka.experiments import theory
from dcka.experiments.network import network
from dcka.reference import experiment1_phases, experiment2_phases, metropolis

laws = settings(max_examples=200, deadline=None)


def matrices(phases, nodes):
    return [metropolis(phase, range(1, nodes + 1)) for phase in phases]


def test_constants_of_experiment_1():
    found = theory.constants(matrices(experiment1_phases(), 5))
    # In (b) node 1 has two neighbours, so a link weighs 1/3; in (c) nodes 2, 3, 4 hear each other: 1/3 too.
    assert (found.nodes, found.tau, found.epsilon) == (5, 2, pytest.approx(1 / 3))
    assert found.zeta == pytest.approx(1 - 1 / 300)
    assert found.rho == pytest.approx((1 - 1 / 300) ** 0.5)


def test_the_counterexample_by_hand():
    found = theory.counterexample()
    assert found["error"] == pytest.approx(100 - 100 / 4001)
    # σ = max(100 / 800.2, 20 · 1000 / 800.2²); 2 · 5 · ζ^-2 · σ
    assert found["bound"] == pytest.approx(10 * 100 / 800.2 / (299 / 300) ** 2)
    assert found["violated"]


@laws
@given(st.integers(0, 2**32 - 1), st.sampled_from([(experiment1_phases(), 5), (experiment2_phases(), 20)]))
def test_the_corrected_bound_holds_where_it_is_in_force(seed, network_of):
    """Any masses, large and tiny, at nodes: once N ζ^-2 ρ^s max x² ≤ x̄²/2, no centre is off by more than 4N ζ^-2
    ρ^s σ."""
    phases, nodes = network_of
    numbers = np.random.default_rng(seed)
    counts = np.exp(numbers.normal(0, numbers.uniform(0, 4), (nodes, 3, 1)))
    x = np.concatenate([counts, counts * numbers.normal(0, 10, (nodes, 3, 2))], axis=2)
    weights = matrices(phases, nodes)
    found = theory.constants(weights)
    uneven = float((counts.max(axis=0) / counts.mean(axis=0)).max())
    slot = math.ceil(math.log(0.5 / nodes * found.zeta**2 / uneven) / math.log(found.rho)) + 1
    assert theory.in_force(x, found, slot).all() and not theory.in_force(x, found, slot - 3).all()
    # Thousands of slots: long before, the state is the mean, but for rounding.
    late = theory.evolve(x, weights, 400)[-1]
    assert (theory.errors([x, late])[1] <= theory.bound(x, found, slot, 4)).all()


@laws
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 4))
def test_centres_within_the_corrected_margin_change_no_label(seed, k, dimensions):
    numbers = np.random.default_rng(seed)
    points, centres = numbers.normal(size=(40, dimensions)), numbers.normal(size=(k, dimensions))
    margin = theory.right_margin(points, centres)
    assume(margin > 1e-9)
    step = numbers.normal(size=centres.shape)
    step *= 0.999999 * margin / np.linalg.norm(step, axis=1, keepdims=True)
    distance = np.linalg.norm(points[:, None] - centres, axis=2)
    moved = np.linalg.norm(points[:, None] - (centres + step), axis=2)
    assert np.array_equal(distance.argmin(axis=1), moved.argmin(axis=1))


def test_margins_by_hand():
    points, centres = np.array([[1.0], [3.5]]), np.array([[0.0], [5.0]])
    assert theory.paper_margin(points, centres) == pytest.approx(min((16 - 1) / 2, (12.25 - 2.25) / 2))
    assert theory.right_margin(points, centres) == pytest.approx(min((4 - 1) / 2, (3.5 - 1.5) / 2))
    assert theory.right_margin(np.array([[2.5]]), centres) == 0.0  # a tie


def test_worst_moves_flip_outside_the_margin_and_never_inside():
    found = theory.margin_check(3, 200)
    assert found["flips"]["corrected"] == 0
    assert found["flips"]["just_outside"] == 200
    assert found["flips"]["paper"] > 150


def test_slots_by_formula_and_needed():
    exp1, exp2 = theory.slots_check()
    assert exp1["formula"] > 100 * exp1["needed"] > 0
    assert exp2["formula"] > 100 * exp2["needed"] > 0


def test_the_formula_of_communication_is_exact():
    net = network(list(gaussians(2, per_gaussian=10).values.values()))
    found = theory.cost_check(net, 4, 2)
    assert found["communication"]["formula"] == pytest.approx(found["communication"]["counted"])
    assert found["links_a_slot"] == pytest.approx(3.5, abs=0.5)
    assert found["time"]["counted"] > found["time"]["formula"]
    assert found["memory"]["counted"] < found["memory"]["formula"]
