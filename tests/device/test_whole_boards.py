"""The firmware as a board has it, on emulated boards with a fake radio and chip, over their serial line.

CPython only: it runs MicroPython on the boards. What only hardware can show is not in here: DTR and RTS, the air, the
watchdog's bite, what sleep costs.
"""

import contextlib
import json
import re
import time
from collections import deque
from pathlib import Path

import pytest
import serial
from servers import LIMIT_S, running

from dcka.boards import joining
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.secrets import Secrets
from dcka.boards.versions import wanted_version
from dcka.config import from_mapping
from dcka.emulation.build import host_march
from dcka.emulation.micropython import available
from dcka_core.voice import VERSION

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not available(), reason=str(available().reason)),
]

# Long for a write, and nothing else tells that it is done.
WRITTEN_S = 3.0
FAKES = Path(__file__).resolve().parent / "fakes"
# As on the chip, only quicker.
AIR = {"scan_ms": 20, "not_found_ms": 30, "refused_ms": 40, "associate_ms": 20, "address_ms": 20}
HOME = {"ssid": "home", "password": "secret99", "channel": 11}
NOBODY = "mqtt://127.0.0.1:9"
# As our main.py does, it asks boot.py first.
TALKER = b"n = 0\nwhile not stop_reason:\n    print('telemetry', n)\n    n += 1\n"


def board_files(broker=NOBODY, points=(HOME,), chip=None, **wifi):
    """What provisioning puts onto node 3's board, and the fakes: path → content."""
    network = {"name": "greenhouse", "nodes": 3, "broker": broker}
    sections = {"network": network, "topology": {"kind": "complete"}, "wifi": {"ssid": "home", **wifi}}
    config = from_mapping(sections)
    march = host_march()
    secrets = Secrets(wifi="secret99")
    version = wanted_version(config, 3, None if march == "none" else march, secrets)
    files = {path.strip("/"): content for path, content in version.tree().items()}
    files |= {f"lib/{path.name}": path.read_bytes() for path in FAKES.glob("*.py")}
    files["air.json"] = json.dumps({**AIR, "access_points": list(points)}).encode()
    # Without pins boot.py does not wait for a button.
    files["machine.json"] = json.dumps({"pins": False, **(chip or {})}).encode()
    return files


class Line:
    """The serial line of a board."""

    def __init__(self, opened):
        self._opened = opened
        self._tail = b""
        # Whole lines that have come and that nobody has looked at: who stops at one leaves the others to the next.
        self._waiting = deque()
        self.heard = []

    def lines(self, limit=LIMIT_S):
        """Whole lines as they come, without the prompt's; they end after `limit` seconds."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            self._tail += self._opened.read(max(1, self._opened.in_waiting))
            *whole, self._tail = self._tail.split(b"\n")
            self._waiting.extend(whole)
            while self._waiting:
                self.heard.append(self._waiting.popleft().decode().rstrip("\r").removeprefix(">>> "))
                yield self.heard[-1]

    def until(self, pattern, limit=LIMIT_S):
        """The first line that matches, from here on."""
        for line in self.lines(limit):
            if re.fullmatch(pattern, line):
                return line
        raise AssertionError(f"no line {pattern!r} in {self.heard[-30:]}, and {self._tail!r}")

    def joined(self):
        return joining.wait_until_joined(self.lines(), LIMIT_S)

    def send(self, keys):
        self._opened.write(keys)

    def stop(self):
        """Ctrl-C; returns when the REPL answers."""
        self.send(b"\r\x03")
        self.answers()

    def answers(self):
        """The REPL is there: it reckons."""
        self.send(b"\rprint('it', 6 * 7)\r")
        self.until("it 42")


@contextlib.contextmanager
def powered(folder, files=None):
    """A board that is switched on once somebody listens: (board, line)."""
    with (
        EmulatedBoard(folder / "board", extra_files=files, on=False) as board,
        serial.Serial(board.port, 115200, timeout=0.05) as opened,
    ):
        board.power_on()
        yield board, Line(opened)


def test_a_board_joins_its_access_point_and_a_real_broker(tmp_path):
    with running("embedded") as broker, powered(tmp_path, board_files(str(broker.address))) as (board, line):
        joined = line.joined()
        host, port = "127.0.0.1", broker.address.port
        assert joined == joining.Joined(3, "greenhouse", 1, VERSION, "192.168.1.103", 11, f"{host}:{port}"), (
            line.heard
        )
        ours = [text for text in line.heard if text.startswith("dcka: ")]
        assert ours == [
            f"dcka: node 3 of greenhouse, boot 1, firmware {VERSION}",
            "dcka: wifi joining home",
            "dcka: wifi joined 192.168.1.103 channel 11",
            "dcka: no data",
            f"dcka: broker connecting {host}:{port}",
            "dcka: ready",
        ]
        line.stop()
        assert "dcka: stopped" in line.heard
        # A soft reset starts it again; it is a new boot, and the place is known.
        line.send(b"\x04")
        assert line.joined().boot == 2
        board.power_off()
        files = board.files()
    assert files["wifi.bin"] == bytes.fromhex("0200000000a1") + b"\x0bhome"
    assert "failed.txt" not in files and "crash.txt" not in files


def test_an_access_point_that_goes_and_comes_back_elsewhere(tmp_path):
    moved = {**HOME, "bssid": "0200000000b2", "channel": 3, "from_ms": 2800}
    files = board_files(points=[{**HOME, "until_ms": 2500}, moved])
    files["air.json"] = json.dumps({**json.loads(files["air.json"]), "beacons_ms": 100}).encode()
    with powered(tmp_path, files) as (board, line):
        line.until("dcka: wifi joined 192.168.1.103 channel 11")
        line.until("dcka: wifi lost")
        line.until("dcka: wifi joined 192.168.1.103 channel 3")
        assert line.heard.count("dcka: wifi failed: no access point") == 1
        # It says so before it writes.
        time.sleep(WRITTEN_S)
        line.stop()
        board.power_off()
        assert board.files()["wifi.bin"] == bytes.fromhex("0200000000b2") + b"\x03home"


@pytest.mark.parametrize(
    ("points", "error"),
    [
        ([{**HOME, "password": "other678"}], joining.WifiPasswordWrong),
        ([{**HOME, "password": "other678", "refusal": 202}], joining.WifiPasswordWrong),
        ([{**HOME, "ssid": "elsewhere"}], joining.AccessPointMissing),
    ],
)
def test_a_board_that_does_not_get_in_says_why_and_can_be_stopped(tmp_path, points, error):
    with powered(tmp_path, board_files(points=points)) as (board, line):
        line.until("dcka: wifi failed: .*")
        joining_error = joining._wifi_error(line.heard[-1].removeprefix("dcka: wifi failed: "), "home")
        assert type(joining_error) is error
        # It waits now, asleep most of the time.
        line.stop()
        board.power_off()
        assert "failed.txt" not in board.files()


def test_a_board_without_a_broker_says_so(tmp_path):
    with powered(tmp_path, board_files()) as (_, line):
        told = line.until("dcka: broker failed: .*")
        assert told.startswith("dcka: broker failed: refused ("), told
        line.stop()


def test_crashes_in_a_row_end_in_a_safe_mode_that_answers(tmp_path):
    files = board_files(chip={"cause": 2})
    folder = next(path.split("/")[0] for path in files if path.startswith("fw-"))
    files[f"{folder}/node.json"] = b"{"
    files["failed.txt"] = b"4"
    with powered(tmp_path, files) as (board, line):
        line.until("Traceback .*")
        assert line.until("dcka: crash: .*") == f"dcka: crash: CoreError: /{folder}/node.json is no JSON"
        reason = f"5 starts in a row came to nothing, the last with CoreError: /{folder}/node.json is no JSON"
        assert line.until("dcka: safe mode: .*") == "dcka: safe mode: " + reason
        line.answers()
        board.power_off()
        files = board.files()
        assert files["failed.txt"] == b"5"
        assert files["crash.txt"].startswith(b"Traceback")
        # Whoever puts it right and takes the count away has a node again.
        right = board_files()[f"{folder}/node.json"]
        board.put_files({f"{folder}/node.json": right, "failed.txt": None})
        board.power_on()
        line.until(f"dcka: node 3 of greenhouse, boot 1, firmware {VERSION}")


def test_ctrl_c_after_a_crash_leaves_the_board_to_its_visitor(tmp_path):
    files = board_files(chip={"cause": 2})
    folder = next(path.split("/")[0] for path in files if path.startswith("fw-"))
    files[f"{folder}/node.json"] = b"{"
    with powered(tmp_path, files) as (_, line):
        line.until("dcka: crash: .*")
        line.stop()
        assert "dcka: stopped" in line.heard


def test_main_is_no_python_at_all(tmp_path):
    with powered(tmp_path, {**board_files(), "main.py": b"def (\n"}) as (_, line):
        line.until("SyntaxError: .*")
        line.answers()


def test_a_main_that_prints_for_ever_and_the_stop_file(tmp_path):
    with powered(tmp_path, {**board_files(), "main.py": TALKER}) as (_, line):
        line.until(r"telemetry \d+")
        line.stop()
        line.send(b"open('/stop', 'w').close()\r\x04")
        line.until("dcka: safe mode: there is a file /stop")
        line.answers()


def test_ctrl_c_in_the_first_second_keeps_the_program_from_starting(tmp_path):
    files = board_files(chip={"pins": True})
    # Before that, the functions are only being made.
    files["boot.py"] = files["boot.py"].replace(
        b"\nstop_reason = _reason()", b"\nprint('up')\nstop_reason = _reason()"
    )
    with powered(tmp_path, files) as (_, line):
        line.until("up")
        line.send(b"\x03")
        line.until("dcka: safe mode: Ctrl-C was pressed")
        line.answers()


def test_a_tools_soft_resets_are_no_failed_starts(tmp_path):
    with powered(tmp_path, board_files(chip={"cause": 2})) as (board, line):
        line.until("dcka: node .*")
        line.stop()
        line.send(b"\r\x01")
        for _ in range(3):
            line.send(b"\x04")
            line.until("MPY: soft reboot")
            line.until("raw REPL; CTRL-B to exit")
        board.power_off()
        assert "failed.txt" not in board.files()


def test_the_awake_time_ends_in_a_sleep_that_doubles(tmp_path):
    files = board_files(points=[], awake_cap_s=1)
    with powered(tmp_path, files) as (board, line):
        slept = []
        for boot in (1, 2, 3):
            line.until(f"dcka: node 3 of greenhouse, boot {boot}, .*")
            told = line.until("dcka: asleep for .*")
            slept.append(int(told.split(" ")[3]))
            assert told.endswith(" s: no access point for 1 s")
        board.power_off()
        # Planned ends: none of them counts.
        assert board.files().get("failed.txt") in (None, b"1")
    for seconds, most in zip(slept, (60, 120, 240), strict=True):
        assert most * 3 // 4 <= seconds <= most, slept
