"""A network of nodes under CPython in a process of its own: started, commanded, and never left over."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from servers import TestClient, is_running, wait_until

from dcka.broker import Broker, BrokerUrl
from dcka.emulation.cpython import CPythonNetwork, EmulationError
from dcka.errors import UsageError

pytestmark = pytest.mark.system
NOWHERE = BrokerUrl("127.0.0.1", 1)


def ready(client: TestClient, count: int, boot: int = 1) -> None:
    """Wait until so many nodes have said that they are ready in this boot."""
    seen: set[object] = set()
    while len(seen) < count:
        status = json.loads(client.next().payload)
        if status["state"] == "ready" and status["boot"] == boot:
            seen.add(status["node"])


def test_a_network_in_its_process(broker: Broker, network: str, watcher: TestClient) -> None:
    with CPythonNetwork(network, [3, 1, 2], broker.address) as nodes:
        assert nodes.ids == (1, 2, 3)
        ready(watcher, 3)
        pid = nodes.pid
        assert pid is not None
        nodes.kill(2)
        assert json.loads(watcher.next().payload)["state"] == "offline"
        assert nodes.failures() == []
        nodes.restart(2)
        ready(watcher, 1, boot=2)
        with pytest.raises(EmulationError, match="there is no emulated node 4; there are 1, 2, 3"):
            nodes.restart(4)
    assert not is_running(pid)
    left = {json.loads(watcher.next().payload)["node"] for _ in range(3)}
    assert left == {1, 2, 3}
    assert nodes.failures() == []


def test_its_folder_is_a_boards_and_outlives_it(
    broker: Broker, network: str, watcher: TestClient, tmp_path: Path
) -> None:
    for boot in (1, 2):
        with CPythonNetwork(network, [5], broker.address, folder=tmp_path / "nodes"):
            ready(watcher, 1, boot)
        assert json.loads(watcher.next().payload)["state"] == "offline"
    assert (tmp_path / "nodes" / "5" / "boots.txt").read_text() == "2"


def test_a_node_whose_flash_fails_is_a_failure_of_its_own(
    broker: Broker, network: str, watcher: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "2").touch()
    with CPythonNetwork(network, [1, 2], broker.address, folder=tmp_path) as nodes:
        ready(watcher, 1)
        [failure] = nodes.failures()
        assert failure.node == 2
        assert re.match(r"node 2 crashed: (FileExists|NotADirectory)Error: .*", failure.sentence)
        (tmp_path / "2").unlink()
        nodes.restart(2)
        ready(watcher, 1)
        assert nodes.failures() == []


def test_a_process_that_was_killed_is_the_failure_of_all(
    broker: Broker, network: str, watcher: TestClient
) -> None:
    with CPythonNetwork(network, [1, 2], broker.address) as nodes:
        ready(watcher, 2)
        os.kill(int(str(nodes.pid)), 9)
        wait_until(lambda: nodes.pid is None, "it has ended")
        failures = nodes.failures()
        assert [failure.node for failure in failures] == [1, 2]
        assert all("ended with exit code -9" in failure.sentence for failure in failures)
        with pytest.raises(EmulationError, match="node 1 has no process any more"):
            nodes.restart(1)


@pytest.mark.parametrize(
    ("ids", "says"), [([1, 1], "node 1 is there twice"), ([0], "from 1 to 65535, not 0")]
)
def test_ids_are_checked_before_anything_starts(ids: list[int], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        CPythonNetwork("demo", ids, NOWHERE)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmulationError, match=r"cannot write the nodes' files: .*/file/nodes: Not a dir"):
        CPythonNetwork("demo", [1], NOWHERE, folder=tmp_path / "file" / "nodes").start()


def test_its_process_ends_with_its_parent_and_is_no_command() -> None:
    program = """
import time
from dcka.broker import BrokerUrl
from dcka.emulation.cpython import CPythonNetwork
with CPythonNetwork("demo", [1], BrokerUrl("127.0.0.1", 1)) as network:
    network.failures()
    print(network.pid, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: not is_running(pid), "the nodes' process is gone")
    called = subprocess.run(
        [sys.executable, "-m", "dcka.emulation.cpython_process"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert called.returncode == 2
    assert "dcka emulate --runtime cpython" in called.stderr
