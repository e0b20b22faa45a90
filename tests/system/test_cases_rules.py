"""A rule that the broker's access list lacks: told "delivered", and nobody hears it (case C22)."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from by_hand import RUNTIMES
from secured import NETWORK, Secured
from servers import LIMIT_S

from dcka.cli import main
from dcka.config import State
from dcka.datasets import gaussians
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.supervisor import Supervisor
from dcka.inject.transfer import send
from dcka.mqtt import Connection
from dcka.mqtt.address import note_broker
from dcka.security.server import SecuredBroker

NODES = (1, 2, 3, 4, 5)
MUTE = 3
SUMS = f"topic write dcka/{NETWORK}/x/+/{MUTE}\n"
RUN_S = 20


@pytest.fixture
def network(tmp_path: Path) -> Secured:
    """Everybody hears everybody, so that nobody else is cut off by one who is not heard."""
    return Secured(tmp_path, nodes=len(NODES), kind="complete")


@pytest.fixture
def dcka(
    network: Secured, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """(exit code, JSON object, stderr) of a verb, in the network's folder."""
    monkeypatch.chdir(network.home)

    def call(*arguments: str) -> tuple[int, dict[str, Any], str]:
        capsys.readouterr()
        code = main([*arguments, "--json"])
        captured = capsys.readouterr()
        return code, json.loads(captured.out), captured.err

    return call


def note(network: Secured, broker: SecuredBroker) -> None:
    assert broker.pid is not None
    note_broker(State.beside(network.file), broker.url, broker.pid, network.folder.path)


def test_the_check_names_the_topic(network: Secured, dcka: Any) -> None:
    with network.up_with("acl", SUMS, "") as broker:
        note(network, broker)
        code, record, err = dcka("broker", "check")
    assert (code, record["ok"]) == (1, False)
    wrong = [row for row in record["rows"] if not row["ok"]]
    assert {(row["who"], row["topic"]) for row in wrong if row["action"] == "publish"} == {
        (f"n{MUTE}", f"dcka/{NETWORK}/x/0/{MUTE}")
    }
    assert f"n{MUTE}: publish dcka/{NETWORK}/x/0/{MUTE}" in err


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_run_with_a_node_whose_sums_are_denied_ends_and_names_it(
    network: Secured, dcka: Any, runtime: str
) -> None:
    """By `tree` the result says whom it is without, and is 1 unless that is allowed; by `gossip` there is none."""
    data = gaussians(3, len(NODES), 20)
    with network.up_with("acl", SUMS, "") as broker:
        note(network, broker)
        with RUNTIMES[runtime](NETWORK, NODES, broker.url.for_nodes()) as nodes:
            with Connection(network.way(), NETWORK) as connection:
                send(connection, data, ready_s=LIMIT_S)
            data.save(State.beside(network.file).folder)
            begun = time.monotonic()
            code, record, err = dcka("run", "--schedule", "tree", "--limit", str(RUN_S))
            assert code == 1
            assert MUTE in record["missing"] + record["waiting"]
            assert f"node {MUTE}" in err.splitlines()[-1]
            assert dcka("check")[0] == 1
            code, record, err = dcka("run", "--schedule", "gossip", "--limit", "5")
            assert (code, record["finished"], record["waiting"]) == (1, False, [MUTE])
            assert f"no contribution from node {MUTE} " in record["reason"]
            assert "does the broker take what they publish?" in record["reason"]
            assert f"node {MUTE}" in err.splitlines()[-1]
            assert dcka("check")[0] == 1
            assert time.monotonic() - begun < LIMIT_S
            assert nodes.failures() == []


def test_a_node_whose_will_is_denied_is_told_as_such(network: Secured, dcka: Any) -> None:
    """mosquitto refuses its connection with the words for a wrong password."""
    with network.up_with("acl", f"readwrite dcka/{NETWORK}/status/{MUTE}", "read a") as broker:
        note(network, broker)
        code, record, _ = dcka("broker", "check")
        assert code == 1
        assert (f"n{MUTE}", "will", f"dcka/{NETWORK}/status/{MUTE}") in {
            (row["who"], row["action"], row["topic"]) for row in record["rows"] if not row["ok"]
        }
        with (
            Connection(network.way(), NETWORK) as connection,
            CPythonNetwork(NETWORK, NODES, broker.url.for_nodes()) as nodes,
        ):
            watched = Supervisor(connection, NODES, lambda failure: None, lambda news: None)
            missing = watched.await_online(nodes, limit_s=10)
    assert set(missing) >= {MUTE}
    assert f"take its status and will on dcka/{NETWORK}/status/{MUTE}?" in missing[MUTE]
