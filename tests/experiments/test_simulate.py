"""Large networks in memory: the graphs, exactness, and that memory grows as the nodes do."""

import tracemalloc

import numpy as np
import pytest

from dcka.reference import InnerClock, dcka, local_start, tree_run
from dcka.reference import metropolis as dense_metropolis
from dcka.simulate import Settings, SimulationError, simulate
from dcka.simulate.consensus import exact, gossip
from dcka.simulate.graph import breadth_first, chords, geometric, metropolis
from dcka.simulate.nodes import local_draws, nine_gaussians, own_sums


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 8, 100])
def test_chords_connect_all_within_a_few_links(nodes):
    graph = chords(nodes)
    tree = breadth_first(graph)
    assert sorted(tree.order.tolist()) == list(range(nodes))
    assert len(tree.levels) <= max(1, int(np.ceil(np.log2(nodes)))) if nodes > 1 else not tree.levels
    for pairs in graph.phases:
        assert (pairs[:, 0] < pairs[:, 1]).all() and len(np.unique(pairs, axis=0)) == len(pairs)


def test_radio_neighbours_are_those_within_a_radius():
    graph = geometric(300, 4)
    pairs = np.concatenate(list(graph.phases))
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    places = np.random.default_rng(4).random((300, 2))
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    longest = max(distance[a, b] for a, b in pairs)
    assert len(pairs) == int((np.triu(distance <= longest, 1)).sum())
    tree = breadth_first(graph)
    assert len(tree.order) == 300 and tree.parents[0] == -1
    place = {node: i for i, node in enumerate(tree.order.tolist())}
    assert all(place[int(tree.parents[node])] < place[node] for node in range(1, 300))


def test_sparse_weights_are_the_references():
    graph = geometric(40, 2)
    for pairs in graph.phases:
        links = [(int(a) + 1, int(b) + 1) for a, b in pairs]
        np.testing.assert_allclose(
            metropolis(40, pairs).toarray(), dense_metropolis(links, range(1, 41)), atol=1e-15
        )


def test_sums_by_hand_and_in_blocks(monkeypatch):
    points = np.array([[[0.0], [4.0]], [[1.0], [9.0]]])
    sums, ssd = own_sums(points, np.array([[[0.0], [5.0]], [[9.0], [0.0]]]))
    assert sums.tolist() == [[[1, 0], [1, 4]], [[1, 9], [1, 1]]] and ssd == 2.0
    nodes = nine_gaussians(9, 2, 1)
    whole = own_sums(nodes.points, nodes.points[0, :4])
    monkeypatch.setattr("dcka.simulate.nodes.BLOCK", 100)
    in_blocks = own_sums(nodes.points, nodes.points[0, :4])
    assert np.array_equal(whole[0], in_blocks[0]) and whole[1] == pytest.approx(in_blocks[1])


def test_the_exact_run_is_the_reference_of_tree():
    nodes = nine_gaussians(12, 3, 7)
    found = exact(nodes, geometric(12, 1), 5, 3, 60)
    theirs = tree_run(list(nodes.whole), range(1, 13), 5, "local", 3, nodes.grid.extents, 60)
    assert found["bit_identical"] and found["converged"]
    assert found["outer_steps"] == len(theirs.steps)
    np.testing.assert_allclose(found["centres"], nodes.grid.to_units(theirs.centres))


def test_draws_are_the_references():
    nodes = nine_gaussians(3, 2, 1)
    for node, own in enumerate(local_draws(nodes, 4, 9)):
        assert np.array_equal(nodes.whole[node][own], local_start(nodes.whole[node], 4, 9, node + 1))


def test_the_gossip_run_is_the_references():
    nodes = nine_gaussians(8, 4, 5)
    graph = chords(8)
    found = gossip(nodes, graph, 3, 2, 1e-8, 1000, 60)
    matrices = [metropolis(8, pairs).toarray() for pairs in graph.phases]
    starts = np.take_along_axis(nodes.points, local_draws(nodes, 3, 2)[..., None], axis=1)
    clock = InnerClock(matrices, tolerance=1e-8)
    theirs = dcka(list(nodes.points), list(starts), clock, found["outer_steps"], starts[0])
    assert found["agreed"] and found["converged"]
    assert found["slots"] == sum(step.slots for step in theirs.steps)
    np.testing.assert_allclose(found["centres"], theirs.centres[0], atol=1e-12)
    assert found["ssd"] == pytest.approx(theirs.ssd)


def test_memory_grows_as_the_nodes_do():
    """Twice the nodes, at most a tenth more than twice the memory; by what Python and numpy ask for."""

    def peak(nodes):
        tracemalloc.start()
        simulate(Settings(nodes, per_gaussian=2, max_steps=2, max_slots=30), lambda text: None)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)  # imports
    one, two, four = peak(4000), peak(8000), peak(16000)
    assert four - two <= 2.2 * (two - one)


def test_one_node_is_plain_k_means():
    record = simulate(Settings(1, k=3), lambda text: None)
    assert record["tree"]["bit_identical"] and record["tree"]["broadcasts"] == 0
    assert record["gossip"]["slots"] == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nodes": 0}, "--nodes 0: take 1 to 65535"),
        ({"nodes": 70_000}, "--nodes 70000: take 1 to 65535"),
        ({"nodes": 10, "k": 46}, "--k 46: take 1 to 45; a node holds 45 points"),
        ({"nodes": 10, "tolerance": 0.0}, "--tolerance 0: take 1e-12 to 1"),
        ({"nodes": 10, "topology": "star"}, "--topology star: it is chords or random"),
        ({"nodes": 10, "kinds": ("pairs",)}, "--schedule pairs: it is tree or gossip"),
        ({"nodes": 10, "per_gaussian": 10**9}, "--per-gaussian 1e+09: take 1 to"),
    ],
)
def test_what_cannot_be_is_one_sentence(given, words):
    with pytest.raises(SimulationError) as caught:
        simulate(Settings(**given), lambda text: None)
    assert words in str(caught.value)
