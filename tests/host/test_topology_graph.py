"""Graphs and named topologies: what is refused, and what the families promise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.errors import UsageError
from dcka.topology import KINDS, Graph, Shape, TopologyError, named

# Seeded, and patient with a busy machine.
LAW = settings(deadline=None, derandomize=True)

FAMILIES = [kind for kind in KINDS if not kind.startswith("experiment")]


def links_of(graph):
    return sorted({link for phase in graph.phases for link in phase})


@pytest.mark.parametrize(
    ("ids", "phases", "words"),
    [
        ([1, 2, 2], [[(1, 2)]], ["node 2 is there twice"]),
        ([0, 1], [[(0, 1)]], ["node id 0", "1 to 65535"]),
        ([1, 65536], [[(1, 65536)]], ["node id 65536", "1 to 65535"]),
        ([], [[]], ["no nodes"]),
        ([1, 2], [], ["no phase"]),
        ([1, 2], [[(1, 2)], [(2, 9)]], ["phase 1", "2-9", "no node 9", "{1, 2}"]),
        ([1, 2], [[(1, 2), (2, 2)]], ["phase 0", "2-2", "itself"]),
        ([1, 2], [[(1, 2), (2, 1)]], ["phase 0", "2-1", "twice"]),
    ],
)
def test_what_is_no_graph_is_refused_by_name(ids, phases, words):
    with pytest.raises(TopologyError) as caught:
        Graph.build(ids, phases)
    assert isinstance(caught.value, UsageError)
    for word in words:
        assert word in str(caught.value)


def test_the_same_link_may_be_awake_in_two_phases():
    graph = Graph.build([1, 2], [[(1, 2)], [(2, 1)]])
    assert graph.phases == (((1, 2),), ((1, 2),))
    assert graph.union() == {1: (2,), 2: (1,)}


def test_neighbours_and_degrees_belong_to_a_phase():
    graph = Graph.build([7, 3, 5], [[(7, 3), (7, 5)], [(3, 5)]])
    assert graph.ids == (3, 5, 7)
    assert graph.neighbours(0) == {3: (7,), 5: (7,), 7: (3, 5)}
    assert graph.degrees(0) == {3: 1, 5: 1, 7: 2}
    assert graph.degrees(1) == {3: 1, 5: 1, 7: 0}
    assert graph.union() == {3: (5, 7), 5: (3, 7), 7: (3, 5)}


def test_parts_that_never_hear_each_other_are_named():
    graph = Graph.build(range(1, 6), [[(1, 2), (1, 3)], [(4, 5), (2, 3)]])
    assert graph.parts() == [(1, 2, 3), (4, 5)]
    with pytest.raises(TopologyError) as caught:
        graph.require_jointly_connected()
    assert str(caught.value) == (
        "the topology is not jointly connected: {1, 2, 3} and {4, 5} never hear each other; "
        "add a link between them"
    )


def test_many_parts_and_long_parts_stay_one_readable_line():
    graph = Graph.build(range(1, 200), [[(i, i + 1) for i in range(100, 150)]])
    with pytest.raises(TopologyError) as caught:
        graph.require_jointly_connected()
    message = str(caught.value)
    assert len(message) < 200
    assert "{1}, {2}" in message
    assert "parts more" in message


def test_phases_may_be_in_parts_where_their_union_is_not():
    graph = named(range(1, 6), Shape("experiment1"))
    graph.require_jointly_connected()
    for phase in graph.phases:
        assert len(Graph.build(graph.ids, [phase]).parts()) == 2


def test_experiment_1_is_the_papers_switching_topology():
    graph = named(range(1, 6), Shape("experiment1"))
    assert [set(phase) for phase in graph.phases] == [
        {(1, 2), (1, 3), (4, 5)},
        {(2, 3), (3, 4), (2, 4), (1, 5)},
    ]


def test_experiment_2_has_three_phases_of_ten_links_and_diameter_5():
    graph = named(range(1, 21), Shape("experiment2"))
    assert [len(phase) for phase in graph.phases] == [10, 10, 10]
    ring = [(min(i, i % 20 + 1), max(i, i % 20 + 1)) for i in range(1, 21)]
    links = ring + [(i, i + 10) for i in range(1, 11)]
    for phase in range(3):
        assert sorted(graph.phases[phase]) == sorted(links[phase::3])
        assert len(Graph.build(graph.ids, [graph.phases[phase]]).parts()) > 1
    assert max(hops_from(graph, 1).values()) == 5


def hops_from(graph, start):
    union, hops, layer = graph.union(), {start: 0}, [start]
    while layer:
        layer = sorted({other for node in layer for other in union[node]} - hops.keys())
        hops.update(dict.fromkeys(layer, 1 + max(hops.values())))
    return hops


@LAW
@given(st.sampled_from(FAMILIES), st.integers(1, 40), st.data())
def test_every_family_connects_any_ids_in_any_split(kind, nodes, data):
    ids = data.draw(st.lists(st.integers(1, 65535), min_size=nodes, max_size=nodes, unique=True))
    whole = named(ids, Shape(kind))
    assert whole.ids == tuple(sorted(ids))
    assert len(whole.phases) == 1
    whole.require_jointly_connected()
    split = data.draw(st.integers(1, max(1, min(4, len(links_of(whole))))))
    shared_out = named(ids, Shape(kind, split=split))
    assert links_of(shared_out) == links_of(whole)
    assert sum(len(phase) for phase in shared_out.phases) == len(links_of(whole))
    sizes = [len(phase) for phase in shared_out.phases]
    assert max(sizes) - min(sizes) <= 1


def test_families_have_the_links_that_their_names_say():
    def links(kind, nodes=5, **settings):
        return links_of(named(range(1, nodes + 1), Shape(kind, **settings)))

    assert links("line") == [(1, 2), (2, 3), (3, 4), (4, 5)]
    assert links("ring") == [(1, 2), (1, 5), (2, 3), (3, 4), (4, 5)]
    assert links("ring", 3) == [(1, 2), (1, 3), (2, 3)]
    assert links("ring", 2) == [(1, 2)]
    assert links("ring", 1) == []
    assert links("star") == [(1, 2), (1, 3), (1, 4), (1, 5)]
    assert links("grid", 6, columns=3) == [(1, 2), (1, 4), (2, 3), (2, 5), (3, 6), (4, 5), (5, 6)]
    assert links("grid", 5) == [(1, 2), (1, 4), (2, 3), (2, 5), (4, 5)]
    assert len(links("complete", 7)) == 21


def test_random_is_the_same_for_a_seed_and_grows_with_the_radius():
    ids = range(1, 31)
    assert named(ids, Shape("random", seed=4)) == named(ids, Shape("random", seed=4))
    assert named(ids, Shape("random", seed=4)) != named(ids, Shape("random", seed=5))
    assert named(ids, Shape("random")) == named(ids, Shape("random", seed=1))
    near = links_of(named(ids, Shape("random", seed=4)))
    far = links_of(named(ids, Shape("random", seed=4, radius=0.7)))
    assert set(near) < set(far)
    assert len(links_of(named(ids, Shape("random", seed=4, radius=1.5)))) == 30 * 29 // 2


def test_random_without_a_radius_has_the_smallest_that_connects():
    ids = range(1, 31)
    links = links_of(named(ids, Shape("random", seed=4)))
    # Were any smaller radius enough, the graph would hang together without its longest link.
    assert any(
        len(Graph.build(ids, [[other for other in links if other != link]]).parts()) > 1 for link in links
    )


@pytest.mark.parametrize(
    ("nodes", "shape", "words", "setting"),
    [
        (8, Shape("experiment1"), ["experiment1", "5 nodes", "8", "ring"], None),
        (5, Shape("experiment2"), ["experiment2", "20 nodes", "there are 5"], None),
        (5, Shape("torus"), ["torus", "ring"], None),
        (5, Shape("ring", radius=0.5), ["radius = 0.5", "ring", "random"], "radius"),
        (5, Shape("experiment1", split=2), ["split = 2", "experiment1"], "split"),
        (6, Shape("grid", columns=0), ["columns = 0", "at least one"], "columns"),
        (5, Shape("line", split=5), ["split = 5", "4 links"], "split"),
        (3000, Shape("complete"), ["complete", "2000", "3000"], None),
        (20, Shape("random", radius=0.05), ["not jointly connected", "larger radius"], None),
    ],
)
def test_a_shape_that_does_not_fit_is_refused_by_name(nodes, shape, words, setting):
    with pytest.raises(TopologyError) as caught:
        named(range(1, nodes + 1), shape)
    assert caught.value.setting == setting
    for word in words:
        assert word in str(caught.value)
