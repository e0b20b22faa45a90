"""`pairs` and `gossip` schedules: as many slots and broadcasts as the formulas have, and proven for any N."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import connected

from dcka.schedule import Algorithm, ScheduleError, Send, What, design_gossip, design_pairs, prove
from dcka.schedule.gossip import mixing, second_eigenvalue
from dcka.schedule.pairs import pairs_timetable
from dcka.schedule.timetable import Row
from dcka.topology import Graph, Shape, named, window_slots

LAW = settings(deadline=None, derandomize=True, max_examples=40)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("nodes", range(1, 65))
def test_any_number_of_nodes_is_proven(nodes, algorithm):
    prove(pairs_timetable(range(1, nodes + 1), algorithm))


@LAW
@given(st.integers(1, 200))
def test_slots_and_broadcasts_are_the_formulas(nodes):
    ids = range(1, nodes + 1)
    rounds = math.ceil(math.log2(nodes))
    core = 1 << math.floor(math.log2(nodes))
    circulant = pairs_timetable(ids, Algorithm.CIRCULANT)
    assert (len(circulant.slots), circulant.broadcasts) == (rounds, rounds * nodes)
    fold = pairs_timetable(ids, Algorithm.FOLD)
    extra = nodes - core
    assert len(fold.slots) == round(math.log2(core)) + (2 if extra else 0)
    assert fold.broadcasts == core * round(math.log2(core)) + 2 * extra
    reduce = pairs_timetable(ids, Algorithm.REDUCE)
    assert len(reduce.slots) == (rounds + 1 if nodes > 1 else 0)
    assert reduce.broadcasts == (nodes if nodes > 1 else 0)


def test_twenty_nodes_take_five_slots_and_a_hundred_messages():
    design = design_pairs(named(range(1, 21), Shape("ring")))
    assert (design.slots, design.broadcasts, design.deliveries) == (5, 100, 100)
    assert all(row is Row.BOTH for rows in design.timetable.rows().values() for row in rows)


def test_five_nodes_by_hand():
    """N − 1 = 4 = 100 in binary: each sends its own to the next; then the 1 gathered one on, then the 2 gathered
    two on."""
    timetable = pairs_timetable((1, 2, 3, 4, 5), Algorithm.CIRCULANT)
    assert [slot[0] for slot in timetable.slots] == [
        Send(1, (2,), What.SUM),
        Send(1, (2,), What.REST),
        Send(1, (3,), What.REST),
    ]


def test_for_energy_pairs_take_what_costs_the_worst_node_least():
    graph = named(range(1, 21), Shape("complete"))
    chosen = design_pairs(graph, "energy")
    each = {one: design_pairs(graph, algorithm=one) for one in Algorithm}
    assert chosen.costs[chosen.worst].mah == min(one.costs[one.worst].mah for one in each.values())


@pytest.mark.parametrize(
    ("kind", "nodes", "slots"),
    [
        ("experiment1", 5, 6),
        ("experiment2", 20, 98),
        ("grid", 20, 103),
        ("ring", 20, 278),
        ("ring", 100, 6997),
    ],
)
def test_gossip_takes_the_slots_that_the_documentation_has(kind, nodes, slots):
    """docs/network-toml.md rounds 5.1 slots of experiment 1 to 5; a slot is whole, so it is 6."""
    found = mixing(named(range(1, nodes + 1), Shape(kind)), 1e-4)
    assert found.mixing_slots == slots
    assert found.slots % found.window == 0
    assert found.slots - 2 * found.window < slots <= found.slots - found.window


@LAW
@given(connected(phases=3))
def test_gossip_on_any_phases_shrinks_the_spread_as_fast_as_the_eigenvalue_says(graph):
    value = second_eigenvalue(graph)
    assert 0 <= value < 1
    # With one phase the weights are symmetric, and no start does worse than the eigenvalue.
    if len(graph.phases) == 1 and len(graph.ids) > 1:
        start = np.random.default_rng(len(graph.ids)).normal(size=len(graph.ids))
        mixed = _mixed(graph, start)
        spread = np.linalg.norm(start - start.mean())
        assert np.linalg.norm(mixed - start.mean()) <= value * spread + 1e-9


def _mixed(graph, values):
    """One slot of Metropolis weights, link by link."""
    degrees = graph.degrees(0)
    place = {node: index for index, node in enumerate(graph.ids)}
    after = values.copy()
    for a, b in graph.phases[0]:
        moved = (values[place[b]] - values[place[a]]) / (1 + max(degrees[a], degrees[b]))
        after[place[a]] += moved
        after[place[b]] -= moved
    return after


@LAW
@given(connected(phases=3))
def test_gossip_hears_every_link_both_ways_once_a_period(graph):
    design = design_gossip(graph)
    for slot, links in zip(design.timetable.slots, graph.phases, strict=True):
        heard = sorted((send.sender, hearer) for send in slot for hearer in send.hearers)
        assert heard == sorted([(a, b) for a, b in links] + [(b, a) for a, b in links])
    assert design.slots % window_slots(graph) == 0


def test_gossip_refuses_what_it_cannot_predict():
    graph = named(range(1, 4), Shape("line"))
    for tolerance in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ScheduleError, match="fraction of the spread"):
            design_gossip(graph, tolerance)
    many = Graph.build(range(1, 1003), [[(node, node + 1) for node in range(1, 1002)]])
    with pytest.raises(ScheduleError, match="1000 nodes at most, not 1002"):
        mixing(many, 1e-4)
