"""The nodes draw their start: real node cores on a bus, what the host makes of it, and how it is checked."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bus_connection import host
from checked_runs import with_commit
from run_network import NODES, Story, configuration, ended, equipped, leaf_of, readings, will

from dcka.check import check, check_seeding
from dcka.config import State
from dcka.inject.dataset import from_values
from dcka.inject.transfer import send
from dcka.reference import distributed_plus_plus
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka.runs.plan import PlanError, plan
from dcka.runs.plan_seeding import plan_seeding
from dcka.runs.seed import NotSeeded, drawn_by, plan_from, seed, seeded_plan
from dcka_core.bounds import message_bound
from dcka_core.record import read_run

__all__ = ["host"]
# With this one the leaf that goes after round 3 would have been drawn from again.
SEED = 6
ROOM = dict.fromkeys(NODES, 4096)


def config(**run_section):
    return configuration(**{"k": 5, "seed": 7, "init": "kmeans++", **run_section})


def drawn(host, data, made, number=1, **options):
    return seed(host, made, data.record(), number, max_message=ROOM, limit_s=20, **options)


def expected(data, k, seed, present=None):
    picks = distributed_plus_plus(
        [data.points[node].astype(int) for node in NODES], list(NODES), k, seed, present
    )
    return [(NODES[place], tuple(data.points[NODES[place]][row].tolist())) for place, row in picks]


@pytest.mark.parametrize("kind", ["tree", "gossip"])
@pytest.mark.parametrize("topology", ["line", "star", "complete"])
def test_the_clustering_starts_from_what_the_reference_draws(host, kind, topology):
    data, made = equipped(host), config(topology=topology, schedule=kind)
    found = drawn(host, data, made)
    assert list(zip(found.drawn.owners, found.drawn.centres, strict=True)) == expected(data, 5, 7)
    assert found.outcome.kind == "seeding" and found.outcome.whole
    follows = plan_from(made, data.record(), 2, found.drawn, max_message=ROOM)
    assert (follows.kind, follows.record["init"], follows.record["seeding"]) == (kind, "kmeans++", 1)
    outcome = run(host, follows, limit_s=30)
    verdict = check(outcome, data, None, found.outcome)
    assert verdict.word == "PASS", verdict.reasons
    assert verdict.figures["seeding"]["verdict"] == "PASS"
    assert any(reason.startswith("seeding: 4 of 4 nodes hold the 5 points") for reason in verdict.reasons)
    assert check_seeding(found.outcome, data).word == "PASS"


@pytest.mark.parametrize("init", ["sorted", "snake", "partition", "shared", "local"])
@pytest.mark.parametrize("kind", ["tree", "gossip"])
def test_the_other_starts_are_planned_run_and_checked_by_name(host, kind, init):
    data = equipped(host)
    made = plan(config(init=init, schedule=kind), data.record(), 1, max_message=ROOM)
    verdict = check(run(host, made, limit_s=30), data)
    assert verdict.word == "PASS" and verdict.figures["seeding"] is None, verdict.reasons
    after = any("from the centres after the first consensus" in reason for reason in verdict.reasons)
    assert after == (init != "shared")


def test_a_partial_run_of_each_start_is_replayed(host):
    data = equipped(host)
    for number, init in enumerate(("sorted", "partition"), start=1):
        made = plan(config(init=init, seed=number), data.record(), number, max_message=ROOM)
        gone = []

        def at(kind, told, made=made, gone=gone):
            if ended(kind, told, 0) and not gone:
                gone.append(leaf_of(made))
                will(host, gone[0])

        outcome = run(host, made, on_event=Story(at))
        verdict = check(outcome, data)
        assert gone and verdict.word == "PARTIAL" and verdict.figures["replay_identical"], verdict.reasons
        host.bus.boot(gone[0])


def test_it_is_told_what_is_revealed_and_whose_it_is(host):
    data, story = equipped(host), Story()
    found = seed(host, config(), data.record(), 1, max_message=ROOM, on_event=story)
    (told,) = story.of("seeding")
    assert told["run"] == 1
    assert told["reveals"].startswith("kmeans++ reveals 5 readings: all nodes and this host see")
    whose = dict.fromkeys(sorted(found.drawn.owners), 0)
    for owner in found.drawn.owners:
        whose[owner] += 1
    parts = ", ".join(f"{count} of node {node}" for node, count in whose.items())
    assert found.notes == (f"run 1: the nodes drew 5 starting centres: {parts}",)


def test_a_node_that_goes_keeps_what_was_drawn_of_it(host):
    data, made = equipped(host), config(k=9, seed=SEED)
    gone = []

    def at(kind, told):
        if ended(kind, told, 3) and not gone:
            gone.append(leaf_of(plan_seeding(made, data.record(), 1, max_message=ROOM)))
            will(host, gone[0])

    found = drawn(host, data, made, on_event=Story(at))
    (leaf,) = gone
    assert found.outcome.finished and found.outcome.missing == [leaf]
    assert found.notes[1].startswith(f"node {leaf} took no part in some or all of the draw")
    verdict = check_seeding(found.outcome, data)
    assert verdict.word == "PARTIAL", verdict.reasons
    assert (
        verdict.reasons[0]
        == f"node {leaf}: it did not offer in all rounds of the seeding, or it gave no result"
    )
    rounds = [set(NODES)] * 9
    for report in found.outcome.steps[found.outcome.record["root"]]:
        rounds[report["step"]] = set(NODES) - set(report.get("missing", []))
    assert set(NODES) in rounds and set(NODES) - {leaf} in rounds
    assert list(zip(found.drawn.owners, found.drawn.centres, strict=True)) == expected(data, 9, SEED, rounds)
    # The clustering that follows has everybody again.
    host.bus.boot(leaf)
    outcome = run(host, plan_from(made, data.record(), 2, found.drawn, max_message=ROOM), limit_s=30)
    whole = check(outcome, data, None, found.outcome)
    assert (whole.word, whole.figures["seeding"]["verdict"]) == ("PASS", "PARTIAL"), whole.reasons
    unknown = check(outcome, data)
    assert unknown.word == "FAIL" and "is not kept here" in unknown.reasons[0]
    # A report that is not of what was done.
    spoilt = {
        node: [{name: value for name, value in one.items() if name != "missing"} for one in reports]
        for node, reports in found.outcome.steps.items()
    }
    assert (
        "no replay of the reference" in check_seeding(replace(found.outcome, steps=spoilt), data).reasons[0]
    )


def test_too_few_distinct_points_are_refused_in_a_sentence(host, tmp_path):
    values = {node: [[1.0, 2.0], [5.0, 5.0]] for node in NODES}
    values[3] = [[1.0, 2.0], [9.0, 0.0]]
    for node in NODES:
        host.bus.add(node, None)
    data = from_values("twins", ("x", "y"), values)
    send(host, data)
    host.forget()
    with pytest.raises(PlanError, match="K = 5 is more than the 3 distinct points of twins"):
        drawn(host, data, config(), distinct=3)
    state = State(tmp_path)
    with pytest.raises(NotSeeded, match=r"only 3 of the points are distinct, and kmeans\+\+ needs K = 5"):
        seeded_plan(host, config(), data.record(), 1, state, max_message=ROOM, limit_s=20)
    kept = Outcome.load(state, 1)
    assert kept.finished and decode_commit(kept, 1).step == 4
    assert "fewer than K = 5 of the points are distinct" in check_seeding(kept, data).reasons[0]


def test_a_seeding_that_does_not_finish_says_why(host):
    data = equipped(host)

    def at(kind, told):
        if kind == "begun":
            for node in NODES[1:]:
                will(host, node)

    with pytest.raises(
        NotSeeded, match="run 1, in which the nodes draw the start, did not finish: "
    ) as caught:
        seed(host, config(), data.record(), 1, max_message=ROOM, limit_s=3, on_event=Story(at))
    assert not caught.value.outcome.finished
    assert "did not finish" in check_seeding(caught.value.outcome, data).reasons[0]


def test_what_does_not_fit_is_refused_before_anything_is_drawn(host, tmp_path):
    """The record that will carry K centres, and the seeding's own messages."""
    data = equipped(host)
    host.sent.clear()
    large = config(k=60)
    with pytest.raises(PlanError, match="raise max_message"):
        seeded_plan(host, large, data.record(), 1, State(tmp_path), max_message=dict.fromkeys(NODES, 800))
    with pytest.raises(
        PlanError, match="to draw K = 60 centres of 2 dimensions nodes send messages of up to"
    ):
        plan_seeding(large, data.record(), 1, max_message=dict.fromkeys(NODES, 300))
    with pytest.raises(PlanError, match="plan it with"):
        plan(config(), data.record(), 1, max_message=ROOM)
    assert not host.sent


def test_a_plan_is_one_that_nodes_read(host):
    data = readings()
    for k in (1, 2, 9, 40):
        made = plan_seeding(config(k=k), data.record(), 3, max_message=ROOM)
        record = read_run(json.loads(json.dumps(made.record)))
        assert (record.kind, record.max_steps, record.seed) == ("seeding", k, 7)
        assert message_bound(record) <= made.bound


@pytest.mark.parametrize("where", ["one", "all"])
def test_a_planted_draw_fails(host, where):
    data = equipped(host)
    found = drawn(host, data, config())
    centres = decode_commit(found.outcome, 2).centres
    planted = [centres[0] ^ 1, *centres[1:]]
    spoilt = found.outcome
    for node in NODES if where == "all" else NODES[1:2]:
        spoilt = with_commit(spoilt, node, centres=planted)
    verdict = check_seeding(spoilt, data)
    assert verdict.word == "FAIL"
    assert "centre 0 is" in verdict.reasons[0] and "the reference draws" in verdict.reasons[0]
    assert (
        "last commit is not final" in check_seeding(with_commit(found.outcome, 2, flags=0), data).reasons[0]
    )


def test_a_clustering_from_another_start_fails(host):
    data = equipped(host)
    found = drawn(host, data, config())
    other = replace(found.drawn, centres=((0, 0), *found.drawn.centres[1:]))
    outcome = run(host, plan_from(config(), data.record(), 2, other, max_message=ROOM), limit_s=30)
    words = "the start is not what the nodes have drawn in run 1"
    assert check(outcome, data, None, found.outcome).reasons == [words]
    assert "not what all nodes together draw" in check(outcome, data).reasons[0]
    right = run(host, plan_from(config(), data.record(), 3, found.drawn, max_message=ROOM), limit_s=30)
    alone = check(right, data)
    assert alone.word == "PASS" and alone.figures["seeding"] == {"verdict": "PASS", "run": 1}
    assert "was not" not in "".join(alone.reasons)
    unlike = check_seeding(found.outcome, readings(2))
    assert unlike.word == "FAIL" and "drew from the data set" in unlike.reasons[0]


def test_the_page_names_the_figures_of_a_seeding(host):
    data = equipped(host)
    figures = check_seeding(drawn(host, data, config()).outcome, data).figures
    text = (Path(__file__).resolve().parents[2] / "docs" / "checking.md").read_text("utf-8")
    section = text[text.index("## The start that the nodes drew") :]
    named = re.search(r"Its figures: (.*?)\n\n", section, re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", named)) == {"verdict", *figures}
    assert sum(figures["drawn_from"].values()) == figures["k"] == 5


def test_a_centre_beyond_the_grid_starts_nothing(host):
    data = equipped(host)
    found = drawn(host, data, config())
    centres = list(decode_commit(found.outcome, 2).centres)
    centres[3] = 1 << data.grid.bits
    spoilt = with_commit(found.outcome, 2, centres=centres)
    with pytest.raises(
        OutcomeError,
        match=f"node 2 tells of a centre at {1 << data.grid.bits}, beyond the {data.grid.bits} bits",
    ):
        drawn_by(spoilt, 2)
    assert drawn_by(spoilt, 3).centres == found.drawn.centres
    assert "beyond the" in check_seeding(spoilt, data).reasons[0]
