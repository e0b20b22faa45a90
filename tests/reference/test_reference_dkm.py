"""DKM: one iteration by hand, its fixed points, and what it tends to on a complete graph."""

import numpy as np
import pytest

from dcka.datasets import gaussians
from dcka.reference import assign, cka, dkm, experiment1_phases, union


def test_one_iteration_by_hand() -> None:
    # One cluster, one dimension, two nodes: u = (3, 10), m = (2, 1), η = 2, |N| = 1.
    run = dkm([[[1.0], [2.0]], [[10.0]]], [[[0.0]], [[4.0]]], [(1, 2)], 2.0, 2)
    first = [(3 + 2 * (0 + 4)) / (2 + 4), (10 + 2 * (4 + 0)) / (1 + 4)]
    assert run.centres[1].ravel() == pytest.approx(first)
    assert run.ssd[0] == pytest.approx(1 + 4 + 36)
    p = [2 * (first[0] - first[1]), 2 * (first[1] - first[0])]
    heard = 2 * (first[0] + first[1])
    assert run.centres[2].ravel() == pytest.approx([(3 - p[0] + heard) / 6, (10 - p[1] + heard) / 5])
    assert run.disagreement[:2] == pytest.approx([4.0, abs(first[0] - first[1])])


def test_one_cluster_tends_to_the_mean_of_all() -> None:
    numbers = np.random.default_rng(1)
    data = [numbers.normal(size=(m, 2)) + m for m in (5, 9, 20)]
    run = dkm(data, [own[:1] for own in data], [(1, 2), (2, 3)], 3.0, 400)
    np.testing.assert_allclose(
        run.centres[-1], np.broadcast_to(np.concatenate(data).mean(0), (3, 1, 2)), atol=1e-6
    )


def test_on_a_complete_graph_it_tends_to_a_local_optimum_of_cka() -> None:
    """From a common start near the means: every node ends where Lloyd's step changes nothing, and with CKA's SSD."""
    data = list(gaussians(2, per_gaussian=40).values.values())
    every = np.concatenate(data)
    start = every[::200][:9]
    links = [(a, b) for a in range(1, 6) for b in range(a + 1, 6)]
    run = dkm(data, [start] * 5, links, 10.0, 400)
    last = run.centres[-1]
    assert run.disagreement[-1] < 1e-6
    again = cka(every, last[0], 1).centres
    np.testing.assert_allclose(again, last[0], atol=1e-6)
    optimum = cka(every, last[0])
    assert run.ssd[-1] == pytest.approx(optimum.ssd, rel=1e-9)
    assert np.array_equal(assign(every, last[0]), optimum.labels)


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="a neighbour for every node"):
        dkm([[[1.0]]] * 3, [[[0.0]]] * 3, [(1, 2)], 1.0, 1)
    with pytest.raises(ValueError, match="positive eta"):
        dkm([[[1.0]]] * 2, [[[0.0]]] * 2, [(1, 2)], 0.0, 1)


def test_on_experiment_1_it_takes_some_thirty_iterations() -> None:
    data = list(gaussians(25).values.values())
    numbers = np.random.default_rng(4)
    starts = [own[numbers.choice(900, 9, replace=False)] for own in data]
    run = dkm(data, starts, union(experiment1_phases()), 10.0, 120)
    within = np.abs(run.ssd / run.ssd[-1] - 1) <= 0.01
    last_outside = int(np.flatnonzero(~within)[-1])
    assert 10 <= last_outside + 1 <= 60
