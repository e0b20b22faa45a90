"""A plan: the record and rows of the protocol, and a sentence for every run that cannot be."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.config import from_mapping
from dcka.errors import UsageError
from dcka.inject.dataset import from_values
from dcka.mqtt.connection import encoded
from dcka.runs.identity import record_bytes
from dcka.runs.plan import LEAST_TOLERANCE, PlanError, idle, plan
from dcka_core.bounds import message_bound
from dcka_core.errors import CoreError
from dcka_core.record import read_rows, read_run


def network(nodes=5, **run):
    kind = "experiment1" if nodes == 5 else "ring"
    return from_mapping({"network": {"nodes": nodes}, "topology": {"kind": kind}, "run": {"k": 3, **run}})


def record_of(nodes=range(1, 6), rows=20, dimensions=2, seed=0):
    stream = np.random.default_rng(seed)
    values = {node: stream.normal(size=(rows, dimensions)) for node in nodes}
    return from_values("made", [f"c{j}" for j in range(dimensions)], values).record()


def big(**changes):
    return record_of() | changes


def test_the_record_of_a_tree_has_the_keys_of_the_protocol():
    made = plan(network(seed=7, max_steps=30, patience_ms=250), record_of(), 12)
    assert made.record == {
        "v": 1, "run": 12, "kind": "tree", "members": list(made.members), "root": made.root, "depth": 2,
        "dataset": record_of()["dataset"], "points": 100, "n": 2, "bits": 15, "k": 3, "init": "local", "seed": 7,
        "max_steps": 30, "patience_ms": 250, "rows": [20],
    }  # fmt: skip
    assert (made.kind, made.number, made.window) == ("tree", 12, 0)
    assert made.members[0] == made.root
    assert all(row["run"] == 12 and row["v"] == 1 for row in made.rows.values())


def test_the_points_of_each_member_travel_where_there_is_room():
    record = record_of()
    for place, entry in enumerate(record["nodes"].values()):
        entry["rows"] = 10 * (place + 1)
    made = plan(network(), record, 1)
    assert made.record["rows"] == [record["nodes"][str(node)]["rows"] for node in made.members]
    assert read_run(made.record).sizes == made.record["rows"]
    without = {key: value for key, value in made.record.items() if key != "rows"}
    room = record_bytes(without)
    tight = plan(network(k=1), record, 1, max_message=dict.fromkeys(made.members, room))
    assert "rows" not in tight.record and read_run(tight.record).sizes == []


def test_a_record_whose_points_do_not_add_up_is_refused_by_nodes():
    made = plan(network(), record_of(), 1)
    for rows in ([19], [20, 20, 20, 20, 21], [20] * 6, ["20"], [-1, 101], 100):
        with pytest.raises(CoreError):
            read_run({**made.record, "rows": rows})


def test_slots_are_in_the_record_and_the_rows_and_a_node_reads_them():
    made = plan(network(slot_ms=2500, max_steps=10), record_of(), 1)
    plain = plan(network(max_steps=10), record_of(), 1)
    assert made.record == plain.record | {"slot_ms": 2500, "period": 5, "patience_ms": 18750}
    assert made.rows == {node: row | {"slots": made.rows[node]["slots"]} for node, row in plain.rows.items()}
    assert made.rows[made.root]["slots"]["up"] == 0 < made.rows[made.root]["slots"]["down"] < 5
    assert (made.period_ms, plain.period_ms) == (12_500, 0)
    assert (made.longer(120), plain.longer(120)) == (120 + 2 * 12.5 * 10, 120)
    assert [note.split(":")[0] for note in made.notes] == ["patience_ms is raised to 18750"]
    run, rows = read_run(made.record), read_rows(made.rows[made.root])
    assert (run.part, run.slot_ms, run.period, rows.slots[0]) == ("duty", 2500, 5, 0)
    assert (read_run(plain.record).part, read_rows(plain.rows[made.root]).slots) == ("tree", None)


def test_short_slots_are_said_to_be_for_desktops():
    notes = plan(network(slot_ms=60), record_of(), 1).notes
    assert "ESP32 boards would not sleep" in notes[-1]
    assert "from slot_ms = 2306 on" in notes[-1]


def test_slots_are_for_the_exact_consensus_and_for_more_than_one_node():
    made = plan(network(slot_ms=60, schedule="gossip"), record_of(), 1)
    assert "slot_ms" not in made.record
    assert "gossip stay awake" in made.notes[-1]
    alone = plan(network(1, slot_ms=60), record_of([1]), 1)
    assert ("slot_ms" in alone.record, alone.notes) == (False, ())


def test_a_tree_too_deep_for_slots_is_refused():
    line = {"network": {"nodes": 30}, "topology": {"kind": "line"}, "run": {"k": 3, "slot_ms": 100}}
    with pytest.raises(UsageError, match="needs 31 slots a step"):
        plan(from_mapping(line), record_of(range(1, 31)), 1)


def test_the_record_of_gossip_has_its_clock():
    made = plan(network(slots=4, max_slots=40, tolerance=0.001), record_of(), 1, schedule="gossip")
    own = {name: made.record[name] for name in ("slots", "max_slots", "window", "tolerance")}
    assert own == {"slots": 4, "max_slots": 40, "window": 2, "tolerance": round(0.001 * 32767 * 256)}
    assert (made.kind, made.window, made.root) == ("gossip", 2, 0)
    assert "root" not in made.record


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    nodes=st.integers(1, 9),
    kind=st.sampled_from(["tree", "gossip"]),
    k=st.integers(1, 9),
    dimensions=st.integers(1, 5),
    init=st.sampled_from(["local", "sorted", "snake", "partition", "shared"]),
)
def test_what_is_planned_a_node_can_read_and_hold(nodes, kind, k, dimensions, init):
    config = network(nodes, k=k, init=init, schedule=kind)
    limit = 4000
    made = plan(
        config, record_of(range(1, nodes + 1), 9, dimensions), 3, max_message=dict.fromkeys(config.ids, limit)
    )
    run = read_run(json.loads(encoded(made.record)))
    assert run.number == 3 and sorted(run.members) == sorted(made.members) == list(config.ids)
    assert sorted(made.rows) == list(config.ids)
    for row in made.rows.values():
        rows = read_rows(json.loads(encoded(row)))
        assert bool(rows.phases) == (kind == "gossip")
        assert len(encoded(row)) <= made.bound
    shares = [len(phase["share"]) for row in made.rows.values() for phase in row.get("phases", [])]
    assert message_bound(run, max(shares, default=1)) <= made.bound <= limit
    assert len(encoded(made.record)) <= made.bound


def test_a_tolerance_below_what_settles_is_raised_and_said():
    made = plan(network(tolerance=1e-7), record_of(), 1, schedule="gossip")
    assert made.record["tolerance"] == LEAST_TOLERANCE
    assert made.notes == ("tolerance 1e-07 is below what the nodes' arithmetic settles at; 1.9e-06 is taken",)
    assert plan(network(tolerance=1e-7), record_of(), 1).notes == ()
    least = LEAST_TOLERANCE / 256 / 32767
    assert plan(network(tolerance=least), record_of(), 1, schedule="gossip").notes == ()


def test_overrides_take_the_place_of_the_files_values_and_none_leaves_them():
    made = plan(network(k=3, seed=5), record_of(), 1, k=4, seed=None, init="shared")
    assert (made.record["k"], made.record["seed"], made.record["init"]) == (4, 5, "shared")


def test_an_override_is_refused_by_its_options_name():
    with pytest.raises(UsageError, match="--k 0: it must be a whole number from 1 to 4096"):
        plan(network(), record_of(), 1, k=0)
    with pytest.raises(UsageError, match=r"--slots 3: .* slots must be a multiple of that; take 2 or 4"):
        plan(network(), record_of(), 1, schedule="gossip", slots=3)


def test_more_clusters_than_points_are_refused():
    with pytest.raises(PlanError, match="K = 101 is more than the 100 points of made; take fewer clusters"):
        plan(network(), record_of(), 1, k=101)
    with pytest.raises(PlanError, match="K = 5 is more than the 3 distinct points of made"):
        plan(network(), record_of(), 1, k=5, distinct=3)
    assert plan(network(), record_of(), 1, k=5, distinct=5).record["k"] == 5


def test_given_centres_are_brought_to_the_grid():
    data = from_values(
        "made", ("a", "b"), {1: np.array([[10.0, 0.0], [10.0 + 32767 * 0.5, 3.0], [11.0, 1.0]])}
    )
    made = plan(network(1), data.record(), 1, centres=[[10.0, 0.0], [11.3, 2.0], [-99.0, 1e9]])
    assert made.record["init"] == "given"
    assert made.record["centres"] == [0, 0, 3, 4, 0, 32767]
    assert made.record["k"] == 3
    levels = plan(network(1), data.record(), 1, centres=[[7, 8]], on_grid=True)
    assert (levels.record["centres"], levels.record["k"]) == ([7, 8], 1)
    assert read_run(levels.record).centres == [7, 8]


@pytest.mark.parametrize(
    "centres", [[[1.0]], [[1.0, float("nan")]], [[1.0, 2.0], [3.0]], [[float("inf"), 0.0]]]
)
def test_centres_that_are_none_are_refused(centres):
    with pytest.raises(PlanError, match="give K centres of 2 numbers each"):
        plan(network(), record_of(), 1, centres=centres)


def test_messages_that_a_node_cannot_take_are_refused_with_the_k_that_fits():
    config = network(9)
    record = record_of(range(1, 10), 900, 32)
    limits = dict.fromkeys(config.ids, 4000) | {7: 1024}
    with pytest.raises(PlanError, match=r"K = 64 clusters of 32 dimensions \(K·d = 2048\)") as caught:
        plan(config, record, 1, k=64, max_message=limits)
    words = str(caught.value)
    assert "node 7 takes 1,024 (max_message in its node.json)" in words
    fitting = int(words.split("take at most ")[1].split()[0])
    assert plan(config, record, 1, k=fitting, max_message=limits).bound <= 1024
    with pytest.raises(PlanError):
        plan(config, record, 1, k=fitting + 1, max_message=limits)
    needed = int(words.split("raise max_message to ")[1].replace(",", ""))
    assert plan(config, record, 1, k=64, max_message=dict.fromkeys(config.ids, needed)).bound == needed


def test_rows_that_a_node_cannot_take_are_refused():
    nodes = range(1, 200)
    config = from_mapping({"network": {"nodes": 199}, "topology": {"kind": "star"}, "run": {"k": 1}})
    with pytest.raises(
        PlanError, match=r"the run's record has .* bytes and a node's rows up to .* raise max_message to"
    ):
        plan(config, record_of(nodes, 2), 1)


def test_a_node_that_does_not_say_takes_what_is_usual():
    with pytest.raises(PlanError, match="takes 1,024"):
        plan(network(), record_of(rows=900), 1, k=200)


def test_mass_beyond_63_bits_is_refused_with_the_way_out():
    many = {str(node): {"rows": 1 << 26, "sha256": ""} for node in range(1, 6)}
    with pytest.raises(
        PlanError, match=r"gossip: 335,544,320 points at 5 nodes need 67 bits of mass.*--schedule tree"
    ):
        plan(network(), big(nodes=many), 1, schedule="gossip")
    assert plan(network(), big(nodes=many), 1, schedule="tree").record["points"] == 335544320


@pytest.mark.parametrize("n", [0, 513])
def test_dimensions_out_of_bounds_are_refused(n):
    with pytest.raises(PlanError, match=f"{n} dimensions: a node takes 1 to 512"):
        plan(network(), big(n=n), 1)


def test_a_data_set_of_other_nodes_is_refused():
    with pytest.raises(
        PlanError, match="node 5 got nothing of the data set made, which was injected for nodes 1, 2, 3"
    ):
        plan(network(), record_of(range(1, 5)), 1)
    with pytest.raises(
        PlanError, match="the data set made has points at nodes 4 and 5, no longer in the network"
    ):
        plan(network(3), record_of(), 1)


@pytest.mark.parametrize(
    "broken", [{}, {"nodes": []}, {"nodes": {"x": {}}}, {"nodes": {"1": {"rows": "many"}}}]
)
def test_a_broken_record_of_a_data_set_is_named(broken):
    with pytest.raises(PlanError, match="the record of the data set is broken"):
        plan(network(), broken, 1)


def test_the_record_that_ends_a_run_is_read_by_a_node():
    assert read_run(idle(8)).kind == "idle"
