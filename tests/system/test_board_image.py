"""`dcka board image`: blank boards become nodes with their readings in one go."""

import contextlib
import json
import os
import stat
import subprocess
import sys

import pytest
import serial

from dcka.boards.emulated import EmulatedBoard
from dcka.boards.emulated.image import VFS_OFFSET, micropython_image
from dcka.boards.filesystem import read_littlefs
from dcka.boards.transfer import digest
from dcka.broker import open_broker
from dcka.datasets import gaussians
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))

NETWORK = """\
[network]
name = "home"
nodes = 2
broker = "{broker}"
[topology]
kind = "complete"
[run]
k = 4
seed = 7
{more}
"""


@pytest.fixture
def folder(tmp_path):
    write_network(tmp_path, "mqtt://192.168.1.10:1883", '[wifi]\nssid = "house"')
    for chip in ("esp32", "esp32c3"):
        (tmp_path / f"{chip}.bin").write_bytes(micropython_image(chip))
    return tmp_path


def write_network(folder, broker, more=""):
    (folder / "network.toml").write_text(NETWORK.format(broker=broker, more=more))


def dcka(folder, *words, **variables):
    command = [sys.executable, "-m", "dcka", *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DCKA_")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def record(done, code=0):
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_blank_boards_become_nodes_that_run(folder):
    with contextlib.ExitStack() as stack:
        write_network(folder, stack.enter_context(open_broker()).url)
        boards = [
            stack.enter_context(
                EmulatedBoard(folder / f"board{number}", mac=f"24:0a:c4:00:00:0{number}", micropython=False)
            )
            for number in (1, 2)
        ]
        ports = [word for board in boards for word in ("--port", board.port)]
        words = ("board", "image", *ports, "--image", "esp32.bin", "--data", "gaussians", "--json")
        told = record(dcka(folder, *words))
        assert [board["verified"] for board in told["boards"]] == [True, True]
        assert {board["node"] for board in told["boards"]} == {1, 2}
        assert [board["mac"] for board in told["boards"]] == [board.mac for board in boards]
        # They start by themselves, with their readings, and there is a data set for the run.
        assert record(dcka(folder, "run", "--json"))["finished"]
        assert record(dcka(folder, "check", "--json"))["verdict"] == "PASS"
        # Nothing is left for provision to do.
        again = record(dcka(folder, "board", "provision", *ports, "--json"))
        assert [board["sent"] + board["copied"] for board in again["boards"]] == [[], []]
        assert [board["node"] for board in again["boards"]] == [board["node"] for board in told["boards"]]


def test_a_board_of_another_chip_is_left_as_it_is(folder):
    with EmulatedBoard(folder / "board", chip="esp32c3", extra_files={"mine.py": b"1\n"}) as board:
        with serial.Serial(board.port, timeout=120) as line:
            line.write(b"\x03")
            line.read_until(b">>> ")
        before = board.flash()
        words = ("board", "image", "--port", board.port, "--image", "esp32.bin", "--json")
        done = dcka(folder, *words, DCKA_WIFI_PASSWORD="long enough", DCKA_BROKER_PASSWORD="")
        told = record(done, code=7)
        assert told["flashed"] == 0
        assert "is an ESP32-C3" in told["boards"][0]["error"]
        assert board.flash() == before


def test_a_file_for_one_node_for_its_owner_alone(folder):
    write_network(folder, "mqtt://192.168.1.10:1883", '[wifi]\nssid = "house"\n[sleep]\ndeep = true')
    words = ("board", "image", "--image", "esp32c3.bin", "--node", "2", "--output", "node2.bin")
    told = record(dcka(folder, *words, "--data", "gaussians", "--json", DCKA_WIFI_PASSWORD="long enough"))
    file = folder / "node2.bin"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (told["address"], told["chip"], told["node"]) == (0, "esp32c3", 2)
    content = file.read_bytes()
    assert content.startswith(micropython_image("esp32c3"))
    files = read_littlefs(content[VFS_OFFSET:].ljust(2 * 1024 * 1024, b"\xff"))
    node = json.loads(files[f"{told['folder']}/node.json"])
    assert (node["node"], node["wifi"]["password"]) == (2, "long enough")
    assert node["broker"]["host"] == "192.168.1.10"
    assert files["data.bin"] == gaussians(7, 2).data_file(2)
    assert told["folder"].encode() in files["main.py"]
    # All of the version is there, also what it wakes with.
    hashes = json.loads(files[f"{told['folder']}/version.json"])["files"]
    assert {path: digest(files[f"{told['folder']}/{path}"]) for path in hashes} == hashes
    assert "wake/dcka_device/waking.mpy" in hashes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which board is meant"),
        (("--output", "x.bin"), "--node ID"),
        (("--output", "x.bin", "--node", "9", "--chip", "esp32"), "--node 9 is not in the network"),
        (("--output", "x.bin", "--node", "1"), "--chip NAME"),
        (("--output", "x.bin", "--node", "1", "--all"), "leave out --port and --all"),
        (("--output", "no/x.bin", "--node", "1", "--image", "esp32.bin"), "no/x.bin cannot be written"),
        (("--output", "x.bin", "--node", "1", "--image", "network.toml"), "is no image for an ESP32"),
        (
            ("--output", "x.bin", "--node", "1", "--image", "esp32.bin", "--chip", "esp32c3"),
            "for the ESP32-C3 that --chip says",
        ),
        (("--port", "/dev/pts/x", "--chip", "esp32"), "--chip goes with --output"),
        (("--port", "/dev/pts/x", "--split", "round-robin"), "name one"),
    ],
)
def test_a_call_that_cannot_be_is_refused_in_one_line(folder, words, said):
    done = dcka(folder, "board", "image", *words, DCKA_WIFI_PASSWORD="long enough")
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert done.stderr.startswith("dcka: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not list(folder.glob("**/x.bin"))


def test_a_broker_that_no_board_reaches_is_refused(folder):
    write_network(folder, "mqtt://127.0.0.1:1883", '[wifi]\nssid = "house"')
    words = ("board", "image", "--image", "esp32.bin", "--node", "1", "--output", "x.bin")
    done = dcka(folder, *words, DCKA_WIFI_PASSWORD="long enough")
    assert done.returncode == 2
    assert "loopback" in done.stderr
