"""A monitor that is killed in mid-run, and comes back: what was stored is there, what was not seen is marked."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys

import pytest
from lab_folder import lab_folder
from running_call import Call
from servers import LIMIT_S, wait_until

from dcka.cli import main
from dcka.history import open_history

NETWORK = {
    "network": {"name": "killed", "nodes": [1, 2, 3, 4]},
    "run": {"k": 6, "seed": 3, "schedule": "gossip", "max_steps": 60, "max_slots": 1000},
    "topology": {"kind": "ring"},
}
# Without a history of the run's own: what is found is the monitor's. So many slots in each step take seconds in all.
RUN = ["run", "--no-history", "--json", "--slots", "240", "--patience-ms", "5000"]


@pytest.fixture
def lab(tmp_path, monkeypatch):
    rows = ["node,x,y"]
    for row in range(1200):
        rows.append(f"{1 + row % 4},{(row * 37 % 101) / 7:.3f},{(row * 53 % 97) / 5:.3f}")
    monkeypatch.setenv("DCKA_HISTORY", str(tmp_path / "history.sqlite"))
    with lab_folder("cpython", tmp_path, NETWORK, "\n".join(rows) + "\n") as folder:
        monkeypatch.chdir(folder)
        yield folder


def stored_steps(file):
    """As another program reads them, with SQLite alone."""
    if not file.exists():
        return set()
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30) as looking:
        try:
            found = set(looking.execute("SELECT step, node FROM steps").fetchall())
        except sqlite3.OperationalError:  # its tables are being made
            found = set()
    looking.close()
    return found


@contextlib.contextmanager
def monitoring(folder):
    """`dcka monitor`, from its first event on; ended by Ctrl-C, unless it has ended before."""
    command = [sys.executable, "-m", "dcka.cli", "monitor", "--json"]
    with (folder / "events").open("wb") as events:
        process = subprocess.Popen(command, cwd=folder, stdout=events, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: (folder / "events").stat().st_size > 0, "a first event")
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) in (0, -signal.SIGKILL)
    finally:
        process.kill()
        process.wait()


def test_a_monitor_killed_in_mid_run_loses_nothing_that_was_stored(lab, capsys):
    file = lab / "history.sqlite"
    assert main(["inject", "readings.csv", "--split-by", "node"]) == 0
    with monitoring(lab) as monitor:
        runner = Call(lab, *RUN)
        wait_until(lambda: len(stored_steps(file)) >= 8, "the first steps to be stored")
        monitor.kill()
        monitor.wait()
    at_kill = stored_steps(file)
    assert runner.record()["finished"] and runner.ended(None) == 0  # it went on, and nobody stored it
    with monitoring(lab), open_history(str(file)) as history:
        wait_until(lambda: history.run("last").state == "finished", "the end, from what is retained")
    capsys.readouterr()
    assert main(["results", "show", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert stored_steps(file) >= at_kill
    steps = {step["step"] for step in record["steps"]}
    assert steps >= {step for step, _ in at_kill} | {record["step_count"] - 1}
    assert steps.isdisjoint(record["lost_steps"]) and record["lost_steps"]
    assert steps | set(record["lost_steps"]) == set(range(record["step_count"]))
    assert [gap["kind"] for gap in record["gaps"]] == ["monitor"]
    assert record["gaps"][0]["began_at"] < record["gaps"][0]["ended_at"]
    assert (record["state"], set(record["results"])) == ("finished", {"1", "2", "3", "4"})
    assert len(record["centroids"]) == 6 and sum(record["counts"]) > 0
