"""What is made of a design: a network file that a run comes to the same schedule with, and a picture."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import connected

from dcka.config import parse
from dcka.errors import UsageError
from dcka.inject.dataset import from_values
from dcka.runs.plan import plan
from dcka.schedule import Access, Algorithm, ScheduleError, Usage, design_gossip, design_pairs, design_tree
from dcka.schedule.fragment import network_file
from dcka.schedule.layout import by_hops
from dcka.schedule.picture import draw_design
from dcka.schedule.timetable import Row
from dcka.schedule.words import record, run_as, text
from dcka.topology import Shape, named, spanning_tree

LAW = settings(deadline=None, derandomize=True, max_examples=30)
LINE = named(range(1, 6), Shape("line"))


@LAW
@given(connected(most=10, phases=3), st.sampled_from(["latency", "energy"]))
def test_any_tree_is_written_so_that_a_run_comes_to_it(graph, prefer):
    design = design_tree(graph, prefer)
    config = parse(network_file(design))
    tree = spanning_tree(config.graph, config.topology.root)
    assert {node: row.parent for node, row in tree.rows.items()} == design.parents
    assert set(config.graph.union().items()) == set(graph.union().items()) or prefer == "energy"


@LAW
@given(connected(most=10, phases=3))
def test_any_gossip_is_written_with_room_for_its_slots(graph):
    design = design_gossip(graph, 1e-3)
    config = parse(network_file(design, {"run": {"slots": 7, "seed": 5}}))
    assert config.graph.phases == graph.phases
    assert (config.run.schedule, config.run.tolerance, config.run.slots, config.run.seed) == (
        "gossip",
        1e-3,
        0,
        5,
    )
    assert config.run.max_slots >= 2 * design.slots


def test_slots_are_written_where_a_run_keeps_them():
    graph = named(range(1, 6), Shape("experiment1"))
    table = {"run": {"slot_ms": 90}}
    for access, slot_ms, written in (
        (Access.ANY, 5000, 5000),
        (Access.ANY, None, 90),
        (Access.TWO_HOP, 5000, 90),
    ):
        config = parse(network_file(design_tree(graph, access=access), table, slot_ms))
        assert config.run.slot_ms == written, (access, slot_ms)
    design = design_tree(graph, access=Access.ANY)
    dataset = from_values("made", ["x"], {node: np.arange(9.0)[:, None] for node in graph.ids})
    made = plan(parse(network_file(design, {}, 5000)), dataset.record(), 1)
    assert made.record["period"] == design.slots
    for node, row in made.rows.items():
        works = {0, row["slots"]["up"], row["slots"]["get"], row["slots"]["down"], *row["slots"]["hear"]}
        assert works == {slot for slot, work in enumerate(design.rows()[node]) if work is not Row.REST}
    with pytest.raises(UsageError, match="nodes stay awake"):
        network_file(design, {}, 20)


@pytest.mark.parametrize(
    ("design", "words", "kept"),
    [
        (design_tree(LINE, access=Access.ANY, usage=Usage(5000)), "keeps these slots, and sleeps", True),
        (design_tree(LINE, access=Access.ANY, usage=Usage(60)), "too short for an ESP32", True),
        (design_tree(LINE), "other slots: those of --access any", False),
        (design_tree(named(range(1, 31), Shape("line")), access=Access.ANY), "at most 24", False),
        (design_tree(named([7], Shape("line")), access=Access.ANY), "needs no slots", False),
        (design_gossip(LINE), "stay awake", False),
        (design_pairs(LINE), "a design to compare with", False),
    ],
)
def test_what_a_run_has_of_a_design_is_said(design, words, kept):
    assert words in run_as(design) and words in text(design, "a line")
    made = record(design, "a line", ())["run"]
    assert (made["slots"], made["kind"]) == (kept, design.kind != "pairs")


def test_pairs_are_not_written():
    with pytest.raises(ScheduleError, match="dcka run knows tree and gossip"):
        network_file(design_pairs(named(range(1, 4), Shape("line"))))


DESIGNS = [
    lambda graph: design_tree(graph),
    lambda graph: design_tree(graph, "energy"),
    lambda graph: design_gossip(graph),
    *(lambda graph, one=one: design_pairs(graph, algorithm=one) for one in Algorithm),
]


@pytest.mark.parametrize(
    ("make", "nodes"), [*((make, nodes) for make in DESIGNS for nodes in (1, 7)), (DESIGNS[0], 64)]
)
def test_every_design_is_a_picture(tmp_path, make, nodes):
    design = make(named(range(1, nodes + 1), Shape("grid", split=2 if nodes > 2 else None)))
    path = draw_design(design, tmp_path / "picture.png", "a grid")
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert 1000 < width < 3600 and 700 < height < 2400


def test_the_same_design_is_the_same_svg_and_another_another(tmp_path):
    graph = named(range(1, 8), Shape("ring"))
    first = draw_design(design_tree(graph), tmp_path / "a.svg", "a ring").read_bytes()
    assert draw_design(design_tree(graph), tmp_path / "b.svg", "a ring").read_bytes() == first
    assert draw_design(design_tree(graph, root=4), tmp_path / "c.svg", "a ring").read_bytes() != first
    assert b"tree on a ring: 7 nodes, 7 links" in first


@LAW
@given(connected(most=8, phases=2))
def test_any_graph_has_a_layout(graph):
    places = by_hops(graph.union())
    assert places.shape == (len(graph.ids), 2)
    apart = [abs(a - b).max() for at, a in enumerate(places) for b in places[:at]]
    assert all(distance > 1e-3 for distance in apart)
    assert abs(places).max() <= 1
