"""Who is on which port: what is opened and what is not, who is asked, and what comes of each answer."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dcka.boards.chips import CHIPS
from dcka.boards.errors import BoardError, BoardSilent, PortForbidden
from dcka.boards.flashing import Detected
from dcka.boards.identify import Answer, BoardRow, chip_of_machine, identify_all, listed, too_old
from dcka.boards.installed import Facts, Installed, NoFileSystem
from dcka.boards.ports import PortInfo
from dcka.boards.registry import Board

A, B = "aa:bb:cc:00:00:01", "aa:bb:cc:00:00:02"
FACTS = Facts((1, 29, 0), "Generic ESP32S3 module with ESP32S3", 0x2B06, "xtensawin", A, 1, 2)
NODE = Installed("0.1.0", "greenhouse", 3, "/fw-1a2b3c4d5e6f", "xtensawin")
EMPTY = Installed(None, None, None, None, None)


def usb(path: str, vid: int = 0x10C4, pid: int = 0xEA60) -> PortInfo:
    return PortInfo(path, "CP2102 USB to UART", vid, pid)


class World:
    """What each port answers, and what was done to it."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | BoardError] = {}
        self.detected: dict[str, Detected | BoardError] = {}
        self.holders: dict[str, str] = {}
        self.asked: list[str] = []
        self.restarted: list[str] = []

    def ask(self, path: str) -> Answer:
        self.asked.append(path)
        answer = self.answers[path]
        if isinstance(answer, BoardError):
            raise answer
        return answer

    def detect(self, paths: Sequence[str], parallel: int) -> list[Detected | BoardError]:
        self.restarted += paths
        return [self.detected[path] for path in paths]

    def rows(self, *ports: PortInfo, boards: Sequence[Board] = (), chosen: bool = True) -> list[BoardRow]:
        return identify_all(
            ports, boards, chosen=chosen, ask=self.ask, detect=self.detect, holder_of=self.holders.get
        )


@pytest.fixture
def world() -> World:
    return World()


def test_a_node_is_told_by_its_own_files_and_its_bootloader_is_left_in_peace(world: World):
    world.answers["A"] = Answer(FACTS, NODE)
    (row,) = world.rows(usb("A"))
    assert row.record() == {
        "port": "A",
        "usb": "CP2102 USB to UART",
        "chip": "ESP32-S3",
        "mac": A,
        "micropython": "1.29.0",
        "node": 3,
        "network": "greenhouse",
        "firmware": "0.1.0",
        "problem": None,
        "guess": None,
    }
    assert world.restarted == []


def test_a_board_without_firmware_is_no_problem(world: World):
    world.answers["A"] = Answer(FACTS, EMPTY)
    (row,) = world.rows(usb("A"))
    assert (row.micropython, row.node, row.firmware, row.problem) == ("1.29.0", None, None, None)


def test_the_bootloader_gives_the_mac_that_the_interpreter_lacks(world: World):
    world.answers["A"] = Answer(replace(FACTS, mac=None, machine="linux"), NODE)
    world.detected["A"] = Detected(CHIPS["esp32c3"], B, 4 << 20)
    (row,) = world.rows(usb("A"))
    assert (row.chip, row.mac, row.node, row.problem) == ("ESP32-C3", B, 3, None)


def test_a_chip_without_micropython_is_known_by_its_bootloader_and_told_what_to_do(world: World):
    world.answers["A"] = BoardSilent("A: nothing answers")
    world.detected["A"] = Detected(CHIPS["esp32"], A, 4 << 20)
    (row,) = world.rows(usb("A"))
    assert (row.chip, row.mac, row.micropython) == ("ESP32", A, None)
    assert row.problem == "no MicroPython answers: dcka board flash --port A"
    assert row.exit_code == 6


def test_where_neither_answers_the_doctor_is_named(world: World):
    world.answers["A"], world.detected["A"] = BoardSilent("A: x"), BoardSilent("A: y")
    (row,) = world.rows(usb("A"))
    assert row.problem == "neither MicroPython nor a bootloader answers: dcka board doctor --port A"
    assert (row.chip, row.mac, row.exit_code) == (None, None, 6)


def test_what_else_the_bootloader_has_to_say_is_said(world: World):
    world.answers["A"], world.detected["A"] = BoardSilent("A: x"), BoardError("A: the driver hangs")
    (row,) = world.rows(usb("A"))
    assert (row.problem, row.exit_code) == ("A: the driver hangs", 1)


def test_a_missing_file_system_is_told_with_the_chip_beside_it(world: World):
    world.answers["A"] = NoFileSystem("A: no file system: make one with")
    world.detected["A"] = Detected(CHIPS["esp32"], A, 4 << 20)
    (row,) = world.rows(usb("A"))
    assert (row.problem, row.mac) == ("A: no file system: make one with", A)


def test_a_port_that_somebody_has_is_not_opened_and_he_is_named(world: World):
    world.holders["A"] = "minicom (pid 123)"
    (row,) = world.rows(usb("A"))
    assert (row.problem, row.exit_code) == ("in use by minicom (pid 123): close that, then ask again", 4)
    assert world.asked == world.restarted == []


def test_a_port_that_may_not_be_opened_is_not_taken_for_a_silent_board(world: World):
    world.answers["A"] = PortForbidden("you may not open A: join dialout")
    (row,) = world.rows(usb("A"))
    assert (row.problem, row.exit_code) == ("you may not open A: join dialout", 5)
    assert world.restarted == []


def test_what_is_no_board_is_opened_only_where_a_person_names_it(world: World):
    printer = usb("P", 0x2341, 0x0042)
    world.answers = {"P": Answer(FACTS, EMPTY), "D": Answer(FACTS, EMPTY)}
    by_variable = PortInfo("D")
    (row, other) = world.rows(printer, by_variable, chosen=False)
    assert "no ESP32 board has this USB chip" in (row.problem or "") and other.problem is None
    assert world.asked == ["D"]
    (row,) = world.rows(printer)
    assert row.problem is None


def test_ports_are_told_in_their_order_and_one_failure_leaves_the_others(world: World):
    world.answers = {
        "A": BoardSilent("A: x"),
        "B": Answer(FACTS, NODE),
        "C": Answer(replace(FACTS, mac=None), EMPTY),
        "D": PortForbidden("D"),
    }
    world.detected = {"A": BoardSilent("A"), "C": Detected(CHIPS["esp32"], B, 0)}
    rows = world.rows(*map(usb, "ABCD"))
    assert [row.port for row in rows] == list("ABCD")
    assert [row.mac for row in rows] == [None, A, B, None]
    assert sorted(world.restarted) == ["A", "C"]


def test_two_boards_of_one_id_and_one_network_are_told(world: World):
    world.answers = {
        "A": Answer(FACTS, NODE),
        "B": Answer(replace(FACTS, mac=B), NODE),
        "C": Answer(replace(FACTS, mac="aa:bb:cc:00:00:03"), replace(NODE, network="other")),
    }
    rows = world.rows(*map(usb, "ABC"))
    assert [row.problem and row.problem.split(":")[0] for row in rows] == [
        "another board here is node 3 too"
    ] * 2 + [None]


def test_where_the_registry_disagrees_with_the_board_it_is_told(world: World):
    world.answers["A"] = Answer(FACTS, NODE)
    (row,) = world.rows(usb("A"), boards=[Board(A, 5)])
    assert row.problem == "it is node 3, and boards.json has node 5 for it: dcka board provision"
    (row,) = world.rows(usb("A"), boards=[Board(A, 3)])
    assert row.problem is None


def test_an_old_micropython_is_told_by_the_needs_of_its_chip(world: World):
    world.answers["A"] = Answer(replace(FACTS, version=(1, 22, 2)), EMPTY)
    (row,) = world.rows(usb("A"))
    assert row.micropython == "1.22.2" and "is too old: the firmware needs 1.23 or later" in (
        row.problem or ""
    )
    assert too_old((1, 23, 0), CHIPS["esp32"]) is None
    assert "needs 1.24" in (too_old((1, 23, 0), CHIPS["esp32c3"]) or "")
    assert too_old((2, 0, 0), None) is None


def test_the_chip_in_the_words_of_micropython():
    assert chip_of_machine("Generic ESP32 module with ESP32") == CHIPS["esp32"]
    assert chip_of_machine("ESP32C6 module with ESP32C6") == CHIPS["esp32c6"]
    assert chip_of_machine("Generic ESP32 module (SPIRAM) with ESP32") == CHIPS["esp32"]
    assert chip_of_machine("linux [GCC 12.2.0] version") is None
    assert chip_of_machine("board with ESP32Z9") is None


def test_a_quick_list_has_what_was_known_as_a_guess():
    rows = listed([usb("A"), usb("B")], [Board(A, 3, "A")])
    assert [(row.port, row.node, row.guess, row.mac) for row in rows] == [
        ("A", None, 3, None),
        ("B", None, None, None),
    ]
