"""`tree` schedules: spanning, shallow or thrifty, and without collisions; counted by hand where they are small."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import connected, hops

from dcka.schedule import Access, ScheduleError, Send, Usage, What, design_tree, prove
from dcka.schedule.tree_design import thrifty
from dcka.schedule.tree_slots import depths_of, tree_timetable
from dcka.schedule.words import signs
from dcka.topology import Graph, Shape, TopologyError, named, spanning_tree

LAW = settings(deadline=None, derandomize=True, max_examples=40)

ACCESS = [Access.TWO_HOP, Access.ONE, Access.ANY]


def require_a_spanning_tree(graph, parents):
    """Every node once, one root, links of the graph alone, and from everywhere a way to the root."""
    near = graph.union()
    assert set(parents) == set(graph.ids)
    assert sum(1 for parent in parents.values() if not parent) == 1
    for node, parent in parents.items():
        assert not parent or parent in near[node]
        steps = 0
        while parents[node]:
            node, steps = parents[node], steps + 1
            assert steps < len(parents)


@LAW
@given(connected(most=9), st.sampled_from(["latency", "energy"]), st.sampled_from(ACCESS))
def test_any_connected_graph_gets_a_tree_that_spans_it_and_a_proven_timetable(graph, prefer, access):
    design = design_tree(graph, prefer, access=access)
    require_a_spanning_tree(graph, design.parents)
    prove(design.timetable)
    inner = len(set(design.parents.values()) - {0})
    others = len(graph.ids) - 1
    assert design.broadcasts == others + inner + bool(others)
    # Each says its sums and hears the outcome, and the beacon.
    assert design.deliveries == 3 * others


@LAW
@given(connected())
def test_for_latency_the_depth_is_the_least_there_is(graph):
    far = hops(graph)
    design = design_tree(graph)
    assert design.depth == min(max(far[root, node] for node in graph.ids) for root in graph.ids)
    assert design.parents == {node: row.parent for node, row in spanning_tree(graph).rows.items()}


@LAW
@given(connected(most=9), st.integers(0, 3))
def test_for_energy_the_worst_node_never_spends_more_and_the_depth_is_kept(graph, more):
    latency = design_tree(graph)
    energy = design_tree(graph, "energy", max_depth=latency.depth + more)
    assert energy.depth <= latency.depth + more
    assert energy.costs[energy.worst].mah <= latency.costs[latency.worst].mah + 1e-9


@LAW
@given(connected(most=8), st.data())
def test_a_root_of_ones_own_is_kept(graph, data):
    root = data.draw(st.sampled_from(graph.ids))
    far = hops(graph)
    for prefer in ("latency", "energy"):
        assert design_tree(graph, prefer, root=root).root == root
    assert design_tree(graph, root=root).depth == max(far[root, node] for node in graph.ids)


@LAW
@given(connected())
def test_where_all_may_send_a_slot_a_layer_is_enough(graph):
    design = design_tree(graph, access=Access.ANY)
    assert design.slots == (1 + 2 * design.depth if design.depth else 0)


@LAW
@given(connected())
def test_where_one_may_send_there_are_as_many_slots_as_broadcasts(graph):
    design = design_tree(graph, access=Access.ONE)
    assert design.slots == design.broadcasts


def test_a_line_of_five_by_hand():
    """3 is the middle. 1 and 5 are four hops apart and send together; 2 and 4 are two apart and do not."""
    design = design_tree(named(range(1, 6), Shape("line")))
    assert design.timetable.slots == (
        (Send(1, (2,), What.SUM), Send(5, (4,), What.SUM)),
        (Send(2, (3,), What.SUM),),
        (Send(4, (3,), What.SUM),),
        (Send(3, (2, 4), What.RESULT),),
        (Send(2, (1,), What.RESULT),),
        (Send(4, (5,), What.RESULT),),
    )
    # The beacon's slot is one more, which all four others hear.
    assert (design.slots, design.broadcasts, design.deliveries) == (7, 8, 12)
    # Slots of 1 s: 5 is idle from 1 s to a guard before 6 s, 4.5 s, and wakes 0.9 s before. 1 has 3.5 s at most.
    assert signs(design) == {
        1: "hS---h-",
        2: "hhS-hS-",
        3: "S-hhS--",
        4: "hh-Sh-S",
        5: "hS···-h",
    }


def test_a_star_by_hand():
    """All are within two hops: one after the other, then one result for all."""
    design = design_tree(named(range(1, 5), Shape("star")))
    assert [[send.sender for send in slot] for slot in design.timetable.slots] == [[2], [3], [4], [1]]
    assert design.timetable.slots[-1] == (Send(1, (2, 3, 4), What.RESULT),)


def test_one_node_needs_no_slot():
    design = design_tree(Graph.build([7], [[]]), "energy")
    assert (design.slots, design.broadcasts, design.depth, design.root, design.most_children) == (
        0,
        0,
        0,
        7,
        0,
    )
    assert design.share(design.costs[7].awake) == 0.0


def test_energy_spreads_the_children_of_a_hub():
    """A hub that hears all, and a ring around it: the shallow tree makes the hub hear eight, the thrifty one
    fewer, and is deeper."""
    rim = list(range(2, 10))
    links = [(1, node) for node in rim] + list(itertools.pairwise(rim)) + [(2, 9)]
    graph = Graph.build(range(1, 10), [links])
    usage = Usage(slot_ms=10_000)
    latency, energy = design_tree(graph, usage=usage), design_tree(graph, "energy", usage=usage, max_depth=4)
    assert (latency.depth, latency.most_children) == (1, 8)
    assert energy.most_children <= 4 and 1 < energy.depth <= 4
    assert energy.costs[energy.worst].mah < 0.7 * latency.costs[latency.worst].mah


@LAW
@given(connected(most=5))
def test_the_search_never_returns_a_tree_worse_than_it_said(graph):
    """With the depths' sum as the score: breadth-first trees are optimal, so it is that of a best root."""
    far = hops(graph)
    found = thrifty(
        graph, lambda tree: ((float(sum(depths_of(tree).values())),), graph.ids[0]), len(graph.ids)
    )
    least = min(sum(far[root, node] for node in graph.ids) for root in graph.ids)
    assert sum(depths_of(found).values()) == least


def test_too_little_depth_and_graphs_in_parts_are_refused():
    graph = named(range(1, 8), Shape("line"))
    with pytest.raises(ScheduleError, match="a tree of 2 hops does not reach everyone; it takes 3 at least"):
        design_tree(graph, "energy", max_depth=2)
    with pytest.raises(TopologyError, match=r"\{1, 2\} and \{3, 4\} never hear each other"):
        design_tree(Graph.build(range(1, 5), [[(1, 2), (3, 4)]]))
    with pytest.raises(TopologyError, match="root = 9 is no node"):
        design_tree(graph, root=9)


def test_a_timetable_for_a_tree_of_ones_own():
    graph = named(range(1, 5), Shape("complete"))
    timetable = tree_timetable(graph.union(), {1: 0, 2: 1, 3: 2, 4: 3})
    prove(timetable)
    assert [[send.sender for send in slot] for slot in timetable.slots] == [[4], [3], [2], [1], [2], [3]]
