"""A clustering through locked doors, as a person calls it: no word about passwords, the reference's bits."""

import json
import os
import signal

import pytest
from running_call import Call
from secured import NETWORK, Secured
from servers import require_mosquitto, wait_until

from dcka.broker.access import MONITOR
from dcka.cli import main
from dcka.config import State
from dcka.emulation.air import Faults
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.faults import FaultyRadio
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.mqtt.address import broker_of, note_broker

NODES = (1, 2, 3, 4)
PATIENT_S = 45.0  # a Python process and a broker start, on a machine under heavy load
RUNTIMES = [
    pytest.param(
        MicroPythonNetwork, marks=pytest.mark.skipif(not available(), reason=str(available().reason))
    ),
    CPythonNetwork,
]


@pytest.fixture
def network(tmp_path):
    made = Secured(tmp_path)
    rows = ["node,x,y"]
    for row in range(80):
        cloud = row % 3
        rows.append(f"{1 + row % 4},{20 + 5 * cloud + row / 97:.3f},{40 + 9 * cloud - row / 53:.3f}")
    (tmp_path / "readings.csv").write_text("\n".join(rows) + "\n")
    return made


@pytest.fixture
def call(network, monkeypatch, capsys):
    """Calls dcka in the network's folder; its JSON object."""
    monkeypatch.chdir(network.home)

    def dcka(*arguments, code=0):
        left = main([*arguments, "--json"])
        captured = capsys.readouterr()
        assert left == code, captured.err
        return json.loads(captured.out)

    return dcka


def _cluster(call, *kind):
    call("inject", "readings.csv", "--split-by", "node")
    call("run", *kind)
    return call("check")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_run_ends_with_the_references_bits_by_tree_and_by_gossip(network, call, runtime):
    state = State.beside(network.file)
    with network.up() as broker:
        assert broker.pid is not None
        note_broker(state, broker.url, broker.pid, network.folder.path)
        url = broker_of(network.config, state)
        assert (url.tls, url.username) == (True, "host")
        assert broker_of(network.config, state, role=MONITOR).username == "monitor"
        with runtime(NETWORK, NODES, url.for_nodes()) as nodes:
            assert _cluster(call)["verdict"] == "PASS"
            call("run", "--schedule", "gossip")
            assert call("check")["verdict"] == "PASS"
            assert nodes.failures() == []
            assert all(json.loads(one)["v"] == 1 for one in _statuses(network, url))


def _statuses(network, url):
    from dcka.mqtt import Connection, Message

    with Connection(url, NETWORK) as host:
        host.subscribe("status/+")
        host.flush()
        found = []
        while isinstance(one := host.next(0.2), Message):
            found.append(one.payload)
        return found


def test_nodes_that_sleep_hear_the_roots_beacons(network, call):
    """R0's epochs are for everybody in slots, its neighbour or not."""
    with network.up() as broker:
        note_broker(State.beside(network.file), broker.url, broker.pid or 0, network.folder.path)
        with CPythonNetwork(NETWORK, NODES, broker.url.for_nodes()):
            call("inject", "readings.csv", "--split-by", "node")
            call("run", "--slot-ms", "60")
            assert call("check")["verdict"] == "PASS"


def test_a_bad_radio_has_the_passwords_too(network, call):
    with network.up() as broker:
        note_broker(State.beside(network.file), broker.url, broker.pid or 0, network.folder.path)
        with (
            FaultyRadio(broker.url.for_nodes, Faults(loss=0.1)) as radio,
            CPythonNetwork(NETWORK, NODES, radio.address),
        ):
            assert _cluster(call)["verdict"] == "PASS"


def test_who_has_no_password_is_told(network, call, capsys):
    with network.up() as broker:
        note_broker(State.beside(network.file), broker.url, broker.pid or 0, network.folder.path)
        network.folder.secret("host").unlink()
        assert main(["run"]) == 2
        assert "secrets/host cannot be read: No such file" in capsys.readouterr().err


def test_the_verbs_themselves(network, call, capsys):
    """up and check, who else would start a broker, and the end."""
    require_mosquitto()
    up = Call(network.home, "broker", "up", "--json")
    note = network.home / ".dcka" / "broker.json"
    try:
        wait_until(note.is_file, "the note of where it runs", PATIENT_S)
        record, doors = up.record(), network.doors
        assert record["nodes_url"] == f"mqtts://127.0.0.1:{doors.node_port}"
        assert record["host_url"] == f"mqtts://127.0.0.1:{doors.host_port}"
        assert record["listens"] == [f"127.0.0.1:{doors.node_port}", f"127.0.0.1:{doors.host_port}"]
        assert json.loads(note.read_text())["secured"] == str(network.folder.path)
        proof = call("broker", "check")
        assert proof["ok"]
        assert {tuple(row) for row in proof["rows"]} == {
            ("who", "action", "topic", "expected", "observed", "ok", "why")
        }
        for arguments in (["broker", "up"], ["broker"]):
            assert main(arguments) == 2
            assert "runs for this network already" in capsys.readouterr().err
        os.kill(record["pid"], 0)
    finally:
        code = up.ended(signal.SIGINT)
    assert code == 0
    assert not note.exists()
