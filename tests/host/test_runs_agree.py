"""The nodes agree on their range: real node cores on a bus, and what the host makes of it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bus_connection import host, retained
from hypothesis import given, settings
from hypothesis import strategies as st
from run_network import NODES, Story, configuration, readings, will

from dcka.check import Surveyed, check
from dcka.check.survey import check_survey
from dcka.errors import DckaError
from dcka.inject import data_file
from dcka.inject.dataset import Dataset, from_values, grid_of, on_agreed_grid
from dcka.inject.readings import ReadingSet, as_readings
from dcka.inject.transfer import send
from dcka.mqtt.readiness import NotReady
from dcka.reference import survey_run
from dcka.runs.agree import NotAgreed, agree
from dcka.runs.controller import run
from dcka.runs.plan import PlanError, plan
from dcka.runs.plan_survey import plan_survey
from dcka.runs.summary import summary
from dcka.runs.survey import survey

__all__ = ["host"]
SCALES = ["one", "minmax", "std"]


def config(topology="line", **data):
    made = configuration(topology)
    return made.replaced("data", None, **{"range": "minmax", **data})


def spiked(seed=1):
    """Three clouds, and one reading far outside, at node 2."""
    data = readings(seed)
    values = {node: own.copy() for node, own in data.values.items()}
    values[2][5] = [500.0, -300.0]
    return from_values("clouds", ("x", "y"), {node: np.round(own, 3) for node, own in values.items()})


def equipped(host, data=None):
    """Boot the nodes and give them their readings; the readings."""
    for node in NODES:
        host.bus.add(node, None)
    held = as_readings(data or spiked())
    send(host, held)
    host.forget()
    host.sent.clear()
    return held


def agreed(host, held, made, number=1, **options):
    return agree(host, made, survey(host, NODES), number, readings=held, limit_s=20, **options)


def reference(held, made):
    return survey_run(
        [held.numbers[node] for node in NODES],
        15,
        tail_ppm=made.data.tail_ppm,
        scale=made.data.scale,
    )


def test_the_nodes_hold_the_readings_and_the_broker_knows_of_them(host):
    held = equipped(host)
    record = json.loads(retained(host, "dataset"))
    assert record == json.loads(json.dumps(held.record()))
    assert (record["bits"], record["decimals"], "offset" in record) == (32, 3, False)
    statuses = survey(host, NODES).statuses.values()
    assert {(status.readings, status.dataset) for status in statuses} == {(held.id.hex(), "")}
    assert all(result.skipped for result in send(host, held).values())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("data", [{}, {"range": "quantile", "tail": 0.01}])
def test_host_nodes_and_reference_come_to_one_grid_and_one_file_for_each_node(host, scale, data):
    held, made = equipped(host), config(scale=scale, **data)
    found = agreed(host, held, made)
    expected = reference(held, made)
    whole = found.dataset.grid.whole
    assert (whole.low, whole.width, whole.extents) == (
        expected.grid.low,
        expected.grid.width,
        expected.grid.extents,
    )
    assert found.dataset.id == expected.grid.dataset(held.id)
    clipped = np.zeros(2, dtype=int)
    for node in NODES:
        points, own = expected.grid.quantise(held.numbers[node])
        clipped += own
        assert found.dataset.points[node].tolist() == points.tolist()
        status = survey(host, NODES).statuses[node]
        content = found.dataset.data_file(node)
        assert (status.dataset, status.data) == (found.dataset.id.hex(), data_file.checksum(content)[:16])
        assert host.bus.flash[node]["data.bin"] == content
    assert found.record["clipped"] == clipped.tolist()
    assert json.loads(retained(host, "dataset")) == json.loads(json.dumps(found.record))
    assert grid_of(found.record) == found.dataset.grid
    assert check_survey(found.outcome, held, found.dataset).word == "PASS"


def test_the_page_names_the_figures_of_a_survey(host):
    held, made = equipped(host), config()
    found = agreed(host, held, made)
    figures = check_survey(found.outcome, held, found.dataset).figures
    text = (Path(__file__).resolve().parents[2] / "docs" / "checking.md").read_text("utf-8")
    named = re.search(r"Its figures: (.*?)\n\n", text, re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", named)) == {"verdict", *figures}
    assert figures["low"] == {"x": float(spiked().every[:, 0].min()), "y": -300.0}
    assert figures["high"]["x"] == 500.0


def test_minmax_is_what_the_host_would_have_made(host):
    held = equipped(host)
    found = agreed(host, held, config(scale="minmax"))
    here = from_values("clouds", ("x", "y"), held.values, scale="minmax")
    for node in NODES:
        assert here.points[node].tolist() == found.dataset.points[node].tolist()
    assert here.grid.to_units([7, 9]).tolist() == found.dataset.grid.to_units([7, 9]).tolist()


def test_a_clustering_follows_and_is_checked_in_the_users_units(host):
    held, made = equipped(host), config(range="quantile", tail=0.01)
    found = agreed(host, held, made)
    asked = plan(made, found.record, 2, max_message=dict.fromkeys(NODES, 4096))
    outcome = run(host, asked, limit_s=20)
    assert outcome.whole
    verdict = check(outcome, found.dataset)
    assert (verdict.word, verdict.figures["bit_identical"]) == ("PASS", True)
    assert any("lie outside the range and were clipped" in reason for reason in verdict.reasons)
    centres = np.array(summary(outcome, found.record)["centres"])
    assert np.abs(centres).max() < 10  # the spike pulls no centre away


@pytest.mark.parametrize("columns", [1, 16, 17])
def test_many_columns_and_a_node_without_readings(host, columns):
    stream = np.random.default_rng(columns)
    names = [f"c{j}" for j in range(columns)]
    values = {node: np.round(stream.normal(size=(9, columns)), 2) for node in NODES}
    values[3] = np.zeros((0, columns))
    held = equipped(host, from_values("wide", names, values))
    found = agreed(host, held, config(range="quantile", tail=0.05, scale="std"))
    assert len(found.record["clipped"]) == (columns if columns <= 16 else 1)
    verdict = check_survey(found.outcome, held, found.dataset)
    assert (verdict.word, verdict.figures["clipped"]) == ("PASS", sum(found.record["clipped"]))
    assert Dataset.record(found.dataset) == found.record


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": "00" * 8}, "node 2: its points are 0000000000000000, and by the reference's grid"),
        ({"clipped": [9, 9]}, "node 2: it has clipped [9, 9], the reference [0, 0]"),
        ({"dataset": "ab" * 8}, "node 2: its points are"),
    ],
)
def test_points_that_are_not_the_references_fail(host, change, words):
    held = equipped(host)
    found = agreed(host, held, config())
    statuses = {**found.outcome.statuses, 2: {**found.outcome.statuses[2], **change}}
    forged = replace(found.outcome, statuses=statuses)
    verdict = check_survey(forged, held, found.dataset)
    assert verdict.word == "FAIL" and words in verdict.reasons[0]
    asked = plan(config(), found.record, 2, max_message=dict.fromkeys(NODES, 4096))
    outcome = run(host, asked, limit_s=20)
    assert check(outcome, found.dataset, Surveyed(found.outcome, held)).word == "PASS"
    whole = check(outcome, found.dataset, Surveyed(forged, held))
    assert whole.word == "FAIL" and whole.reasons[0].startswith("survey: node 2")
    unknown = check(outcome, found.dataset)
    assert unknown.word == "PASS" and any("was not checked" in reason for reason in unknown.reasons)


def test_a_grid_that_is_not_the_references_fails(host):
    held = equipped(host)
    found = agreed(host, held, config())
    other = as_readings(spiked(2))
    wrong = replace(
        found.outcome, dataset=other.id.hex(), record={**found.outcome.record, "dataset": other.id.hex()}
    )
    verdict = check_survey(wrong, other, found.dataset)
    assert verdict.word == "FAIL" and "it came to the lower ends" in verdict.reasons[0]
    assert "was about the readings" in check_survey(found.outcome, other).reasons[0]
    whole = found.dataset.grid.whole
    moved = replace(found.dataset.grid, whole=replace(whole, low=(whole.low[0] + 1, whole.low[1])))
    verdict = check_survey(found.outcome, held, replace(found.dataset, grid=moved))
    assert "is on another grid" in verdict.reasons[0]


def test_who_has_agreed_before_does_not_again(host):
    held, made = equipped(host), config()
    first = agreed(host, held, made)
    host.sent.clear()
    again = agreed(host, held, made, 2, kept=first.dataset)
    assert (again.outcome, again.record, again.dataset) == (None, first.record, first.dataset)
    other_host = agree(host, made, survey(host, NODES), 2)
    assert (other_host.outcome, other_host.dataset) == (None, None)
    assert other_host.record == json.loads(json.dumps(first.record))
    assert not host.sent


@pytest.mark.parametrize(
    "change", [{"scale": "std"}, {"range": "quantile"}, {"range": "quantile", "tail": 0.2}]
)
def test_another_range_or_scale_is_agreed_on_anew(host, change):
    held = equipped(host)
    first = agreed(host, held, config())
    second = agreed(host, held, config(**change), 2, kept=first.dataset)
    assert second.outcome is not None and second.record["survey"] == 2
    third = agreed(host, held, config(), 3, kept=second.dataset)
    assert third.outcome is not None and third.record["dataset"] == first.record["dataset"]


def test_a_host_without_the_readings_goes_by_the_brokers_record(host):
    held, made = equipped(host), config()
    elsewhere = agree(host, made, survey(host, NODES), 1, limit_s=20)
    assert elsewhere.dataset is None
    changed = config(scale="std")
    again = agree(host, changed, survey(host, NODES), 2, limit_s=20)
    here = on_agreed_grid(held, again.record)
    assert here.grid == grid_of(again.record) and here.id.hex() == again.record["dataset"]
    host.bus.retained.pop("dcka/lab/dataset")
    host.forget()
    with pytest.raises(DckaError, match="neither the broker nor this folder knows their units"):
        agree(host, made, survey(host, NODES), 3)


def test_gossip_networks_agree_over_a_tree(host):
    held = equipped(host)
    made = config("ring").replaced("run", None, schedule="gossip")
    assert agreed(host, held, made).dataset.grid.whole.low == reference(held, made).grid.low


def test_one_spike_costs_the_others_nothing_and_is_counted(host):
    held = equipped(host)
    wide = agreed(host, held, config()).dataset
    narrow = agreed(host, held, config(range="quantile", tail=0.01), 2).dataset
    assert narrow.grid.step < wide.grid.step / 30
    assert sum(narrow.clipped) >= 2 and sum(wide.clipped) == 0


def test_a_node_that_goes_in_mid_survey_leaves_a_partial_one_that_is_checked(host):
    held, made = equipped(host), config("star")
    steps = Story(
        lambda kind, data: kind == "step" and data["step"] == 1 and 3 in host.bus.nodes and will(host, 3)
    )
    found = agreed(host, held, made, on_event=steps)
    assert (found.outcome.finished, found.outcome.missing) == (True, [3])
    assert any("node 3 took no part" in note for note in found.notes)
    verdict = check_survey(found.outcome, held, found.dataset)
    assert verdict.word == "PARTIAL", verdict.reasons
    with pytest.raises(NotReady, match="node 3 "):
        survey(host, NODES)
    host.bus.boot(3)
    for _ in range(50):
        host.next(0.2)
    late = survey(host, NODES).statuses[3]
    assert late.dataset == found.record["dataset"]  # from the retained final


def test_what_stops_it_is_said_in_a_sentence(host):
    held, made = equipped(host), config()
    with pytest.raises(PlanError, match=r"raise it, take fewer columns, or range = \"host\""):
        plan_survey(made, held.record(), 1, max_message={2: 100})
    dumb = 2
    found = survey(host, NODES)
    without = replace(found, statuses={**found.statuses, dumb: replace(found.statuses[dumb], readings="")})
    with pytest.raises(NotReady, match=f"^node {dumb} has no readings to agree on a range by: .* --readings"):
        agree(host, made, without, 1)
    other = replace(
        found, statuses={**found.statuses, dumb: replace(found.statuses[dumb], readings="ab" * 8)}
    )
    with pytest.raises(NotReady, match="the nodes hold different readings"):
        agree(host, made, other, 1)


def test_a_survey_that_does_not_finish_is_told_and_ended(host):
    held, made = equipped(host), config("star")
    gone = Story(lambda kind, data: kind == "begun" and [will(host, node) for node in (2, 3, 4)])
    with pytest.raises(
        NotAgreed, match=r"^run 1, in which the nodes agree on the range, did not finish: "
    ) as raised:
        agreed(host, held, made, on_event=gone)
    assert not raised.value.outcome.finished
    assert json.loads(retained(host, "run"))["kind"] == "idle"


def test_a_node_that_cannot_make_its_points_is_named(host, monkeypatch):
    held, made = equipped(host), config()
    make = host.bus.make

    def full(node, grid, readings):
        if node == 3:
            machine = host.bus.nodes[node]
            host.bus.perform(node, machine.data_failed("the points can't be made: no space", host.bus.now))
        else:
            make(node, grid, readings)

    monkeypatch.setattr(host.bus, "make", full)
    with pytest.raises(
        NotAgreed, match=r"^node 3 agreed .*: node 3 says: the points can't be made: no space$"
    ):
        agreed(host, held, made)


def test_readings_are_kept_and_read_back(tmp_path):
    held = as_readings(spiked())
    held.save(tmp_path)
    back = ReadingSet.load(tmp_path)
    assert back.record() == held.record() and back.report == held.report
    assert all((back.numbers[node] == held.numbers[node]).all() for node in NODES)
    spiked().save(tmp_path)  # beside them
    assert Dataset.load(tmp_path).id == spiked().id and ReadingSet.load(tmp_path).id == held.id


@given(st.lists(st.tuples(*[st.decimals(-200, 200, places=3)] * 2), min_size=1, max_size=30))
@settings(max_examples=60, deadline=None)
def test_readings_are_exactly_what_was_written(rows):
    values = np.array([[float(cell) for cell in row] for row in rows])
    held = as_readings(from_values("t", ("a", "b"), {1: values}))
    assert held.decimals <= 3 and not any("rounded" in text for text in held.report.warnings)
    ten = 10**held.decimals
    assert [[cell * ten for cell in row] for row in rows] == held.numbers[1].tolist()


def test_readings_that_lose_places_or_do_not_fit_are_told():
    rough = as_readings(from_values("t", ("p", "e"), {1: np.array([[101325.25, 1e-7], [101300.5, 2e-7]])}))
    assert rough.decimals == 4
    (warning,) = [text for text in rough.report.warnings if "rounded" in text]
    assert warning.startswith(
        'column "e": readings are rounded to 0.0001, off by up to 2e-07; 2 distinct ones become 1'
    )
    with pytest.raises(DckaError, match=r'column "p" goes up to 3e\+09, .* take larger units'):
        as_readings(from_values("t", ("p",), {1: np.array([[3e9], [1.0]])}))


def test_std_takes_more_places_for_columns_of_few():
    values = {1: np.array([[0.0, 12.5], [1.0, 99.0]])}
    assert as_readings(from_values("t", ("a", "b"), values)).decimals == 1
    assert as_readings(from_values("t", ("a", "b"), values), "std").decimals == 4
