"""Nodes that sense by a replay, on both runtimes: on time, without a broker, through a power cut, and nothing wrong."""

import time
from array import array
from pathlib import Path

import pytest

from dcka.broker.url import BrokerUrl
from dcka.config import parse
from dcka.emulation.cpython import CPythonNetwork
from dcka.emulation.flash import FolderFlash
from dcka.emulation.micropython import MicroPythonNetwork, available
from dcka.emulation.network import Additions
from dcka.emulation.sensing import EPOCH_S, FlashFiles
from dcka.errors import DckaError, UsageError
from dcka.sensing.replay import replay_files
from dcka.sensing.settings import REPLAY_FILE, sensor_parts, sensor_settings
from dcka_core.segments import Segments

NETWORK = """
[network]
nodes = 2
[topology]
kind = "line"
[data]
split_by = "mote"
[sensors]
every_s = 1
sync_every = 2
devices = [{ driver = "bme280", sda = 21, scl = 22, columns = { temperature = 2, humidity = 1 } }]
"""
NOBODY = BrokerUrl("127.0.0.1", 9)
LIMIT_S = 90.0
COLUMNS = "temperature/2 humidity/1"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [f"{1 + row % 2},{20 + row / 100:.2f},{-5 + row / 10:.1f}" for row in range(40)]
    file = tmp_path / "readings.csv"
    file.write_text("mote,temperature,humidity\n" + "\n".join(rows) + "\n")
    return file


def held(folder: Path) -> list[tuple[int, list[int]]]:
    segments = Segments(FlashFiles(FolderFlash(folder), 0), COLUMNS)
    return [(row[0], list(row)[1:]) for row in segments.readings(0, 2**31 - 1)]


def await_readings(folder: Path, count: int) -> list[tuple[int, list[int]]]:
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        found = held(folder)
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{len(held(folder))} readings of {count} after {LIMIT_S} s")


def replayed(content: bytes, time_s: int) -> list[int]:
    """The row for a time, by the rule in the docs of the driver."""
    numbers = array("i", content)
    at = (time_s + EPOCH_S) % (len(numbers) // 2)
    return list(numbers[2 * at : 2 * at + 2])


@pytest.mark.parametrize("runtime", ["micropython", "cpython"])
def test_nodes_sense_on_time_and_through_a_power_cut(tmp_path: Path, table: Path, runtime: str) -> None:
    if runtime == "micropython" and not available():
        pytest.skip("there is no MicroPython for this platform")
    config = parse(NETWORK)
    contents = replay_files(table, config.ids, config.sensors, config.data)
    additions = Additions(
        sensor_parts(config.sensors, replayed=True),
        sensor_settings(config.sensors, replayed=True),
        {node: {REPLAY_FILE: content} for node, content in contents.items()},
    )
    make = MicroPythonNetwork if runtime == "micropython" else CPythonNetwork
    with make("t", config.ids, NOBODY, folder=tmp_path / "nodes", additions=additions) as nodes:
        before = await_readings(tmp_path / "nodes" / "1", 4)
        nodes.kill(1)
        assert held(tmp_path / "nodes" / "1")[: len(before)] == before
        nodes.restart(1)
        after = await_readings(tmp_path / "nodes" / "1", len(before) + 4)
        assert after[: len(before)] == before
        await_readings(tmp_path / "nodes" / "2", 4)
        assert nodes.failures() == []
    for node in config.ids:
        found = held(tmp_path / "nodes" / str(node))
        times = [time_s for time_s, _ in found]
        assert times == sorted(set(times))
        assert all(values == replayed(contents[node], time_s) for time_s, values in found), node


def test_a_replay_is_checked_before_a_node_starts(tmp_path: Path, table: Path) -> None:
    config = parse(NETWORK)
    contents = replay_files(table, config.ids, config.sensors, config.data)
    assert list(array("i", contents[1]))[:4] == [2000, -50, 2002, -48]
    assert list(array("i", contents[2]))[:2] == [2001, -49]
    with pytest.raises(UsageError, match=r"there is no file .*other\.csv"):
        replay_files(tmp_path / "other.csv", config.ids, config.sensors, config.data)
    table.write_text("mote,temperature,humidity\n1,20,5\n")
    with pytest.raises(DckaError, match="no row is for node 2"):
        replay_files(table, config.ids, config.sensors, config.data)
    table.write_text("mote,temperature,humidity\n1,20,5\n2,3e8,5\n")
    with pytest.raises(DckaError, match="column temperature goes up to 3e\\+10"):
        replay_files(table, config.ids, config.sensors, config.data)
