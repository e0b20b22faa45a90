"""`dcka monitor` and `dcka check` on a live network: events as they come, an outage, a clean end."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from servers import ENGINES, LIMIT_S, TestClient, running

from dcka.check import check
from dcka.config import FILE_NAME, State, load, template
from dcka.datasets import gaussians
from dcka.emulation.cpython import CPythonNetwork
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.plan import plan


class Monitor:
    """A running `dcka monitor`: its lines, as they come."""

    def __init__(self, folder: Path, url: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dcka.cli", "monitor", "--broker", url, *arguments],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._came:
                self.lines.append(line.rstrip("\n"))
                self._came.notify_all()

    def wait_for(self, *words: str) -> str:
        """The first line with all these words."""

        def found() -> str | None:
            return next((line for line in self.lines if all(word in line for word in words)), None)

        with self._came:
            assert self._came.wait_for(found, LIMIT_S), (words, self.lines)
            return str(found())

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LIMIT_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


@contextlib.contextmanager
def monitoring(folder, url, *arguments):
    monitor = Monitor(folder, url, *arguments)
    try:
        yield monitor
    finally:
        monitor.close()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / FILE_NAME).write_text(template())
    return tmp_path


def clustered(folder, broker, dataset):
    """Give nodes that are there their readings, and run once; the outcome."""
    config = load(folder / FILE_NAME)
    with Connection(broker.address, config.network.name) as connection:
        send(connection, dataset)
        outcome = run(connection, plan(config, dataset.record(), 1, schedule="gossip", seed=25))
    outcome.save(State.beside(config.file))
    dataset.save(State.beside(config.file).folder)
    return outcome


@pytest.mark.parametrize("engine", ENGINES)
def test_it_tells_of_nodes_data_a_run_and_its_end_and_the_run_passes(folder, engine):
    dataset = gaussians(1, per_gaussian=20)
    with running(engine) as broker, monitoring(folder, broker.url, "--json") as monitor:
        with CPythonNetwork("sensors", range(1, 6), broker.address) as nodes:
            for node in nodes.ids:
                monitor.wait_for('"status"', f'"node": {node},', '"ready"')
            outcome = clustered(folder, broker, dataset)
            assert check(outcome, dataset).passed
            monitor.wait_for('"dataset"', '"gaussians"')
            monitor.wait_for('"run"', '"gossip"')
            monitor.wait_for('"step"', '"step": 0')
            for node in nodes.ids:
                monitor.wait_for('"result"', f'"node": {node},', '"converged": true')
            nodes.kill(4)
            monitor.wait_for('"node": 4,', '"offline"', '"retained": false')
        monitor.wait_for('"node": 1,', '"offline"')
        assert monitor.interrupt() == 0
    events = [json.loads(line) for line in monitor.lines]
    ssd = [event["ssd"] for event in events if event["event"] == "step"]
    assert len(ssd) == len(outcome.steps[1])
    assert all(event["units"] for event in events if event["event"] == "step")
    checked = subprocess.run(
        [sys.executable, "-m", "dcka.cli", "check", "--json"], cwd=folder, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    record = json.loads(checked.stdout)
    assert record["verdict"] == "PASS"
    assert record["ssd"] == pytest.approx(ssd[-1], rel=1e-3)


def test_what_was_retained_before_it_looked_is_marked(folder):
    with running("embedded") as broker:
        with TestClient(broker.address, "past") as past:
            status = {"v": 1, "node": 2, "boot": 1, "nonce": 1, "state": "ready"}
            past.publish("dcka/sensors/status/2", json.dumps(status).encode(), retain=True)
            past.received(past)
        with monitoring(folder, broker.url) as monitor:
            monitor.wait_for("node 2 ready (retained)")
            assert monitor.interrupt() == 0


def test_an_outage_of_the_broker_is_shown_and_its_end(folder):
    with running("embedded") as broker, monitoring(folder, broker.url) as monitor:
        with TestClient(broker.address, "other") as other:
            other.publish("dcka/sensors/status/3", b"{", retain=True)
            monitor.wait_for("dropped a message on status/3: no JSON")
        broker.kill()
        monitor.wait_for("the broker does not answer")
        broker.restart()
        monitor.wait_for("the broker is back")
        with TestClient(broker.address, "other") as other:
            other.publish("dcka/sensors/status/7", b"[]", retain=True)
            monitor.wait_for("dropped a message on status/7: no JSON object")
        assert monitor.interrupt() == 0


def test_it_ends_by_itself_after_the_time_that_is_given(folder):
    with running("embedded") as broker, monitoring(folder, broker.url, "--for", "0.3") as monitor:
        began = time.monotonic()
        assert monitor.process.wait(LIMIT_S) == 0
        assert time.monotonic() - began >= 0.3


def test_a_broker_that_is_not_there_is_a_sentence(folder):
    done = subprocess.run(
        [sys.executable, "-m", "dcka.cli", "monitor", "--broker", "mqtt://user:secret@127.0.0.1:1", "--json"],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert "secret" not in done.stderr
    assert done.stderr.count("\n") == 1
