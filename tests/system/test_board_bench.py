"""`dcka board bench` on an emulated board: the same keys as `dcka bench kernel`, and a sentence for what goes wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from board_bench import NOBODY, caller, node_files

from dcka.bench import kernel_cases
from dcka.bench.kernel import kernel
from dcka.bench.kernel_unix import ask_unix
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.repl import open_repl
from dcka.emulation.micropython import available

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))

SMALL = kernel_cases.Case(points=300, n=2, k=9, bits=15, middles=9, seed=1, aim=1)


@pytest.fixture(autouse=True)
def small_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that take no time, and one that no board has room for."""
    huge = kernel_cases.Case(points=400_000, n=2, k=9, bits=15, middles=9, seed=1, aim=1)
    for name, case in {"A": SMALL, "B": huge, "C": SMALL}.items():
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


def test_a_board_without_our_firmware_is_measured_too_and_keeps_nothing_of_it(tmp_path, call):
    with board_at(tmp_path, {"main.py": b"", "dcka-bench/of/a/call/that/was/cut.mpy": b"old"}) as bare:
        told = call("bench", bare.port, "--case", "A", "--rounds", "1", "--json", boards=(bare,))
        with open_repl(bare.port) as repl:
            left = repl.value("sorted(__import__('os').listdir('/'))")
    assert told.json["cases"]["A"]["bit_identical"] is True
    assert left == ["main.py"]


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
