"""Anomalies: `dcka run`, `anomalies` and `check` with real nodes of both runtimes."""

import json

import numpy as np
import pytest
from lab_folder import RUNTIMES, caller, lab_folder

from dcka.config import State
from dcka.runs.outcome import Outcome

NODES = (1, 2, 3)
FILE = {"network": {"name": "lab", "nodes": list(NODES)}, "topology": {"kind": "line"}, "run": {"k": 3}}
SPIKES = ("1,20.0,90.0", "3,55.0,10.0")


def readings():
    """Three clouds, 40 rows a node; a reading of node 1 and one of node 3 are far from all."""
    stream = np.random.default_rng(3)
    rows = [
        f"{1 + row % 3},{20 + 10 * (row // 3 % 3) + stream.normal() / 2:.2f},"
        f"{40 + 9 * (row // 3 % 3 == 1) + stream.normal() / 2:.2f}"
        for row in range(118)
    ]
    return "\n".join(["mote,temperature,humidity", *rows, *SPIKES]) + "\n"


@pytest.fixture(scope="module", params=RUNTIMES)
def folder(request, tmp_path_factory):
    """A folder with readings, a broker and three nodes that have clustered."""
    with lab_folder(request.param, tmp_path_factory.mktemp("lab"), FILE, readings()) as place:
        yield place


@pytest.fixture
def call(folder, monkeypatch, capsys):
    """Calls dcka in the folder; (code, stdout, stderr)."""
    monkeypatch.chdir(folder)
    return caller(capsys)


def result(call, *arguments):
    """(the object of a call that goes well, what it said beside)."""
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    return json.loads(out), err


def test_without_a_clustering_there_is_nothing_to_be_far_from(call):
    code, out, err = call("anomalies")
    assert (code, out) == (2, "") and "no clustering that finished; make one with: dcka run" in err


def test_counts_alone_are_told_then_readings_where_they_are_asked_for(call, folder):
    result(call, "inject", "readings.csv", "--split-by", "mote")
    run, _ = result(call, "run", "--init", "kmeans++")
    told, said = result(call, "anomalies", "--quantile", "0.95")
    assert "tells how many of its readings are beyond the agreed distance, and no reading" in said
    assert told["clustering"] == run["run"] and told["readings"] == 120
    assert told["events"] == [] and told["beyond"] == sum(told["by_node"].values()) == 6
    verdict, _ = result(call, "check")
    assert verdict["verdict"] == "PASS" and verdict["bit_identical"] and verdict["beyond"] == 6

    told, said = result(call, "anomalies", "--quantile", "0.983", "--reveal", "1")
    assert "up to 3 readings are revealed" in said
    assert (told["reveal"], told["beyond"], told["events_lost"]) == (1, 2, 0)
    spikes = {event["node"]: event["reading"] for event in told["events"]}
    assert spikes == {1: pytest.approx([20.0, 90.0], abs=0.01), 3: pytest.approx([55.0, 10.0], abs=0.01)}
    assert all(event["distance"] > told["threshold"] for event in told["events"])
    verdict, _ = result(call, "check")
    assert verdict["verdict"] == "PASS" and verdict["reveal"] == 1
    code, out, _ = call("anomalies", str(run["run"]), "--quantile", "0.983", "--reveal")
    assert code == 0 and "temperature 55" in out and "node 3, reading" in out


def test_a_check_finds_what_is_wrong(call, folder):
    kept = State(folder / ".dcka")
    number = kept.last_run()
    outcome = Outcome.load(kept, number)
    record = outcome.to_json()
    for change, words in (
        (lambda one: one["results"]["1"].update(beyond=7), "tells of 7 readings beyond"),
        (lambda one: one["events"]["3"][0].update(index=0), "its reading 0, which the reference does not"),
        (lambda one: one["record"]["centres"].reverse(), "the centres are not those that run"),
    ):
        broken = json.loads(json.dumps(record))
        change(broken)
        Outcome.from_json(broken).save(kept)
        code, out, _ = call("check")
        assert code == 1 and words in out, out
    outcome.save(kept)
    assert call("check")[0] == 0


def test_other_data_and_other_runs_are_refused(call, folder):
    for arguments, code, words in (
        (["--quantile", "0.2"], 2, "a quantile of 0.2"),
        (["--quantile", "nan"], 2, "a quantile of nan"),
        (["--reveal", "65"], 2, "65"),
        ([str(State(folder / ".dcka").last_run())], 2, "is a tail"),
    ):
        given, out, err = call("anomalies", *arguments)
        assert (given, out) == (code, "") and words in err, err
    result(call, "inject", "readings.csv", "--columns", "temperature", "--split-by", "mote")
    code, out, err = call("anomalies")
    assert (code, out) == (1, "") and "run again, then look again" in err
