"""Emulated nodes: a board's files and heap, a flash that stays, and every end of a process explained."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from servers import LIMIT_S, TestClient, is_running, running, wait_until

from dcka.broker import BrokerUrl
from dcka.emulation import micropython
from dcka.emulation.build import Build, build
from dcka.emulation.micropython import EmulationError, MicroPythonNetwork, NodeFailure, available
from dcka.errors import UsageError
from dcka.firmware_files import BoardFile
from dcka.processes import ProcessGroup

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not available(), reason=str(available().reason)),
]
HOST = Path(__file__).parents[2] / "host"
NOWHERE = BrokerUrl("127.0.0.1", 1)
WAITING = "import time\nwhile True:\n    time.sleep(1)\n"
Firmware = Callable[..., Build]


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    """A build with this main.py, and other files by their paths."""

    def make(main: str, others: dict[str, str] | None = None) -> Build:
        folder = tmp_path / "sources"
        texts = {"main.py": main, **(others or {})}
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return build(
            [BoardFile(PurePosixPath(path), folder / path) for path in texts], cache=tmp_path / "cache"
        )

    return make


@pytest.fixture(autouse=True)
def temporary_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders go; empty again at the end of each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert os.listdir(folder) == []


def ended(network: MicroPythonNetwork) -> list[NodeFailure]:
    """The failures, once there is one for every node."""
    wait_until(lambda: len(network.failures()) == len(network.ids), "all nodes have ended")
    return network.failures()


def test_a_node_has_a_boards_files_and_heap_and_no_desktop_library(
    firmware: Firmware, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MICROPYPATH", "/somewhere/else")
    main = """
import gc, json, os, sys
gc.collect()
from lib.part import answer
files = sorted(name[0] for name in os.ilistdir())
with open("node.json") as file: config = json.load(file)
heap = gc.mem_alloc() + gc.mem_free()
print(json.dumps([config, files, heap, sys.path[1:], answer, sys.implementation.name]))
"""
    made = firmware(main, {"lib/__init__.py": "", "lib/part.py": "answer = 42\n"})
    broker = BrokerUrl("broker.local", 1884, "anna", "s3cret")
    with MicroPythonNetwork("demo", [7], broker, heap="112K", firmware=made, keepalive=5) as network:
        failure = ended(network)[0]
        folder = network.node(7).folder
        assert (folder / "node.json").stat().st_mode & 0o077 == 0  # it has a password in it
        assert sorted(os.listdir(folder / "lib")) == ["__init__.mpy", "part.mpy"]
    config, files, heap, path, answer, name = json.loads(failure.output[-1])
    assert config == {
        "v": 1,
        "network": "demo",
        "node": 7,
        "broker": {"host": "broker.local", "port": 1884, "user": "anna", "password": "s3cret"},
        "max_message": 1024,
        "keepalive": 5,
    }
    assert files == ["lib", "main.py", "node.json"]
    assert 100 * 1024 < heap <= 112 * 1024
    assert (path, answer, name) == ([".frozen"], 42, "micropython")


def test_the_flash_stays_over_restarts_and_power_cuts(firmware: Firmware, tmp_path: Path) -> None:
    main = """
try:
    with open("boots") as file: boots = int(file.read())
except OSError:
    boots = 0
with open("boots", "w") as file: file.write(str(boots + 1))
print("boot", boots + 1)
"""
    made = firmware(main + WAITING)
    folder = tmp_path / "nodes"
    with MicroPythonNetwork("demo", [1, 2], NOWHERE, folder=folder, firmware=made) as network:
        node = network.node(1)
        wait_until(lambda: node.lines() == ["boot 1"], "the first boot")
        wait_until(lambda: network.node(2).lines() == ["boot 1"], "the other node's first boot")
        network.restart(1)
        wait_until(lambda: node.lines() == ["boot 2"], "the second boot")
        network.kill(1)
        assert node.pid is None
        assert network.failures() == []  # a power cut on purpose is no failure
        network.restart(1)
        wait_until(lambda: node.lines() == ["boot 3"], "the third boot")
    assert (folder / "1" / "boots").read_text() == "3"
    with MicroPythonNetwork("demo", [1], NOWHERE, folder=folder, firmware=made) as network:
        wait_until(lambda: network.node(1).lines() == ["boot 4"], "the flash outlives the network too")
    assert (folder / "2" / "boots").read_text() == "1"


@pytest.mark.parametrize(
    ("main", "code", "sentence", "output"),
    [
        (
            "import part.one\npart.one.f()\n",
            1,
            "node 3 crashed: ZeroDivisionError: divide by zero (part.one, f)",
            "Traceback (most recent call last):",
        ),
        (
            "buffer = bytearray(200_000)\n",
            1,
            "node 3 ran out of its 112K heap (MemoryError: memory allocation failed, allocating 200000"
            " bytes): use --heap with more",
            "Traceback (most recent call last):",
        ),
        (
            "import nothing\n",
            1,
            "node 3 crashed: ImportError: no module named 'nothing' (main.py, line 1, <module>)",
            "Traceback",
        ),
        ("x = = 1\n", 1, "node 3 crashed: SyntaxError: invalid syntax (main.py, line 1)", "Traceback"),
        ("print('bye')\n", 0, "node 3 ended by itself, which the firmware never does", "bye"),
        (
            "import sys\nprint('no flash')\nsys.exit(4)\n",
            4,
            "node 3 ended with exit code 4: no flash",
            "no flash",
        ),
    ],
)
def test_an_end_is_explained(main: str, code: int, sentence: str, output: str, firmware: Firmware) -> None:
    made = firmware(main, {"part/__init__.py": "", "part/one.py": "def f():\n    return 1 // 0\n"})
    with MicroPythonNetwork("demo", [3], NOWHERE, heap="112K", firmware=made) as network:
        [failure] = ended(network)
    assert (failure.node, failure.exit_code, failure.sentence) == (3, code, sentence)
    assert failure.output[0].startswith(output)


def test_the_last_traceback_is_shown_not_one_that_the_node_survived(firmware: Firmware) -> None:
    main = """
import sys
try:
    1 // 0
except ZeroDivisionError as error:
    sys.print_exception(error)
print("going on")
raise ValueError("the end")
"""
    with MicroPythonNetwork("demo", [3], NOWHERE, firmware=firmware(main)) as network:
        [failure] = ended(network)
    assert failure.sentence == "node 3 crashed: ValueError: the end (main.py, line 8, <module>)"
    assert failure.output[-1] == "ValueError: the end"
    assert not any("ZeroDivision" in line for line in failure.output)


def test_a_traceback_has_the_names_of_the_sources(firmware: Firmware) -> None:
    part = """
class Counter:
    def __init__(self):
        self._steps_done = 0
    def _advance(self, _by):
        if _by > 1:
            return self._advance(_by - 1)
        del self._steps_done
        return self._steps_done
def run():
    return Counter()._advance(2)
"""
    made = firmware("import part.one\npart.one.run()\n", {"part/one.py": part})
    assert b"_advance" not in (made.folder / "part" / "one.mpy").read_bytes()
    with MicroPythonNetwork("demo", [3], NOWHERE, firmware=made) as network:
        [failure] = ended(network)
    assert failure.output == (
        "Traceback (most recent call last):",
        '  File "main.py", line 2, in <module>',
        '  File "part.one", in run',
        '  File "part.one", in _advance',
        '  File "part.one", in _advance',
        "AttributeError: 'Counter' object has no attribute '_steps_done'",
    )
    assert failure.sentence == (
        "node 3 crashed: AttributeError: 'Counter' object has no attribute '_steps_done' (part.one, _advance)"
    )


def test_a_node_that_is_killed_from_outside_is_a_failure(firmware: Firmware) -> None:
    with MicroPythonNetwork("demo", [1, 2], NOWHERE, firmware=firmware(WAITING)) as network:
        pid = network.node(2).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: network.node(2).pid is None, "it has ended")
        [failure] = network.failures()
        assert (failure.exit_code, failure.sentence) == (-9, "node 2 was ended by SIGKILL")
        network.restart(2)
        assert network.failures() == []


def test_a_stopped_network_leaves_no_process_and_no_folder(firmware: Firmware) -> None:
    with MicroPythonNetwork("demo", range(1, 6), NOWHERE, firmware=firmware(WAITING)) as network:
        pids = [network.node(node).pid for node in network.ids]
        assert None not in pids
        folder = network.node(1).folder
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(pid)), 0)
    assert not folder.exists()
    assert network.failures() == []


def test_an_interruption_while_nodes_start_leaves_nothing(
    firmware: Firmware, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    start = micropython.MicroPythonNode.start

    def interrupted(node: micropython.MicroPythonNode, group: ProcessGroup) -> None:
        start(node, group)
        started.append(int(str(node.pid)))
        if node.node == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(micropython.MicroPythonNode, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        MicroPythonNetwork("demo", range(1, 6), NOWHERE, firmware=firmware(WAITING)).start()
    assert len(started) == 3
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize(
    ("nodes", "says"),
    [([1, 2, 1], "node 1 is there twice"), ([0], "from 1 to 65535, not 0"), ([65536], "not 65536")],
)
def test_ids_are_checked_before_anything_starts(nodes: list[int], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        MicroPythonNetwork("demo", nodes, NOWHERE)


@pytest.mark.parametrize("heap", ["", "0", "-1K", "128KB", "1.5M", "many", "128K;x"])
def test_a_heap_is_a_size(heap: str) -> None:
    with pytest.raises(UsageError, match="a heap is a number of bytes such as 112K"):
        MicroPythonNetwork("demo", [1], NOWHERE, heap=heap)


def test_without_micropython_the_sentence_names_the_other_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(micropython, "interpreter_folder", lambda: None)
    assert not available()
    with pytest.raises(EmulationError, match=r"there is no MicroPython for .*: use --runtime cpython"):
        MicroPythonNetwork("demo", [1], NOWHERE).start()


def test_a_node_that_is_not_there_and_a_folder_that_cannot_be(tmp_path: Path, firmware: Firmware) -> None:
    made = firmware(WAITING)
    with (
        MicroPythonNetwork("demo", [1, 4], NOWHERE, firmware=made) as network,
        pytest.raises(EmulationError, match="there is no emulated node 2; there are 1, 4"),
    ):
        network.kill(2)
    (tmp_path / "file").touch()
    with pytest.raises(EmulationError, match=r"cannot write node 1's files: .*/file/1: Not a directory"):
        MicroPythonNetwork("demo", [1], NOWHERE, folder=tmp_path / "file", firmware=made).start()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a parent that was killed")
def test_nodes_are_gone_soon_after_their_parent_was_killed(tmp_path: Path, firmware: Firmware) -> None:
    program = f"""
import sys, time
sys.path.insert(0, {str(HOST)!r})
from pathlib import Path
from dcka.broker import BrokerUrl
from dcka.emulation.build import Build
from dcka.emulation.micropython import MicroPythonNetwork
made = Build(Path({str(firmware(WAITING).folder)!r}), (Path("main.py"),), (), True)
folder, broker = Path({str(tmp_path / "nodes")!r}), BrokerUrl("127.0.0.1", 1)
with MicroPythonNetwork("demo", [1, 2, 3], broker, folder=folder, firmware=made) as network:
    print(*[network.node(node).pid for node in network.ids], flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 3
        parent.kill()
    wait_until(lambda: not any(map(is_running, pids)), "the nodes are gone")


def test_the_firmware_comes_online_and_its_will_goes_out_at_a_power_cut() -> None:
    with running("embedded") as broker, TestClient(broker.address, "watcher") as watcher:
        watcher.subscribe("dcka/demo/status/+")
        with MicroPythonNetwork("demo", [1, 2], broker.address) as network:
            ready: set[int] = set()
            while len(ready) < 2:
                assert network.failures() == []
                status = json.loads(watcher.next(LIMIT_S).payload)
                ready |= {status["node"]} if status["state"] == "ready" else set()
            network.kill(2)
            while (status := json.loads(watcher.next(LIMIT_S).payload))["state"] != "offline":
                pass
            assert status["node"] == 2
