"""A data set dealt to nodes, and the network's first step from each start."""

import numpy as np
import pytest

from dcka.datasets import gaussians
from dcka.engine import First, lloyd
from dcka.experiments.network import STARTS, central_start, draws, first_step, network, own_starts
from dcka.experiments.plus import plus_plus
from dcka.experiments.work import dealt
from dcka.reference import (
    InnerClock,
    dcka,
    distributed_plus_plus,
    experiment2_phases,
    local_start,
    metropolis,
    partition_labels,
)


@pytest.fixture(scope="module")
def net():
    return network(list(gaussians(4, per_gaussian=20).values.values()))


def test_local_is_the_nodes_own_draw_on_the_grid(net):
    for node, (start, whole) in enumerate(zip(own_starts(net, "local", 9, 7), net.whole, strict=True), 1):
        assert np.array_equal(net.grid.quantise(start)[0], local_start(whole, 9, 7, node))


@pytest.mark.parametrize("init", ["sorted", "snake"])
def test_orders_are_of_the_same_draw(net, init):
    for own, plain in zip(own_starts(net, init, 9, 7), own_starts(net, "local", 9, 7), strict=True):
        assert sorted(map(tuple, own.tolist())) == sorted(map(tuple, plain.tolist()))
        assert (np.diff(own[:, 0]) >= 0).all() or init == "snake"


def test_the_first_step_by_hand():
    nodes = network([np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([[1.0, 0.0], [5.0, 0.0]])])
    found = first_step(nodes, "sorted", 2, 1)
    assert found.centres.tolist() == [[0.5, 0.0], [4.5, 0.0]]
    labels = [partition_labels(2, 2, 1, node).tolist() for node in (1, 2)]
    sums = [
        [x for x, own in zip((0.0, 4.0, 1.0, 5.0), labels[0] + labels[1], strict=True) if own == k]
        for k in (0, 1)
    ]
    parted = first_step(nodes, "partition", 2, 1)
    for k in (0, 1):
        if sums[k]:
            assert parted.centres[k][0] == pytest.approx(np.mean(sums[k]))


def test_every_start_gives_a_run(net):
    for init in STARTS:
        found = first_step(net, init, 9, 3)
        assert isinstance(found, First) == (init not in ("shared", "kmeans++"))
        result = lloyd(net.points, found.centres if isinstance(found, First) else found)
        assert result.converged and result.ssd > 0


def test_cka_starts_from_one_nodes_draw_another_in_each_run(net):
    for run in range(7):
        assert np.array_equal(central_start(net, 5, 11, run), own_starts(net, "local", 5, 11)[run % 5])


def test_a_node_with_fewer_than_k_points_draws_nothing():
    nodes = network([np.zeros((1, 2)), np.arange(10.0).reshape(5, 2)])
    assert draws(nodes, 3, 1)[0] is None
    assert isinstance(first_step(nodes, "local", 3, 1), First)
    with pytest.raises(ValueError, match="Node 1 holds 1 points, and K is 3"):
        central_start(nodes, 3, 1, 0)


def test_compiled_k_means_plus_plus_picks_what_the_reference_picks(net):
    for seed in range(5):
        assert plus_plus(net.whole, net.ids, 9, seed) == distributed_plus_plus(net.whole, net.ids, 9, seed)
    nodes = [np.array([[0], [0], [5]]), np.empty((0, 1), np.int64), np.array([[5]])]
    for seed in range(20):
        assert plus_plus(nodes, [1, 2, 3], 2, seed) == distributed_plus_plus(nodes, [1, 2, 3], 2, seed)
    with pytest.raises(ValueError, match="Only 2 of the points are distinct"):
        plus_plus(nodes, [1, 2, 3], 3, 1)


def test_points_are_dealt_in_equal_numbers_and_all_of_them():
    values = np.random.default_rng(1).integers(0, 1000, (103, 2)).astype(float)
    nodes = dealt(values, 20, 5)
    assert sorted(nodes.sizes) == [5] * 17 + [6] * 3
    every = np.concatenate(nodes.tables)
    assert sorted(map(tuple, every.tolist())) == sorted(map(tuple, values.tolist()))
    assert not np.array_equal(every, np.concatenate(dealt(values, 20, 6).tables))


@pytest.mark.slow
@pytest.mark.parametrize("init", ["local", "sorted", "snake"])
def test_on_the_graph_of_experiment_2_the_shortcut_is_the_full_simulation(init):
    """Both clocks on twenty nodes and three graphs: the labels of every node are those of K-means on all points from
    the blended centres."""
    numbers = np.random.default_rng(2)
    values = np.concatenate([numbers.normal(c, 0.05, (100, 2)) for c in numbers.random((12, 2)) * 4])
    nodes = dealt(values, 20, 3)
    first = first_step(nodes, init, 8, 3)
    assert isinstance(first, First)
    central = lloyd(nodes.points, first.centres)
    clock = InnerClock([metropolis(phase, range(1, 21)) for phase in experiment2_phases()], tolerance=1e-9)
    run = dcka(nodes.tables, own_starts(nodes, init, 8, 3), clock, central.steps + 1, first.centres, False)
    assert np.abs(run.centres - central.centres).max() < 1e-8
    assert run.ssd == pytest.approx(central.ssd, rel=1e-9)
    assert np.array_equal(run.counts.sum(axis=0), central.counts)
