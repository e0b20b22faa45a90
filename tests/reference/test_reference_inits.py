"""Every start in the reference of `tree` and of `gossip`: step 0, and the run to the end."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dcka.reference import (
    GossipRules,
    cka_grid,
    distributed_plus_plus,
    gossip_run,
    local_start,
    partition_labels,
    round_half_up,
    snake_order,
    sorted_order,
    tree_run,
)

K, SEED, IDS = 4, 11, [7, 3, 20]
RULES = GossipRules([[(7, 3)], [(3, 20)]], window=4, tolerance=256, max_slots=5000)


@pytest.fixture
def nodes() -> list[NDArray[np.int64]]:
    numbers = np.random.default_rng(1)
    return [numbers.integers(0, 2000, (size, 2)) for size in (30, 2, 25)]


def step_0(nodes: list[NDArray[np.int64]], init: str) -> NDArray[np.int64]:
    """(K, 3): counts and sums by hand."""
    sums = np.zeros((K, 3), dtype=np.int64)
    for node, own in zip(IDS, nodes, strict=True):
        if init == "partition":
            labels = partition_labels(len(own), K, SEED, node)
        else:
            start = local_start(own, K, SEED, node)
            if start is None:
                continue
            start = start[(sorted_order if init == "sorted" else snake_order)(start)]
            labels = np.square(own[:, None] - start).sum(axis=2).argmin(axis=1)
        for label, point in zip(labels, own, strict=True):
            sums[label] += [1, *point]
    return sums


@pytest.mark.parametrize("init", ["sorted", "snake", "partition"])
def test_tree_blends_what_the_nodes_have(nodes: list[NDArray[np.int64]], init: str) -> None:
    run = tree_run(nodes, IDS, K, init, SEED, [1999, 1999], 50)
    sums = step_0(nodes, init)
    assert run.steps[0].before is None and run.steps[0].counts.tolist() == sums[:, 0].tolist()
    assert run.steps[0].centres.tolist() == round_half_up(sums[:, 1:], sums[:, 0]).tolist()
    central = cka_grid(np.concatenate(nodes), run.steps[0].centres)
    assert run.converged and len(run.steps) == len(central.steps) + 1
    assert np.array_equal(run.centres, central.centres) and run.ssd == central.ssd


def test_tree_with_k_means_plus_plus_is_cka_from_the_networks_picks(nodes: list[NDArray[np.int64]]) -> None:
    run = tree_run(nodes, IDS, K, "kmeans++", SEED, [1999, 1999], 50)
    order = [1, 0, 2]  # ids 3, 7, 20
    picks = distributed_plus_plus([nodes[i] for i in order], [3, 7, 20], K, SEED)
    start = np.array([nodes[order[place]][row] for place, row in picks])
    central = cka_grid(np.concatenate(nodes), start)
    assert run.steps[0].before is not None and np.array_equal(run.steps[0].before, start)
    assert np.array_equal(run.centres, central.centres) and len(run.steps) == len(central.steps)


def test_a_cluster_that_is_empty_everywhere_takes_its_shared_centre() -> None:
    few = [np.array([[5, 5]]), np.array([[9, 9]])]
    run = tree_run(few, [1, 2], 9, "partition", 1, [10, 10], 1)
    plain = tree_run(few, [1, 2], 9, "shared", 1, [10, 10], 1)
    assert plain.steps[0].before is not None
    empty = run.steps[0].empty
    assert empty.sum() >= 7
    assert np.array_equal(run.centres[empty], plain.steps[0].before[empty])


@pytest.mark.parametrize("init", ["sorted", "snake", "partition", "kmeans++"])
def test_gossip_puts_in_what_tree_puts_in(nodes: list[NDArray[np.int64]], init: str) -> None:
    run = gossip_run(nodes, IDS, K, init, SEED, [1999, 1999], 50, RULES)
    tree = tree_run(nodes, IDS, K, init, SEED, [1999, 1999], 50)
    assert run.steps[0].inputs[..., 0].sum(axis=0).tolist() == tree.steps[0].counts.tolist()
    assert run.converged
    assert np.abs(run.steps[0].centres - tree.steps[0].centres).max() <= 2  # the tolerance is one grid step
