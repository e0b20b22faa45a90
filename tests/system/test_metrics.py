"""`dcka monitor --metrics` on a live network: fetched over HTTP as Prometheus does, and read by its own parser."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.parser import text_string_to_metric_families
from secured import Secured
from servers import ENGINES, LIMIT_S, running, wait_until

from dcka.config import FILE_NAME, load, template
from dcka.datasets import gaussians
from dcka.emulation.cpython import CPythonNetwork
from dcka.inject.transfer import send
from dcka.monitor.metrics import NODE_STATES
from dcka.mqtt import Connection
from dcka.runs.controller import run
from dcka.runs.plan import plan
from dcka.security.members import rotate


class Target:
    """A running `dcka monitor --metrics`. `fetch`: what it has to say, as (name, label values) → value."""

    def __init__(self, folder, *arguments, metrics="0"):
        self._log = folder / "monitor.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dcka.cli", "monitor", "--metrics", metrics, *arguments],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
            )  # fmt: skip

    def __enter__(self):
        try:
            wait_until(lambda: "metrics at " in self.said(), "where the metrics are")
        except BaseException:
            self.__exit__()
            raise
        self.url = re.search(r"metrics at (\S+?)(,|$)", self.said(), re.MULTILINE)[1]
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def said(self):
        return self._log.read_text()

    def interrupt(self):
        self._process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self):
        return self._process.wait(LIMIT_S)

    def text(self):
        with urllib.request.urlopen(self.url, timeout=LIMIT_S) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            return answer.read().decode()

    def fetch(self):
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
        }

    def wait_for(self, name, *labels, value):
        wait_until(lambda: self.fetch().get((name, *labels)) == value, f"{name}{labels} {value}")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / FILE_NAME).write_text(template())
    return tmp_path


def cluster(folder, broker, dataset):
    config = load(folder / FILE_NAME)
    with Connection(broker.address, config.network.name) as connection:
        send(connection, dataset)
        return run(connection, plan(config, dataset.record(), 1, schedule="tree", seed=25))


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_of_a_network_that_clusters_dies_in_part_and_loses_its_broker(folder, engine):
    dataset = gaussians(1, per_gaussian=20)
    with running(engine) as broker, Target(folder, "--broker", broker.url) as target:
        target.wait_for("dcka_nodes", "unseen", value=5)
        with CPythonNetwork("sensors", range(1, 6), broker.address) as nodes:
            target.wait_for("dcka_nodes", "online", value=5)
            outcome = cluster(folder, broker, dataset)
            target.wait_for("dcka_runs_ended_total", "tree", "finished", value=1)
            for node in range(1, 6):
                wait_until(
                    lambda node=node: target.fetch().get(("dcka_node_broadcasts_total", str(node)), 0) > 0,
                    f"the ledger of node {node}",
                )
            found = target.fetch()
            assert found["dcka_run_number",] == found["dcka_runs_begun_total", "tree"] == 1
            assert (
                found["dcka_run_points",] == dataset.record()["points"]
                if "points" in dataset.record()
                else True
            )
            assert found["dcka_run_results",] == found["dcka_run_members",] == 5
            assert found["dcka_run_step",] == outcome.results[1]["steps"]
            assert found["dcka_run_ssd", "user"] > 0
            assert sum(found["dcka_node_points", str(node)] for node in range(1, 6)) == sum(
                entry["rows"] for entry in dataset.record()["nodes"].values()
            )
            assert sum(found["dcka_nodes", state] for state in NODE_STATES) == 5
            before = found["dcka_node_broadcasts_total", "4"]
            nodes.kill(4)
            target.wait_for("dcka_node_up", "4", value=0)
            found = target.fetch()
            assert (found["dcka_nodes", "offline"], found["dcka_nodes", "online"]) == (1, 4)
            assert found["dcka_node_broadcasts_total", "4"] >= before
            assert ("dcka_node_boot", "4") not in found
        broker.kill()
        target.wait_for("dcka_broker_up", value=0)
        broker.restart()
        target.wait_for("dcka_broker_up", value=1)
        wait_until(lambda: target.fetch()["dcka_monitor_reconnects_total",] >= 1, "the end of the outage")
        assert target.interrupt() == 0


def test_many_may_ask_at_a_time_while_messages_come(folder):
    with running("embedded") as broker, Target(folder, "--broker", broker.url) as target:
        with Connection(broker.address, "sensors") as connection, ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(lambda: [target.text() for _ in range(5)]) for _ in range(4)]
            for count in range(2000):
                status = {"v": 1, "node": 1 + count % 5, "boot": 1, "nonce": count % 5, "state": "ready"}
                # Retained: it may not have subscribed yet.
                connection.publish(f"status/{1 + count % 5}", json.dumps(status), retain=True)
            connection.flush()
            assert all(len(one.result(LIMIT_S)) == 5 for one in asked)
        target.wait_for("dcka_nodes", "online", value=5)


def test_a_monitor_of_a_locked_broker_needs_the_monitors_password_alone(tmp_path):
    network = Secured(tmp_path, nodes=3)
    with network.up():
        for file in (network.folder.path / "secrets").iterdir():
            if file.name != "monitor":
                file.unlink()
        with Target(tmp_path) as target:
            target.wait_for("dcka_broker_up", value=1)
            target.wait_for("dcka_nodes", "unseen", value=3)


def test_a_monitor_whose_password_was_changed_ends_so_that_it_can_be_started_anew(tmp_path):
    network = Secured(tmp_path, nodes=3)
    with network.up():
        with Target(tmp_path) as target:
            target.wait_for("dcka_broker_up", value=1)
            rotate(network.config, network.folder, network.doors, "monitor")
            assert target.ended() == 1
            last = target.said().splitlines()[-1]
            assert "lets this user in no longer: if its password is a new one, start again" in last
        with Target(tmp_path) as target:
            target.wait_for("dcka_broker_up", value=1)


def refused(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "dcka.cli", "monitor", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=50,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_port_in_use_and_a_place_that_is_none_are_sentences(folder):
    with running("embedded") as broker, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code, said = refused(folder, "--broker", broker.url, "--metrics", str(port))
        assert (code, said.count("\n")) == (1, 1)
        assert f"metrics cannot be served on 127.0.0.1, port {port}: address already in use" in said
        code, said = refused(folder, "--broker", broker.url, "--metrics", "192.0.2.1:9108")
        assert (code, said.count("\n")) == (1, 1) and "192.0.2.1, port 9108: cannot assign" in said
    code, said = refused(folder, "--metrics", "everywhere")
    assert (code, said.count("\n")) == (2, 1) and "--metrics everywhere: give a port" in said


def test_metrics_are_on_loopback_unless_it_is_said_otherwise(folder):
    with running("embedded") as broker:
        with Target(folder, "--broker", broker.url) as target:
            assert target.url.startswith("http://127.0.0.1:")
            assert "can reach" not in target.said()
        with Target(folder, "--broker", broker.url, metrics="0.0.0.0:0") as everywhere:
            assert "/metrics, for whoever can reach that" in everywhere.said()
    with pytest.raises(urllib.error.URLError):
        target.text()
