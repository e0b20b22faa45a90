"""What goes wrong in a demonstration on purpose: when, once, and to whom."""

import pytest

from dcka.cli import main
from dcka.demo import SCENARIOS, Settings
from dcka.demo.mishaps import ROOT, Course, Mishaps
from dcka.emulation.air import Faults
from dcka.errors import UsageError
from dcka.runs.plan import RunPlan


def planned(kind="tree", members=(5, 1, 2, 3, 4)):
    root = members[0] if kind == "tree" else 0
    return RunPlan(1, {"kind": kind}, {}, root, members, 0, 100, {})


class Broker:
    def __init__(self, done):
        self._done = done

    def restart(self):
        self._done.append("broker")


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("dcka.demo.mishaps.time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def course(clock):
    """A course of these mishaps in a run, and the list of what it does."""

    def make(mishaps, made=None):
        done = []

        def did(what):
            return lambda node: done.append((what, node))

        made = made or planned()
        return Course(mishaps, made, did("kill"), did("restart"), Broker(done), lambda text: None), done

    return make


def tell(course, step, node=5):
    course.take("step", {"step": step, "node": node})


def test_it_happens_once_after_its_step(course):
    made, done = course(Mishaps(kill_node="3", at_step=4))
    for step in range(3):
        tell(made, step)
    assert done == []
    assert made.left_out(3) == "nothing went wrong: the run ended after 3 outer steps, and --at-step is 4"
    for step in range(3, 9):
        tell(made, step)
    made.take("turn", {})
    assert done == [("kill", 3)]
    assert made.left_out(9) == ""


def test_a_step_whose_report_was_lost_is_made_up_for_by_the_next(course):
    made, done = course(Mishaps(kill_node=ROOT, at_step=2))
    tell(made, 0)
    tell(made, 4)
    assert done == [("kill", 5)]


def test_the_power_comes_back_when_it_is_time(course, clock):
    made, done = course(Mishaps(kill_node="3", at_step=1, return_after=2))
    tell(made, 0)
    clock[0] += 1.9
    made.take("turn", {})
    assert done == [("kill", 3)]
    clock[0] += 0.2
    for _ in range(3):
        made.take("turn", {})
    assert done == [("kill", 3), ("restart", 3)]


def test_in_gossip_a_step_has_ended_when_all_have_told_of_it(course):
    made, done = course(Mishaps(restart_broker=True, at_step=1), planned("gossip"))
    for node in (1, 2, 3, 4, 4):
        tell(made, 0, node)
    assert done == []
    tell(made, 0, 5)
    assert done == ["broker"]


def test_both_may_happen(course):
    made, done = course(Mishaps(kill_node="3", restart_broker=True, at_step=1))
    tell(made, 0)
    assert done == [("kill", 3), "broker"]


def test_nothing_is_left_out_where_nothing_was_to_happen(course):
    made, done = course(Mishaps())
    tell(made, 99)
    assert (done, made.left_out(99)) == ([], "")


@pytest.mark.parametrize("node", ["9", "x", "-3", "root", ""])
def test_a_victim_that_is_no_node_is_refused_with_those_that_are(node):
    with pytest.raises(UsageError, match=f"--kill-node {node}: the nodes are 1, 2, 3, 4, 5, or ROOT"):
        Mishaps(kill_node=node).victim(planned())
    assert Mishaps(kill_node="3").victim(planned()) == 3
    assert Mishaps(kill_node=ROOT).victim(planned()) == 5
    assert Mishaps().victim(planned()) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--at-step", "3"], "--at-step is the step of a mishap"),
        (["--return-after", "3"], "--return-after is the return of a node"),
        (["--kill-node", "3", "--return-after", "-1"], "--return-after"),
        (["--kill-node", "3", "--at-step", "0"], "--at-step is an outer step from 1 on, not 0"),
        (["--kill-node", "3", "--schedule", "gossip"], "--kill-node is for the exact consensus"),
        (["--kill-node", "77"], "--kill-node 77: the nodes are 1, 2, 3, 4, 5, or ROOT"),
        (
            ["--restart-broker", "--broker", "mqtt://127.0.0.1:1"],
            "--restart-broker is for a broker that the demo",
        ),
        (["--loss", "1"], "--loss is a share"),
        (["--delay-ms", "99999"], "--delay-ms is a number from 0 to 10000"),
    ],
)
def test_what_cannot_go_wrong_is_refused_before_anything_is_started(
    arguments, words, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and "starting" not in captured.err
    assert captured.out == "" and list(tmp_path.iterdir()) == []


def test_nodes_are_hasty_only_where_something_goes_wrong_and_messages_slow_where_it_has_a_step():
    plain = Settings(SCENARIOS["gaussians"])
    lossy = Settings(SCENARIOS["gaussians"], faults=Faults(loss=0.1))
    killed = Settings(SCENARIOS["gaussians"], schedules=("tree",), mishaps=Mishaps(kill_node="3"))
    patience = [one.config("demo", (1, 2, 3, 4, 5)).run.patience_ms for one in (plain, lossy, killed)]
    assert patience[1] < patience[2] < patience[0]
    assert [one.radio.delay_ms > 0 for one in (plain, lossy, killed)] == [False, False, True]
    assert not plain.radio and lossy.radio.loss == 0.1
