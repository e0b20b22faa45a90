"""Each thing that can be wrong with a board, and what the doctor says of it: facts in, a verdict and what to do out."""

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dcka.boards.chips import CHIPS
from dcka.boards.doctor import board as board_checks
from dcka.boards.doctor.board import Expected, check_board
from dcka.boards.doctor.examine import Seen, examine_boards
from dcka.boards.doctor.look import Look, _room
from dcka.boards.doctor.verdicts import Check, all_well
from dcka.boards.errors import BoardError, BoardSilent, PortBusy
from dcka.boards.flashing import Detected
from dcka.boards.ports import PortInfo


def said(checks: Sequence[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def verdicts(checks: Sequence[Check]) -> dict[str, str]:
    return {check.name: check.verdict for check in checks}


P = "/dev/ttyUSB0"
CONFIG = {
    "v": 1, "network": "greenhouse", "node": 3, "broker": {"host": "192.168.1.10", "port": 1883},
    "wifi": {"ssid": "shed", "password": True},
}  # fmt: skip
DATA = (struct.pack("<4sBBHI8s", b"DCKd", 2, 15, 2, 100, b"12345678"), 20 + 4 + 400 + 4 + 32)
HEALTHY = Look(
    platform="esp32",
    version=(1, 29, 0),
    machine="Generic ESP32 module with ESP32",
    room=(1 << 20, 2 << 20),
    boot_py=True,
    folder="/fw-1a2b3c4d5e6f",
    config=CONFIG,
    made={"v": 1, "firmware": "0.1.0", "mpy": "xtensawin"},
    data=DATA,
)
EXPECTED = Expected(
    "0.1.0", "greenhouse", (1, 2, 3), 3, {"dcka_core.tree": {"_7": "dcka_core.tree:._take_sums"}}
)
NAMES = ("micropython", "file system", "firmware", "node.json", "safe mode", "crash", "data")
CRASH = (
    "Traceback (most recent call last):",
    '  File "dcka_core.tree", line 1, in _7',
    "ValueError: no",
)


def test_a_healthy_board():
    checks = check_board(HEALTHY, EXPECTED, P)
    assert verdicts(checks) == dict.fromkeys(NAMES, "ok")
    assert said(checks)["node.json"].says == "node 3 of greenhouse, broker 192.168.1.10:1883"
    assert said(checks)["data"].says == "100 points of 2 dimensions"


@pytest.mark.parametrize(
    ("changes", "name", "says", "todo"),
    [
        ({"version": (1, 20, 0)}, "micropython", "1.20.0 is too old", "dcka board flash --port"),
        ({"machine": "x with ESP32H2"}, "micropython", "has no Wi-Fi", "take another board"),
        ({"room": None}, "file system", "no file system", "mkfs"),
        ({"room": (4096, 2 << 20)}, "file system", "it is full: 4 of 2,048 KB", "fs ls"),
        ({"folder": None}, "firmware", "no firmware", "dcka board provision"),
        ({"folder": ""}, "firmware", "another program's", "fs cp :main.py"),
        ({"made": None}, "firmware", "no whole version.json", "dcka board provision"),
        ({"made": ""}, "firmware", "no whole version.json", "dcka board provision"),
        ({"missing": ("dcka_core/tree.mpy",)}, "firmware", "1 of its files are missing (dcka_core/", "provision"),
        ({"boot_py": False}, "firmware", "boot.py", "provision"),
        ({"config": None}, "node.json", "node.json is missing", "provision"),
        ({"config": ""}, "node.json", "node.json is no JSON", "provision"),
        ({"config": CONFIG | {"node": "3"}}, "node.json", "no proper `node`", "provision"),
        ({"config": CONFIG | {"broker": {}}}, "node.json", "names no broker", "provision"),
        ({"config": CONFIG | {"broker": {"host": "127.0.0.1"}}}, "node.json", "is the board itself", "provision"),
        ({"config": CONFIG | {"wifi": {"ssid": ""}}}, "node.json", "set [wifi] ssid", "provision"),
        ({"config": CONFIG | {"network": "cellar"}}, "node.json", "of the network cellar", "folder of cellar"),
        ({"config": CONFIG | {"node": 9}}, "node.json", "has no such node", "provision"),
        ({"config": CONFIG | {"node": 2}}, "node.json", "boards.json has node 3", "provision"),
        ({"stopped": True}, "safe mode", "a file /stop", "fs rm :stop"),
        ({"failed": 5}, "safe mode", "5 starts in a row", "clears the count"),
        ({"data": (b"DCKd", 4)}, "data", "4 bytes is damaged", "dcka board inject"),
        ({"data": (DATA[0], 99)}, "data", "99 bytes is damaged", "dcka board inject"),
        ({"data": (b"x" + DATA[0][1:], DATA[1])}, "data", "is damaged", "dcka board inject"),
    ],
)  # fmt: skip
def test_what_can_be_wrong_with_a_board(changes: dict[str, object], name: str, says: str, todo: str):
    checks = check_board(replace(HEALTHY, **changes), EXPECTED, P)
    wrong = [check for check in checks if check.verdict == "wrong"]
    assert name in {check.name for check in wrong} and not all_well(checks)
    check = said(wrong)[name]
    assert says in check.says and todo in check.todo


@pytest.mark.parametrize(
    ("changes", "name", "says"),
    [
        ({"room": (100 << 10, 2 << 20)}, "file system", "little room"),
        ({"made": {"firmware": "0.0.9"}}, "firmware", "version 0.0.9, and this dcka has 0.1.0"),
        ({"crash": CRASH}, "crash", "it has crashed: ValueError: no, at \"dcka_core.tree\", in _take_sums"),
        ({"data": None}, "data", "no readings yet"),
    ],
)  # fmt: skip
def test_what_is_worth_a_note(changes: dict[str, object], name: str, says: str):
    checks = check_board(replace(HEALTHY, **changes), EXPECTED, P)
    assert said(checks)[name].verdict == "note" and says in said(checks)[name].says
    assert all_well(checks)


def test_free_space_that_wraps_around_zero_is_none():
    assert _room((4294967288 * 4096, 2 << 20)) == (0, 2 << 20)
    assert _room((1 << 20, 2 << 20)) == (1 << 20, 2 << 20)
    assert _room(None) is None


def test_a_desktop_needs_no_radio_and_may_have_its_broker_beside_it():
    config = {**CONFIG, "broker": {"host": "127.0.0.1"}, "wifi": None}
    checks = check_board(replace(HEALTHY, platform="linux", machine="linux", config=config), EXPECTED, P)
    assert all_well(checks)


def test_without_a_network_file_the_board_is_taken_at_its_word():
    assert all_well(check_board(replace(HEALTHY, config=CONFIG | {"node": 77}), Expected("0.1.0"), P))


def test_as_many_failed_starts_as_boot_py_says():
    source = (Path(__file__).parents[2] / "firmware" / "boot.py").read_text()
    assert f"_MAX_FAILED = {board_checks.MAX_FAILED}\n" in source


# ---- the examination ----


class Bench:
    def __init__(self) -> None:
        self.seen: dict[str, list[Seen | BoardError]] = {}
        self.detected: dict[str, Detected | BoardError] = {}

    def visit(self, port: str) -> Seen:
        seen = self.seen[port].pop(0)
        if isinstance(seen, BoardError):
            raise seen
        return seen

    def detect(self, ports: Sequence[str], parallel: int) -> list[Detected | BoardError]:
        return [self.detected[port] for port in ports]

    def examine(self, *paths: str) -> list[Check]:
        ports = [PortInfo(path) for path in paths]
        return examine_boards(ports, lambda port: EXPECTED, visit=self.visit, detect=self.detect)


def test_a_board_that_is_well_has_to_join_too():
    bench = Bench()
    bench.seen = {"A": [Seen(HEALTHY, "")], "B": [Seen(HEALTHY, "the broker 192.168.1.10 fails: do this")]}
    checks = bench.examine("A", "B")
    ends = {check.port: check for check in checks if check.name == "network"}
    assert ends["A"].verdict == "ok"
    assert (ends["B"].verdict, ends["B"].says) == ("wrong", "the broker 192.168.1.10 fails: do this")


def test_what_stands_in_its_way_is_told_rather_than_that_it_did_not_join():
    bench = Bench()
    bench.seen["A"] = [Seen(replace(HEALTHY, stopped=True), "the node was not started")]
    assert [check.name for check in bench.examine("A") if check.verdict == "wrong"] == ["safe mode"]


def test_a_chip_without_micropython_and_one_that_answers_nothing():
    bench = Bench()
    silent = BoardSilent("A: nothing answers")
    bench.seen = {"A": [silent, silent], "B": [silent]}
    bench.detected = {"A": Detected(CHIPS["esp32s3"], "aa:bb:cc:00:00:01", 0), "B": silent}
    flash, boot = bench.examine("A", "B")
    assert "an ESP32-S3" in flash.says and "dcka board flash --port A" in flash.todo
    assert "hold BOOT, press and release EN" in boot.todo


def test_a_program_that_heard_no_ctrl_c_is_seen_after_the_bootloader_restarted_it():
    bench = Bench()
    bench.seen["A"] = [BoardSilent("A"), Seen(HEALTHY, "")]
    bench.detected["A"] = Detected(CHIPS["esp32"], "aa:bb:cc:00:00:01", 0)
    assert verdicts(bench.examine("A"))["network"] == "ok"


def test_what_else_goes_wrong_is_said_in_its_own_words():
    bench = Bench()
    bench.seen["A"] = [PortBusy("A is in use by minicom (pid 7): close that, then try again")]
    (check,) = bench.examine("A")
    assert (check.name, check.verdict, check.port) == ("answer", "wrong", "A")
    assert "minicom" in check.says
