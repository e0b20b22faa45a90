"""The modelled period of a tree, beside what the nodes' core counts when it runs the same slots.

Stated tolerance: slots awake within 15 % on average over the nodes, broadcasts within one a node.
"""

from dataclasses import replace

import pytest
import scenes
from bus import Bus
from scenes import Scene, cloud

from dcka.energy import ESP32
from dcka.schedule import Access, Usage, design_tree
from dcka.schedule.cost import period_costs
from dcka.schedule.periods import nights
from dcka.schedule.tree_slots import tree_timetable
from dcka.topology import Shape, named
from dcka.topology.slot_rows import slot_rows

EXPERIMENT1 = named(range(1, 6), Shape("experiment1"))
RANDOM = named(range(1, 21), Shape("random", radius=0.34, seed=4))


def counted(monkeypatch, parents, slot_ms, association_ms, ppm):
    """(steps, by id the result) of a run of the core on these slots; every second clock is fast, the others slow."""
    made = slot_rows(parents)
    monkeypatch.setattr(scenes, "tree_slots", lambda links: (made.period, made.rows))
    bus = Bus()
    bus.log, bus.connect_ms = [], association_ms
    bus.ppm = {node: (ppm, -ppm)[place % 2] for place, node in enumerate(sorted(parents))}
    data = {node: cloud(node, 8 + node) for node in parents}
    settings = {"slot_ms": slot_ms, "patience_ms": 3 * slot_ms * made.period // 2}
    scene = Scene(data, parents, bus, **settings).finish()
    return scene.final()[0], {node: scene.reports("result", node)[-1] for node in parents}


@pytest.mark.parametrize("ppm", [0, 20_000])
@pytest.mark.parametrize(
    ("graph", "slot_ms", "association_ms"),
    [(EXPERIMENT1, 60, 3), (EXPERIMENT1, 2000, 730), (EXPERIMENT1, 20_000, 730), (RANDOM, 5000, 730)],
)
def test_the_model_counts_what_the_nodes_count(monkeypatch, graph, slot_ms, association_ms, ppm):
    design = design_tree(graph, access=Access.ANY)
    assert design.kept
    steps, results = counted(monkeypatch, design.parents, slot_ms, association_ms, ppm)
    model = replace(ESP32, association_ms=association_ms)
    usage = Usage(slot_ms=slot_ms, steps=steps, runs_a_day=1)
    costs = period_costs(design.timetable, design.root, usage, model)
    awake = sum(steps * cost.awake + 1 for cost in costs.values())
    assert sum(result["slots"] for result in results.values()) == pytest.approx(awake, rel=0.15)
    for node, result in results.items():
        assert abs(result["sent"] - costs[node].ledger.broadcasts) <= 1, node
    lasted = sum(result["ms"] for result in results.values()) / len(results) / slot_ms
    assert lasted == pytest.approx(1 + steps * design.slots, rel=0.1)


def test_a_star_by_hand():
    """Slots of 60 s, period 3, clocks' guards 15 s + T/24. Leaves: beacon to 60 s, then their own slot at 60 s, and
    the outcome at 120 s from 20 s before on; the next beacon from 22.5 s before 180 s on. The root stays for slot 1.
    """
    table = tree_timetable({1: (2, 3), 2: (1,), 3: (1,)}, {1: 0, 2: 1, 3: 1}, Access.ANY)
    found = nights(table, 60_000, 0, ESP32)
    lead = 730 * 5 / 4
    # From 60 s to 100 s, and from 120 s to 157.5 s.
    assert found[2].asleep_ms == found[3].asleep_ms == 40_000 + 37_500 - 2 * lead
    assert (found[2].naps, found[2].asleep) == (2, (False, True, True))
    # From 60 s, where all have been heard, to 120 s, and from there to its own beacon.
    assert found[1].asleep_ms == 60_000 + 60_000 - 2 * lead
    assert found[1].awake_ms == 180_000 - found[1].asleep_ms - 2 * 730


def test_short_slots_are_stayed_through():
    table = tree_timetable({1: (2,), 2: (1,)}, {1: 0, 2: 1}, Access.ANY)
    for slot_ms, naps in ((3000, 0), (60_000, 2)):
        assert nights(table, slot_ms, 5, ESP32)[2].naps == naps


def test_a_node_alone_has_no_nights():
    table = tree_timetable({7: ()}, {7: 0}, Access.ANY)
    assert nights(table, 1000, 5, ESP32)[7].asleep == ()
