"""`dcka broker` and `dcka emulate` as a person runs them: until Ctrl-C, with all that can go wrong said meanwhile."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from by_hand import RUNTIMES
from leftovers import started_processes
from running_call import Call
from servers import ENGINES, LIMIT_S, TestClient, is_running, require_mosquitto, running

from dcka.broker import Broker, parse_broker_url, probe
from dcka.broker.probe import NotListening
from dcka.cli import main
from dcka.config import template
from dcka.emulation import micropython, supervisor
from dcka.emulation.cpython import CPythonNetwork
from dcka.mqtt import Connection

needs_micropython = pytest.mark.skipif("micropython" not in RUNTIMES, reason="there is no MicroPython here")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a network file of three nodes; empty of temporary files in the end."""
    (tmp_path / "network.toml").write_text(
        template({"network": {"nodes": 3, "name": "here"}, "topology": {"kind": "line"}})
    )
    yield tmp_path
    if (tmp_path / "temporary").exists():
        assert os.listdir(tmp_path / "temporary") == []


@pytest.fixture
def dcka(folder: Path) -> Iterator[Any]:
    """`dcka(...)`: a Call in the folder, ended whatever happens."""
    calls: list[Call] = []

    def start(*arguments: str) -> Call:
        calls.append(Call(folder, *arguments))
        return calls[-1]

    yield start
    for call in calls:
        if call._process.poll() is None:
            call.ended(signal.SIGTERM)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with running("embedded") as made:
        yield made


@pytest.mark.parametrize("engine", ENGINES)
def test_a_broker_says_its_url_and_serves_until_ctrl_c(engine: str, folder: Path, dcka: Any) -> None:
    if engine == "mosquitto":
        require_mosquitto()
    call = dcka("broker", "--engine", engine, "--json")
    record = call.record()
    url = parse_broker_url(record["url"])
    probe(url)
    assert (record["engine"], record["port"], record["folder"]) == (engine, url.port, None)
    assert is_running(record["pid"])
    assert json.loads((folder / ".dcka" / "broker.json").read_text())["url"] == record["url"]
    assert call.ended() == 0
    with pytest.raises(NotListening):
        probe(url)
    assert not (folder / ".dcka" / "broker.json").exists()


def test_a_broker_on_its_port_with_its_folder(folder: Path, dcka: Any) -> None:
    with running("embedded") as other:
        port = other.address.port
        refused = dcka("broker", "--port", str(port))
        assert refused.ended(by=None) == 1
        assert f"port {port} on 127.0.0.1 is in use" in refused.errors[-1]
    call = dcka("broker", "--port", str(port), "--folder", "kept")
    assert call.line() == f"mqtt://127.0.0.1:{port}"
    with TestClient(parse_broker_url(f"mqtt://127.0.0.1:{port}"), "writer") as writer:
        writer.publish("dcka/x", b"kept", retain=True)
        writer.received(writer)
    assert call.ended() == 0
    again = dcka("broker", "--port", str(port), "--folder", "kept", "--json")
    assert again.record()["folder"] == str(folder / "kept")
    with TestClient(parse_broker_url(f"mqtt://127.0.0.1:{port}"), "reader") as reader:
        reader.subscribe("dcka/x")
        assert reader.next().payload == b"kept"
    assert again.ended(signal.SIGTERM) == 143


def test_a_second_broker_of_a_network_is_refused_and_one_that_died_is_in_nobodys_way(
    folder: Path, dcka: Any
) -> None:
    first = dcka("broker", "--json")
    record = first.record()
    second = dcka("broker")
    assert second.ended(by=None) == 2
    assert f"a broker of this network runs at {record['url']} already" in second.errors[-1]
    os.kill(record["pid"], signal.SIGKILL)
    assert first.ended(by=None) == 1
    assert "the embedded broker has ended by itself" in first.errors[-1]
    (folder / ".dcka" / "broker.json").write_text(json.dumps({"v": 1, "url": record["url"], "pid": 1}))
    third = dcka("broker", "--json")
    third.record()
    assert third.ended() == 0


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nodes_come_online_and_end_with_ctrl_c(runtime: str, dcka: Any, broker: Broker) -> None:
    call = dcka("emulate", "--runtime", runtime, "--broker", broker.url, "--json")
    record = call.record()
    assert record.pop("seconds") < LIMIT_S
    assert record == {
        "network": "here",
        "broker": broker.url,
        "runtime": runtime,
        "heap": 128 * 1024 if runtime == "micropython" else None,
        "nodes": [1, 2, 3],
        "online": [1, 2, 3],
        "missing": {},
        "radio": None,
    }
    with TestClient(broker.address, "watcher") as watcher:
        watcher.subscribe("dcka/here/status/+")
        states = [json.loads(watcher.next().payload) for _ in range(3)]
        assert {(one["node"], one["state"]) for one in states} == {(node, "ready") for node in (1, 2, 3)}
        assert call.ended() == 0
        states = [json.loads(watcher.next().payload) for _ in range(3)]
        assert {(one["node"], one["state"]) for one in states} == {(node, "offline") for node in (1, 2, 3)}


READINGS = "node,temperature\n" + "\n".join(
    f"{1 + row % 3},{20 + 9 * (row % 2) + row / 7}" for row in range(60)
)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_run_through_a_radio_that_loses_doubles_delays_and_reorders(
    runtime: str, folder: Path, dcka: Any, broker: Broker, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """What nodes say to each other; what the host sends and hears comes whole, and the run is exact."""
    shares = {"loss": 0.2, "duplicate": 0.1, "reorder": 0.1, "delay_ms": 2.0}
    asked = [f"--{name.replace('_', '-')}={share:g}" for name, share in shares.items()]
    call = dcka("emulate", "--runtime", runtime, "--broker", broker.url, "--json", *asked)
    record = call.record()
    assert (record["radio"], record["broker"], record["online"]) == (shares, broker.url, [1, 2, 3])
    words = "loses 20 %, doubles 10 %, reorders 10 %, delays by 2 ms"
    assert call.said("the radio") == f"the radio between the nodes {words}"
    monkeypatch.chdir(folder)
    (folder / "readings.csv").write_text(READINGS)
    here = ["--broker", broker.url]
    assert main(["inject", "readings.csv", "--split-by", "node", *here]) == 0
    assert main(["run", "--k", "2", "--patience-ms", "400", *here]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert main(["check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bit_identical"] is True
    assert call.ended() == 0
    said = re.fullmatch(r"of (\d+) messages to a neighbour (\d+) were lost.*", call.said(" to a neighbour "))
    assert said and 0 < int(said[2]) < int(said[1])


def test_the_broker_that_dcka_started_is_found(dcka: Any) -> None:
    server = dcka("broker")
    url = server.line()
    call = dcka("emulate", "--runtime", "cpython", "--nodes", "1,3")
    assert call.line().startswith(f"2 of 2 nodes of network here are online at {url} (cpython, ")
    assert call.ended(signal.SIGTERM) == 143
    assert server.ended() == 0


def test_an_id_that_is_online_is_refused_by_its_name_and_a_mere_memory_of_one_is_not(
    dcka: Any, broker: Broker
) -> None:
    first = dcka("emulate", "--runtime", "cpython", "--nodes", "2", "--broker", broker.url)
    first.line()
    second = dcka("emulate", "--runtime", "cpython", "--broker", broker.url)
    assert second.ended(by=None) == 1
    assert second.errors[-1] == (
        f"dcka: node 2 of network here is online at {broker.url} already: stop it there, or start others with --nodes"
    )
    other = dcka("emulate", "--runtime", "cpython", "--nodes", "1,3", "--broker", broker.url)
    other.line()
    assert (first.ended(), other.ended()) == (0, 0)
    with TestClient(broker.address, "forger") as forger:
        old = {"v": 1, "node": 2, "boot": 9, "nonce": 4, "state": "ready"}
        forger.publish("dcka/here/status/2", json.dumps(old).encode(), retain=True)
        forger.received(forger)
    third = dcka("emulate", "--runtime", "cpython", "--broker", broker.url, "--json")
    assert third.record()["online"] == [1, 2, 3]
    assert third.ended() == 0


def test_a_second_node_of_an_id_that_comes_later_is_named(dcka: Any, broker: Broker) -> None:
    call = dcka("emulate", "--runtime", "cpython", "--nodes", "1", "--broker", broker.url)
    call.line()
    with CPythonNetwork("here", [1], broker.address):
        assert call.said("twice").startswith("node 1 is there twice: another device or process uses its id")
    assert call.ended() == 0


@needs_micropython
def test_nodes_that_cannot_start_are_shown_with_one_traceback(dcka: Any, broker: Broker) -> None:
    call = dcka("emulate", "--heap", "48K", "--broker", broker.url, "--json")
    record = call.record()
    assert record["online"] == []
    assert all("ran out of its 48K heap (MemoryError" in reason for reason in record["missing"].values())
    assert call.ended(by=None) == 1
    assert sum("Traceback (most recent call last):" in line for line in call.errors) == 1
    assert [line for line in call.errors if line.startswith("node ")][-1].startswith(
        "node 3 ran out of its 48K"
    )
    assert call.errors[-1] == "no node is left"


@needs_micropython
def test_a_node_that_ends_later_is_told_at_once_and_in_the_exit_code(dcka: Any, broker: Broker) -> None:
    call = dcka("emulate", "--nodes", "1-2", "--broker", broker.url)
    call.line()
    victim = max(pid for pid, line in started_processes(call.pid, "nobody").items() if "heapsize" in line)
    os.kill(victim, signal.SIGKILL)
    call.said("was ended by SIGKILL")
    assert call.ended() == 1


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_broker_that_goes_and_comes_back_is_told(runtime: str, dcka: Any, broker: Broker) -> None:
    call = dcka("emulate", "--runtime", runtime, "--broker", broker.url)
    call.line()
    broker.kill()
    call.said(f"the broker at {broker.url} is gone")
    broker.restart()
    call.said(f"the broker at {broker.url} is back")
    assert call.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nodes", "3-1"], "--nodes 3-1: '3-1' is no id and no range; write it as in 1-5,7"),
        (["--nodes", "a"], "'a' is no id and no range"),
        (["--nodes", "1,4"], "node 4 is not in the network; the nodes are {1, 2, 3}"),
        (["--nodes", "1-2,2"], "node 2 is there twice"),
        (["--heap", "16K"], '--heap 16K: it must be a size from "32K" to "1024M"'),
        (["--runtime", "cpyton"], '"cpyton" is not known; did you mean "cpython"?'),
        (["--loss", "1.2"], "--loss is a share of the deliveries, from 0 to less than 1, not 1.2"),
        (["--broker", "localhost"], "has no scheme: write mqtt://localhost"),
        ([], "no broker of this network runs here: start one with dcka broker"),
    ],
)
def test_a_wrong_call_is_a_sentence_and_starts_nothing(
    arguments: list[str],
    says: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main(["emulate", *arguments]) == 2
    written = capsys.readouterr()
    assert says in written.err
    assert (written.err.count("\n"), written.out) == (1, "")
    assert not (folder / ".dcka").exists()


def test_without_micropython_it_is_said_and_cpython_runs(
    folder: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(micropython, "interpreter_folder", lambda: None)
    monkeypatch.setattr(supervisor.Supervisor, "watch", lambda *_: signal.raise_signal(signal.SIGINT))
    assert main(["emulate", "--heap", "112K", "--broker", broker.url, "--json"]) == 0
    written = capsys.readouterr()
    assert "there is no MicroPython for" in written.err
    assert "--heap is of MicroPython's processes" in written.err
    assert json.loads(written.out)["runtime"] == "cpython"


def test_nodes_that_stay_silent_are_named_with_the_reason(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that look for their broker elsewhere."""
    news: list[str] = []
    with (
        Connection(broker.address, "here") as connection,
        CPythonNetwork("elsewhere", [1, 2], broker.address) as nodes,
    ):
        watched = supervisor.Supervisor(connection, (1, 2), lambda failure: None, news.append)
        watched.require_free()
        missing = watched.await_online(nodes, limit_s=0.3)
    asked = "does the broker let it in, and take its status and will on dcka/here/status"
    assert missing == {
        node: f"node {node} runs, but has said nothing at {broker.url}: {asked}/{node}?" for node in (1, 2)
    }
    assert news == []
