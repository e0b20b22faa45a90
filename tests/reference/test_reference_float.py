"""DCKA in float64: laws, and experiment 1 of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_data import laws, networks, nine_gaussians, schedules, tables

from dcka.reference import (
    InnerClock,
    cka,
    dcka,
    equal_shares,
    experiment1_phases,
    metropolis,
    predicted_rate,
    random_points_start,
)

FIVE = [1, 2, 3, 4, 5]
SWITCHING = [metropolis(phase, FIVE) for phase in experiment1_phases()]


def test_experiment_1_ends_where_the_central_algorithm_does() -> None:
    nodes = nine_gaussians(3)
    points = np.concatenate(nodes)
    for seed in range(3):
        start = random_points_start(points, 9, np.random.default_rng(seed))
        run = dcka(nodes, [start] * 5, InnerClock(SWITCHING, tolerance=1e-12))
        central = cka(points, start)
        assert run.converged
        assert len(run.steps) == len(central.steps)
        assert all(step.agreed for step in run.steps)
        assert np.abs(run.centres - central.centres).max() < 1e-10
        assert run.ssd == pytest.approx(central.ssd, rel=1e-12)
        assert [step.ssd.sum() for step in run.steps] == pytest.approx(
            [s.ssd for s in central.steps], rel=1e-12
        )
        assert np.array_equal(run.counts.sum(axis=0), central.counts)


def test_own_starts_blend_into_common_centres() -> None:
    nodes = nine_gaussians(4)
    rng = np.random.default_rng(1)
    run = dcka(
        nodes, [random_points_start(own, 9, rng) for own in nodes], InnerClock(SWITCHING, tolerance=1e-9)
    )
    first = run.steps[0]
    total = first.inputs.sum(axis=0)
    assert np.abs(first.centres - total[:, 1:] / total[:, :1]).max() < 1e-8
    assert np.ptp(run.centres, axis=0).max() < 1e-8


def test_the_counts_reach_their_mean_at_the_predicted_rate() -> None:
    nodes = nine_gaussians(5)
    rng = np.random.default_rng(2)
    starts = [random_points_start(own, 9, rng) for own in nodes]
    for matrices in (SWITCHING, [metropolis([(1, 2), (2, 3), (3, 4), (4, 5)], FIVE)]):
        run = dcka(nodes, starts, InnerClock(matrices, slots=16), max_steps=1)
        x = run.steps[0].x
        assert x is not None
        assert x.shape == (17, 5, 9, 3)
        away = np.linalg.norm(x[:, :, :, 0] - x[0, :, :, 0].mean(axis=0), axis=(1, 2))
        measured = np.log(away[14] / away[6]) / 8  # early slots still hold the faster modes
        assert measured == pytest.approx(np.log(predicted_rate(matrices).per_slot), rel=0.05)


@laws
@given(st.data())
def test_mass_is_conserved_in_every_slot(data: st.DataObject) -> None:
    nodes, ids = data.draw(networks())
    start = data.draw(tables(3).filter(len))
    matrices = [metropolis(phase, ids) for phase in data.draw(schedules(ids))]
    run = dcka(nodes, [start] * len(ids), InnerClock(matrices, slots=5), max_steps=3)
    for step in run.steps:
        assert step.x is not None
        assert np.allclose(step.x.sum(axis=1), step.inputs.sum(axis=0), rtol=1e-13)
        assert step.inputs[..., 0].sum() == sum(map(len, nodes))


@laws
@given(st.data())
def test_one_slot_of_a_complete_graph_is_the_central_algorithm(data: st.DataObject) -> None:
    nodes, ids = data.draw(networks())
    start = data.draw(tables(3).filter(len))
    clock = InnerClock([np.full((len(ids), len(ids)), 1 / len(ids))], slots=1)
    run = dcka(nodes, [start] * len(ids), clock, max_steps=1)
    central = cka(np.concatenate(nodes), start, max_steps=1)
    assert np.allclose(run.centres, central.centres, rtol=1e-12, atol=1e-9)


def test_one_node_is_plain_kmeans() -> None:
    points = nine_gaussians(6, nodes=1)
    start = points[0][::100]
    run = dcka(points, [start], InnerClock([np.ones((1, 1))]))
    central = cka(points[0], start)
    assert np.array_equal(run.centres[0], central.centres)
    assert (run.ssd, len(run.steps)) == (central.ssd, len(central.steps))
    assert all(step.slots == 0 for step in run.steps)


def test_equal_shares_on_a_directed_ring_are_enough() -> None:
    nodes = nine_gaussians(7)
    start = nodes[0][::100]
    matrix = equal_shares([(1, 2), (2, 3), (3, 4), (4, 5), (5, 1), (1, 3)], FIVE)
    run = dcka(nodes, [start] * 5, InnerClock([matrix], tolerance=1e-12), keep_slots=False)
    assert run.steps[0].x is None
    assert np.abs(run.centres - cka(np.concatenate(nodes), start).centres).max() < 1e-9


def test_a_node_without_a_start_goes_on_with_what_comes_out() -> None:
    nodes = [np.array([[0.0], [1.0], [10.0]]), np.array([[11.0]]), np.empty((0, 1))]
    clock = InnerClock([np.full((3, 3), 1 / 3)], slots=1)
    run = dcka(nodes, [[[0.0], [10.0]], None, None], clock, fallback=[[5.0], [6.0]])
    assert run.steps[0].inputs[1:].tolist() == np.zeros((2, 2, 2)).tolist()
    assert np.allclose(run.steps[0].centres, [[0.5], [10.0]])
    assert np.allclose(run.centres, [[0.5], [10.5]])
    assert run.ssd == pytest.approx(1.0)


def test_a_cluster_without_mass_in_step_0_takes_the_fallback_or_keeps_the_own_start() -> None:
    nodes = [np.array([[0.0], [1.0]])] * 2
    clock = InnerClock([np.full((2, 2), 0.5)], slots=1)
    same = [[0.0], [0.0]]
    assert np.allclose(dcka(nodes, [same, same], clock, max_steps=1).centres[:, 1], 0.0)
    assert np.allclose(
        dcka(nodes, [same, same], clock, max_steps=1, fallback=[[3.0], [4.0]]).centres[:, 1], 4.0
    )
    with pytest.raises(ValueError, match="give a fallback"):
        dcka(nodes, [same, None], clock, max_steps=1)


def test_two_parts_never_agree() -> None:
    clock = InnerClock([metropolis([(1, 2)], [1, 2, 3])], tolerance=1e-9, max_slots=20)
    run = dcka([np.array([[float(i)]]) for i in range(3)], [[[0.0]]] * 3, clock, max_steps=1)
    assert (run.steps[0].agreed, run.steps[0].slots) == (False, 20)


@pytest.mark.parametrize(
    ("starts", "matrices", "says"),
    [
        ([[[0.0]]], [np.eye(2)], "as many starts"),
        ([None, None], [np.eye(2)], "No node"),
        ([[[0.0]], [[0.0], [1.0]]], [np.eye(2)], "differ in shape"),
        ([[[0.0]], [[0.0]]], [np.eye(3)], "2 rows"),
        ([[[0.0]], [[0.0]]], [], "at least one matrix"),
        ([[[0.0, 1.0]], [[0.0, 1.0]]], [np.eye(2)], "dimensions"),
    ],
)
def test_what_does_not_fit_is_refused(starts: list[object], matrices: list[object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dcka([[[0.0]], [[1.0]]], starts, InnerClock(matrices))  # type: ignore[arg-type]
