"""Streams: real nodes of both runtimes that sense a replay; `dcka stream`, `anomalies` and `check`."""

import json
import os
import time

import numpy as np
import pytest
from lab_folder import RUNTIMES, caller
from servers import running

from dcka.config import State, load, template
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.emulation.network import Additions
from dcka.mqtt import Connection
from dcka.mqtt.address import broker_of, note_broker
from dcka.runs.outcome import Outcome
from dcka.sensing.replay import replay_files
from dcka.sensing.settings import REPLAY_FILE, sensor_parts, sensor_settings

NODES = (1, 2, 3)
FILE = {
    "network": {"name": "lab", "nodes": list(NODES)},
    "topology": {"kind": "line", "root": 1},
    "run": {"k": 2, "init": "kmeans++", "patience_ms": 300},
}
DEVICES = """[
  { driver = "adc", pin = 1, columns = { temperature = 1 } },
  { driver = "adc", pin = 2, columns = { humidity = 1 } },
]"""
RANGE = "range = { temperature = [0, 50], humidity = [0, 100] }"
COUNT = 60


def readings():
    """Two clouds in turn, 20 rows a node; every tenth reading of node 3 is beyond the grid."""
    stream = np.random.default_rng(6)
    rows = []
    for row in range(COUNT):
        warm = row // 3 % 2
        hot = 120.0 if row % 30 == 29 else 18 + 9 * warm + stream.normal() / 3
        rows.append(f"{1 + row % 3},{hot:.1f},{40 + 20 * warm + stream.normal():.1f}")
    return "\n".join(["mote,temperature,humidity", *rows]) + "\n"


def write_files(place):
    """network.toml and the file that stands for the sensors."""
    (place / "readings.csv").write_text(readings())
    text = template({**FILE, "data": {"split_by": "mote"}, "sensors": {"every_s": 1, "sync_every": 3}})
    text = text.replace("\ndevices = []", f"\ndevices = {DEVICES}")
    lines = [RANGE if line.startswith("# range = {") else line for line in text.splitlines()]
    (place / "network.toml").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module", params=RUNTIMES)
def lab(request, tmp_path_factory):
    """(folder, network): nodes that sense once a second."""
    if request.param == "micropython" and not available():
        pytest.skip(str(available().reason))
    kind = MicroPythonNetwork if request.param == "micropython" else CPythonNetwork
    place = tmp_path_factory.mktemp("lab")
    write_files(place)
    config = load(place / "network.toml")
    contents = replay_files(place / "readings.csv", NODES, config.sensors, config.data)
    additions = Additions(
        sensor_parts(config.sensors, replayed=True),
        sensor_settings(config.sensors, replayed=True),
        {node: {REPLAY_FILE: contents[node]} for node in NODES},
    )
    with (
        running("embedded") as broker,
        kind("lab", NODES, broker.address, folder=place / "nodes", additions=additions) as emulated,
    ):
        note_broker(State(place / ".dcka"), broker.address, os.getpid())
        yield place, emulated


@pytest.fixture
def call(lab, monkeypatch, capsys):
    """Calls dcka in the folder; (code, stdout, stderr)."""
    monkeypatch.chdir(lab[0])
    return caller(capsys)


def result(call, *arguments, code=0):
    """(the object of a call, what it said beside)."""
    found, out, err = call(*arguments, "--json")
    assert found == code, err
    return json.loads(out), err


def checked(call, *more, word="PASS"):
    """The verdict on the last run, by the nodes' own segments."""
    _, out, err = call("check", "--nodes", "nodes", "--json", *more)
    verdict = json.loads(out) if out else {"reasons": err}
    assert verdict.get("verdict") == word, verdict["reasons"]
    return verdict


def clustered(call, *arguments, code=0):
    """A clustering of the stream; tried again where the nodes have sensed too little yet."""
    deadline = time.monotonic() + 60
    while True:
        found, out, err = call("stream", "--once", "--json", *arguments)
        if "it is passed over" not in err and "nothing can have been sensed" not in err:
            assert found == code, err
            return json.loads(out), err
        assert time.monotonic() < deadline, err
        time.sleep(0.5)


def test_the_first_starts_as_the_file_says_and_the_next_from_its_centres(call, lab):
    place, _ = lab
    first, _ = clustered(call, "--window", "10m")
    assert (first["warm"], first["drift"], first["partial"]) == (False, None, False)
    assert first["points"] == sum(first["points_by_node"].values()) == sum(first["counts"]) >= 2
    checked(call)
    second, _ = clustered(call, "--window", "10m")
    assert second["warm"] and second["window"] > first["window"] and second["run"] > first["run"]
    record = Outcome.load(State(place / ".dcka"), second["run"]).record
    assert record["init"] == "given" and "prior" not in record
    assert second["drift"]["threshold"] == 0.05 and second["drift"]["farthest"] >= 0
    verdict = checked(call)
    assert verdict["bit_identical"]
    assert any("it starts from the centres that run" in reason for reason in verdict["reasons"])
    code, _, err = call("check")
    assert code == 2 and "dcka emulate --folder" in err


def test_with_a_half_life_each_reading_counts_once_and_the_past_by_its_formula(call, lab):
    place, _ = lab
    clustered(call, "--anew", "--window", "10m", "--half-life", "20s")
    before, _ = clustered(call, "--half-life", "20s")
    after, _ = clustered(call, "--half-life", "20s")
    assert before["until"] == after["since"]
    passed = after["until"] - before["until"]
    weights = [had + got for had, got in zip(before["prior"], before["counts"], strict=True)]
    assert after["prior"] == [int(one * 2 ** (-passed / 20) + 0.5) for one in weights]
    verdict = checked(call)
    assert verdict["bit_identical"] and verdict["prior"] == after["prior"]
    kept = State(place / ".dcka")
    outcome = Outcome.load(kept, after["run"])
    broken = json.loads(json.dumps(outcome.to_json()))
    broken["record"]["prior"][0] += 1
    Outcome.from_json(broken).save(kept)
    assert any("is left" in reason for reason in checked(call, word="FAIL")["reasons"])
    outcome.save(kept)


def test_clusterings_and_searches_go_into_the_history(call, tmp_path):
    place = str(tmp_path / "history.sqlite")
    made, _ = clustered(call, "--anomalies", "0.9", "--history", place)
    stored, _ = result(call, "results", "list", "--all", "--history", place)
    assert {one["kind"] for one in stored["runs"]} >= {"tree", "tail"}
    assert made["run"] in {one["run"] for one in stored["runs"]}


def test_what_lies_outside_the_range_is_clipped_and_told(call):
    deadline = time.monotonic() + 60
    while True:
        made, _ = clustered(call, "--anew", "--window", "10m")
        if made["clipped"][0]:
            break
        assert time.monotonic() < deadline
        time.sleep(1)
    assert made["clipped"][1] == 0
    checked(call)


def test_anomalies_of_a_window_are_checked_too(call):
    made, said = clustered(call, "--window", "10m", "--anomalies", "0.8", "--reveal", "2")
    assert "readings are revealed" in said
    found = made["anomalies"]
    assert found["readings"] == made["points"] and found["beyond"] <= made["points"] // 5
    assert len(found["events"]) == sum(min(2, count) for count in found["by_node"].values())
    assert checked(call)["reveal"] == 2


def test_a_node_that_was_away_joins_the_next(call, lab):
    _, emulated = lab
    emulated.kill(3)
    made, said = clustered(call, "--window", "10m", "--wait", "2", code=1)
    assert made["away"] == [3] and made["partial"] and "joins the next one" in said
    checked(call)
    emulated.restart(3)
    again, _ = clustered(call, "--window", "10m", "--wait", "30")
    assert again["away"] == [] and not again["partial"] and again["warm"]
    checked(call)


def test_a_centre_that_has_moved_is_an_alarm(call, lab):
    made, _ = clustered(
        call, "--window", "10m", "--drift", "0.000001", "--half-life", "1s", "--alarm", code=3
    )
    assert made["drift"]["drifted"] and made["drift"]["centres"][0]["moved"] > 1e-6


def test_a_period_with_a_broker_that_knows_nothing_any_more(call, lab):
    place, _ = lab
    before = json.loads((place / ".dcka" / "stream.json").read_text())
    config = load(place / "network.toml")
    with Connection(broker_of(config, State(place / ".dcka"), None), "lab") as connection:
        for topic in ("window", "run", "dataset"):
            connection.publish(topic, b"", retain=True)
        connection.flush()
    code, out, err = call("stream", "--every", "2s", "--for", "9s", "--window", "10m", "--json")
    assert code == 0, err
    events = [json.loads(line) for line in out.splitlines()]
    windows = [event["window"] for event in events if event["event"] == "window"]
    assert len(windows) >= 2 and windows == sorted(set(windows)) and windows[0] > before["window"]
    made = [event for event in events if event["event"] == "clustering"]
    assert len(made) == len(windows) and all(not one["partial"] for one in made)
    checked(call)


def test_what_cannot_be_is_said(call, lab):
    for arguments, words in (
        (["--once", "--every", "1h"], "--once is one clustering"),
        (["--once", "--reveal"], "--reveal goes with --anomalies"),
        (["--once", "--window", "yesterday"], "a time such as"),
        (["--for", "long"], "a time such as"),
        (["--once", "--half-life", "0s"], "a time such as"),
        (["--once", "--anomalies", "0.1"], "a quantile of 0.1"),
    ):
        code, out, err = call("stream", *arguments)
        assert (code, out) == (2, "") and words in err, err
