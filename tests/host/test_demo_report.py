"""The demonstration's choices, its report, and how it looks; the nodes are cores in memory."""

import io
import json
from dataclasses import replace

import pytest
from checked_runs import run, with_commit
from rich.console import Console

from dcka.check import check
from dcka.cli import main
from dcka.config.sections import DataSection
from dcka.datasets import gaussians
from dcka.demo import SCENARIOS, Act, Report, Settings
from dcka.demo.material import material, resolution, spiked
from dcka.demo.screen import costs, screen
from dcka.emulation.air import Counts
from dcka.emulation.network import NodeFailure
from dcka.errors import UsageError
from dcka.runs.outcome import decode_commit
from dcka.runs.summary import summary
from dcka.topology import Shape, named

EXACT = {
    "verdict", "runtime", "nodes", "bit_identical", "ssd", "reference_ssd", "float_ssd_rel_diff", "outer_steps",
    "broadcasts", "payload_bytes", "wall_s", "total_s", "heap_bytes",
}  # fmt: skip
PAPER = {"verdict", "max_error", "tolerance", "ssd", "outer_steps", "slots", "broadcasts", "payload_bytes"}
FULL_HEAP = {"heap": 90_000, "ms": 100}


@pytest.fixture(scope="module")
def dataset():
    return gaussians(1, per_gaussian=10)


@pytest.fixture(scope="module")
def acts(dataset):
    graph = named(dataset.node_ids, Shape("experiment1"))
    return {kind: act(run(dataset, graph, kind), dataset) for kind in ("gossip", "tree")}


def act(outcome, dataset):
    results = {node: {**result, **FULL_HEAP} for node, result in outcome.results.items()}
    outcome = replace(outcome, results=results)
    return Act(outcome, check(outcome, dataset), summary(outcome, dataset.record()))


def report(acts, **changes):
    settings = Settings(SCENARIOS["gaussians"], schedules=tuple(acts))
    return replace(Report(settings, 5, 9, "local", 25, dict(acts), total_s=2.5), **changes)


def test_the_record_has_the_exact_run_s_figures_and_the_paper_s_under_gossip(acts):
    record = report(acts).record()
    assert record.keys() >= EXACT
    assert all(record[name] is not None for name in EXACT)
    assert record["gossip"].keys() >= PAPER
    assert all(record["gossip"][name] is not None for name in PAPER)
    assert record["verdict"] == record["gossip"]["verdict"] == "PASS"
    assert record["heap_bytes"] == 90_000
    json.dumps(record, allow_nan=False)


def test_a_spike_is_one_reading_and_the_resolution_is_that_of_the_others(dataset):
    wild = spiked(dataset)
    moved = [node for node in dataset.node_ids if (wild.values[node] != dataset.values[node]).any()]
    assert moved == [1] and (wild.values[1] != dataset.values[1]).sum() == 2
    assert (wild.values[1][0] > 200).all()
    made = material(dataset, DataSection(scale="minmax"), spike=True)
    expected = float(dataset.every[:, 0].std()) / made.grid.steps[0]
    assert resolution(made, dataset)["x"] == pytest.approx(expected)
    assert material(dataset, DataSection(range="quantile"), spike=False).decimals == 8


@pytest.mark.parametrize("kind", ["gossip", "tree"])
def test_one_run_alone_leaves_the_other_s_figures_out(acts, kind):
    record = report({kind: acts[kind]}).record()
    assert record.keys() >= EXACT
    assert record["verdict"] == "PASS"
    assert (record["gossip"] is None) == (kind == "tree")
    assert (record["bit_identical"] is None) == (kind == "gossip")


def test_one_failed_run_fails_it_all(acts, dataset):
    spoilt = with_commit(acts["tree"].outcome, 2, ssd=decode_commit(acts["tree"].outcome, 2).ssd + 1)
    failed = report({"gossip": acts["gossip"], "tree": act(spoilt, dataset)})
    assert failed.word == "FAIL"
    assert failed.record()["gossip"]["verdict"] == "PASS"
    assert any("node 2: its SSD" in reason for reason in failed.reasons())
    assert failed.text().startswith("FAIL\n")


def test_nodes_that_were_missing_make_it_partial_and_what_fails_makes_it_fail(acts):
    verdict = replace(acts["tree"].verdict, passed=False, partial=True)
    partial = report({**acts, "tree": replace(acts["tree"], verdict=verdict)})
    assert (partial.word, partial.passed) == ("PARTIAL", False)
    assert partial.record()["verdict"] == "PARTIAL"
    assert partial.text().startswith("PARTIAL\n")
    failed = replace(acts["gossip"], verdict=replace(acts["gossip"].verdict, passed=False))
    assert report({**partial.acts, "gossip": failed}).word == "FAIL"
    assert report({"tree": partial.acts["tree"]}, settings=Settings(SCENARIOS["gaussians"])).word == "FAIL"


def test_what_was_to_happen_and_did_not_fails_it_and_the_radio_s_counts_are_shown(acts):
    act = replace(acts["tree"], left_out="nothing went wrong", faults=Counts(10, 2, 1, 0))
    made = report({"tree": act})
    assert (made.word, made.reasons()[0]) == ("FAIL", "tree (exact): nothing went wrong")
    assert made.record()["faults"] == {"tree": {"deliveries": 10, "lost": 2, "doubled": 1, "overtaken": 0}}
    assert "the radio: of 10 messages to a neighbour 2 were lost, 1 doubled, 0 overtaken" in made.text()
    assert report(acts).record()["faults"] is None


def test_a_run_that_was_not_made_fails_it(acts):
    settings = Settings(SCENARIOS["gaussians"])
    short = report({"gossip": acts["gossip"]}, settings=settings)
    assert short.word == "FAIL"
    assert short.reasons()[-1] == "tree (exact): was not run"


def test_a_crash_fails_it_with_its_sentence(acts):
    failure = NodeFailure(3, 1, "node 3 crashed: ValueError", ("Traceback",))
    crashed = report(acts, crashed=(failure,))
    assert crashed.word == "FAIL"
    assert crashed.reasons()[0] == failure.sentence
    assert failure.sentence in crashed.text()


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_no_slot_of_a_scenario_is_connected_and_all_together_are(scenario):
    dataset = scenario.data()
    graph = Settings(scenario).config("demo", dataset.node_ids).graph
    assert len(graph.parts()) == 1
    for phase in graph.phases:
        lone = replace(graph, phases=(phase,))
        assert len(lone.parts()) > 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 0}, "--k 0"),
        ({"seed": -1}, "--seed -1"),
        ({"init": "best"}, "--init best"),
        ({"heap": "much"}, "--heap much"),
    ],
)
def test_a_choice_that_cannot_be_is_named_as_it_was_made(changes, words):
    settings = Settings(SCENARIOS["gaussians"], **changes)
    with pytest.raises(UsageError, match=words):
        settings.config("demo", (1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--k", "4000", "--data", "gaussians", "--init", "shared", "--k", "4501"], "--k 4501"),
        (["--broker", "mqtt://127.0.0.1:1", "--broker-engine", "mosquitto"], "one of both"),
        (["--data", "iris"], "'iris'"),
        (["--heap", "12Q"], "--heap 12Q"),
        (["--tail", "0.01", "--range", "minmax"], "--tail goes with --range quantile"),
        (["--tail", "0.01"], "--tail goes with --range quantile"),
    ],
)
def test_the_command_refuses_before_anything_is_started(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert "starting" not in captured.err
    assert list(tmp_path.iterdir()) == []


def played(console, acts, schedules=("gossip", "tree")) -> str:
    """What a console shows of a demonstration."""
    with screen(console, schedules) as view:
        view.begin(2, "cpython")
        view.online(1)
        view.online(2)
        view.injected(4500, 0.1)
        view.note("waiting: for [bold]node 2[/bold]")
        for kind in schedules:
            view.begun(kind)
            for step, ssd in enumerate((9000.0, 6000.0, 5025.25)):
                view.step(kind, step, ssd)
            view.ended(kind, acts[kind].summary, acts[kind].verdict)
    return console.file.getvalue()


def test_in_a_log_each_event_is_a_line(acts):
    text = played(Console(file=io.StringIO(), width=20), acts)
    lines = text.splitlines()
    assert "2 of 2 nodes online" in lines
    assert "1 of 2 nodes online" not in lines
    assert "waiting: for [bold]node 2[/bold]" in lines
    assert "gossip  step   3  SSD 5025.25" in lines
    assert any(line.startswith("tree (exact): PASS, ") for line in lines)
    assert "\x1b" not in text


def test_on_a_terminal_the_runs_stand_side_by_side_at_the_end(acts):
    text = played(Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None), acts)
    last = text[text.rindex("nodes online") :]
    beside = [line for line in last.splitlines() if line.count("SSD 5025.25") == 2]
    assert len(beside) == 1
    assert last.count("PASS") == 2
    assert "[bold]node 2[/bold]" in last


def test_on_a_dumb_terminal_it_is_a_log(acts, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in played(Console(file=io.StringIO(), force_terminal=True), acts)


def test_costs_leave_out_what_is_not_known():
    known = {"slots": 110, "broadcasts": 1640, "payload_bytes": 170368, "wall_s": 0.214}
    assert costs(known) == "110 slots, 1,640 broadcasts, 170,368 bytes, 0.21 s"
    assert costs({**known, "slots": None, "broadcasts": None}) == "170,368 bytes, 0.21 s"
