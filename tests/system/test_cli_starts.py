"""Every start by its name: `dcka run --init` and `check` with real nodes of both runtimes."""

import json

import numpy as np
import pytest
from lab_folder import RUNTIMES, caller, lab_folder

from dcka.config import State
from dcka.runs.outcome import Outcome

NODES = (1, 2, 3)
FILE = {"network": {"name": "lab", "nodes": list(NODES)}, "topology": {"kind": "line"}, "run": {"k": 4}}
INJECT = ["inject", "readings.csv", "--split-by", "mote"]


def readings():
    """Four clouds, 30 rows a node."""
    stream = np.random.default_rng(6)
    rows = []
    for row in range(90):
        cloud = row // 3 % 4
        temperature, humidity = 20 + 5 * cloud + stream.normal() / 4, 40 + 9 * (cloud % 2) + stream.normal()
        rows.append(f"{1 + row % 3},{temperature:.2f},{humidity:.2f}")
    return "\n".join(["mote,temperature,humidity", *rows]) + "\n"


@pytest.fixture(scope="module", params=RUNTIMES)
def folder(request, tmp_path_factory):
    """A folder with readings, a broker and three nodes that hold them."""
    with lab_folder(request.param, tmp_path_factory.mktemp("lab"), FILE, readings()) as place:
        yield place


@pytest.fixture
def call(folder, monkeypatch, capsys):
    """Calls dcka in the folder, whose nodes hold the readings; (code, stdout, stderr)."""
    monkeypatch.chdir(folder)

    dcka = caller(capsys)
    code, _, err = dcka(*INJECT)
    assert code == 0, err
    return dcka


def result(call, *arguments):
    """The object of a call that goes well, and what it said beside."""
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    return json.loads(out), err


@pytest.mark.parametrize("schedule", ["tree", "gossip"])
def test_every_start_runs_and_passes(call, folder, schedule):
    for init in ("local", "sorted", "snake", "shared", "partition"):
        ran, _ = result(call, "run", "--init", init, "--schedule", schedule)
        assert Outcome.load(State(folder / ".dcka"), ran["run"]).record["init"] == init
        checked, _ = result(call, "check")
        assert (checked["verdict"], checked["seeding"]) == ("PASS", None), (init, checked["reasons"])


@pytest.mark.parametrize("schedule", ["tree", "gossip"])
def test_the_nodes_draw_the_start_and_all_of_it_is_checked(call, folder, schedule):
    ran, said = result(call, "run", "--init", "kmeans++", "--schedule", schedule, "--seed", "3")
    reveals = "note: kmeans++ reveals 4 readings: all nodes and this host see the points that are drawn"
    assert reveals in said.splitlines()
    assert f"run {ran['run'] - 1}: the nodes drew 4 starting centres: " in said
    seeding = Outcome.load(State(folder / ".dcka"), ran["run"] - 1)
    assert (seeding.kind, seeding.whole) == ("seeding", True)
    checked, _ = result(call, "check")
    assert (checked["verdict"], checked["seeding"]["verdict"]) == ("PASS", "PASS"), checked["reasons"]
    assert checked["seeding"]["run"] == seeding.run
    alone, _ = result(call, "check", str(seeding.run))
    assert (alone["kind"], alone["verdict"], alone["bit_identical"]) == ("seeding", "PASS", True)
    code, out, err = call("check", str(seeding.run), "--picture", "s.png")
    assert (code, out) == (2, "") and "is a seeding, of which there is no picture" in err


def test_too_many_clusters_are_refused_before_anything_is_drawn(call, folder):
    last = State(folder / ".dcka").last_run()
    code, out, err = call("run", "--init", "kmeans++", "--k", "91")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("dcka: K = 91 is more than the ") and "distinct points of readings" in line
    assert State(folder / ".dcka").last_run() == last
