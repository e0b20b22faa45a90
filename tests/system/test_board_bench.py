"""`dcka board bench` on an emulated board: the same keys as `dcka bench kernel`, and a sentence for what goes wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from board_bench import NOBODY, caller, node_files
from running_call import Call
from servers import wait_until

from dcka.bench import kernel_cases
from dcka.bench.kernel import kernel
from dcka.bench.kernel_files import board_modules
from dcka.bench.kernel_unix import ask_unix, program_text
from dcka.boards.bench import FOLDER, ask_board
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.repl import PortGone
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))

WRITES = 20
"""More than removing an absent folder takes, and fewer than all modules."""
SMALL = kernel_cases.Case(points=300, n=2, k=9, bits=15, middles=9, seed=1, aim=1)


@pytest.fixture(autouse=True)
def small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that take no time, and one that no board has room for."""
    huge = kernel_cases.Case(points=400_000, n=2, k=9, bits=15, middles=9, seed=1, aim=1)
    wide = kernel_cases.Case(points=300, n=8, k=16, bits=14, middles=9, seed=1, aim=1)
    for name, case in {"A": SMALL, "B": huge, "C": wide}.items():
        monkeypatch.setitem(kernel_cases.CASES, name, case)


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    return caller(tmp_path, monkeypatch, capfd)


def board_at(folder: Path, files: dict[str, bytes]) -> EmulatedBoard:
    return EmulatedBoard(folder / "board", heap="512K", extra_files=files)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[EmulatedBoard]:
    with board_at(tmp_path, node_files(1, broker=NOBODY)) as started:
        yield started


def test_a_board_tells_what_the_computer_tells(board, call):
    told = call("bench", board.port, "--case", "A", "--rounds", "2", "--json", boards=(board,))
    case = told.json["cases"]["A"]
    here = kernel(["A"], 2, lambda asked: ask_unix(asked, lambda _: None), lambda _: None, with_numpy=False)
    assert set(case) == set(here["cases"]["A"])
    assert case["bit_identical"] is True and case["alloc_bytes"] == 0
    assert case["ratio_vs_naive"] > 1 and case["ratio_vs_bytecode"] > 1 and case["mdd_per_s"] > 0
    assert set(case["adversarial"]) == {"line", "equal", "useless_labels", "k_is_m"}
    assert (told.json["port"], told.code) == (board.port, 0 if told.json["ok"] else 1)
    assert "5 of 5 done" in told.err


def test_a_case_that_is_too_large_is_told_and_the_others_are_measured(board, call):
    told = call("bench", board.port, "--case", "B", "--case", "C", "--rounds", "1", "--json", boards=(board,))
    assert told.code == 1
    assert told.json["cases"]["B"]["error"].startswith("the board has no memory for it (MemoryError")
    assert told.json["cases"]["C"]["bit_identical"] is True


def test_a_board_without_our_firmware_is_measured_too_and_is_as_it_was(tmp_path, call):
    with board_at(tmp_path, {}) as bare:
        told = call("bench", bare.port, "--case", "A", "--rounds", "1", "--json", boards=(bare,))
        bare.power_off()
        assert files_left(bare) == []
    assert told.json["cases"]["A"]["bit_identical"] is True


def files_left(board: EmulatedBoard) -> list[str]:
    return [path for path in board.files() if path.startswith(FOLDER.strip("/"))]


def asking(board: EmulatedBoard, say=lambda text: None):
    def modules(march: str | None) -> dict[str, bytes]:
        return board_modules({2}, march)

    return ask_board(board.port, modules, program_text(), ["{1: 2}", "{3: 4}"], say)


@pytest.mark.parametrize("stopped_at", ["go to", "1 of 2"])
def test_after_an_interruption_nothing_is_left_on_the_flash(tmp_path, stopped_at):
    with board_at(tmp_path, {"mine.txt": b"mine"}) as bare:

        def say(text: str) -> None:
            if stopped_at in text:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(asking(bare, say))
        bare.power_off()
        assert set(bare.files()) == {"mine.txt"}


def test_ctrl_c_while_the_board_computes_is_heard_and_leaves_nothing(tmp_path):
    with board_at(tmp_path, {"mine.txt": b"mine"}) as bare:
        call = Call(tmp_path, "board", "bench", bare.port, "--case", "B", "--rounds", "1000")
        call.said("/dcka-bench")
        wait_until(lambda: bare.writes > WRITES, "the modules are on the board")
        assert call.ended() == 130
        bare.power_off()
        assert set(bare.files()) == {"mine.txt"}


def test_what_a_lost_cable_leaves_the_next_call_removes(tmp_path):
    with board_at(tmp_path, {}) as bare:

        def pull(text: str) -> None:
            if "1 of 2" in text:
                bare.unplug()

        with pytest.raises(PortGone):
            list(asking(bare, pull))
        bare.plug_in()
        bare.power_off()
        assert files_left(bare) != []
        bare.power_on()
        assert list(asking(bare)) == [{1: 2}, {3: 4}]
        bare.power_off()
        assert files_left(bare) == []


def test_a_full_flash_is_told_before_anything_is_written(tmp_path, call):
    with board_at(tmp_path, {"mine.txt": b"mine"}) as full:
        full.power_off()
        full.fill_flash(leave_blocks=4)
        before = full.files()
        full.power_on()
        told = call("bench", full.port, "--case", "A", boards=(full,))
        full.power_off()
        assert full.files() == before
    assert told.code == 1 and "need" in told.err and "nothing was sent" in told.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["/dev/nothing"], 3, "/dev/nothing"),
        ([], 2, "port"),
        (["/dev/nothing", "--case", "Q"], 2, "there is no case 'Q'; the cases are A, B, C"),
        (["/dev/nothing", "--rounds", "0"], 2, "--rounds 0: take 1 or more"),
    ],
)
def test_what_cannot_be_is_one_line(call, arguments, code, words):
    told = call("bench", *arguments)
    assert (told.code, told.out) == (code, "")
    assert words.lower() in told.err.lower() and told.err.count("\n") == 1
