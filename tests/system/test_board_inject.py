"""Readings over the cable, onto emulated boards: whatever breaks, a board holds the old data or the new, whole."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from board_bench import NETWORK, Outcome, caller, node_files, readings, write_network

from dcka.boards import serial_inject, transfer
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.repl import Repl, open_repl
from dcka.boards.serial_inject import BoardResult, inject_boards
from dcka.emulation.micropython import available
from dcka.inject.dataset import Dataset

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))

HEAP = "512K"
PATIENCE_S = 0.8
OLD = readings({1: 200, 2: 210, 3: 220}, seed=1)
NEW = readings({1: 25_000, 2: 300, 3: 310}, seed=2)  # node 1's: 100 KB, which travels in some 35 pieces


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board that has lost its power is given up sooner than a real one, which may be busy with its flash."""
    monkeypatch.setattr("dcka.boards.repl._READ_S", 0.3)
    run = Repl.run
    monkeypatch.setattr(
        Repl, "run", lambda self, code, timeout_s=10.0: run(self, code, min(timeout_s, PATIENCE_S))
    )


@pytest.fixture
def board(tmp_path: Path) -> Iterator[EmulatedBoard]:
    """Node 1, with the old data."""
    files = {**node_files(1), "data.bin": OLD.data_file(1)}
    with EmulatedBoard(tmp_path / "board", heap=HEAP, extra_files=files) as started:
        yield started


def inject(board: EmulatedBoard, dataset: Dataset, at: Callable[[float], None] | None = None) -> BoardResult:
    """Give the board its part; `at` is told which part of it is there."""

    def progress(_port: str, done: int, total: int) -> None:
        if at is not None:
            at(done / total)

    return inject_boards([board.port], dataset, NETWORK, on_progress=progress, load_s=20)[0]


def files(board: EmulatedBoard) -> dict[str, bytes]:
    """The data files of a board, which is off afterwards."""
    board.power_off()
    return {path: content for path, content in board.files().items() if path.startswith("data")}


def leave_free(board: EmulatedBoard, size: int) -> None:
    """Put a file onto the board, so that there is room for `size` bytes more, give or take a block or two."""
    with open_repl(board.port) as repl:
        free = transfer.room(repl).free
    board.power_off()
    board.put_files({"filler.bin": bytes(free - size)})
    board.power_on()


def test_a_board_gets_its_part_and_its_node_says_so(board: EmulatedBoard):
    result = inject(board, NEW)
    assert (result.error, result.node, result.points, result.skipped) == ("", 1, 25_000, False)
    assert files(board) == {"data.bin": NEW.data_file(1)}


def test_the_same_data_again_do_not_travel(board: EmulatedBoard):
    parts: list[float] = []
    result = inject(board, OLD, parts.append)
    assert (result.error, result.skipped, parts) == ("", True, [1.0])
    assert files(board) == {"data.bin": OLD.data_file(1)}


def test_a_link_that_dies_leaves_the_old_data_and_the_next_call_goes_on(board: EmulatedBoard):
    """C37 a."""

    def die(part: float) -> None:
        if part >= 0.6 and board.on:
            board.power_off()

    result = inject(board, NEW, die)
    assert result.error and result.exit_code != 0
    left = files(board)
    assert left["data.bin"] == OLD.data_file(1)
    assert NEW.data_file(1).startswith(left["data.bin.new"]) and len(left["data.bin.new"]) > 40_000
    board.power_on()
    parts: list[float] = []
    assert inject(board, NEW, parts.append).error == ""
    assert parts[0] > 0.4
    assert files(board) == {"data.bin": NEW.data_file(1)}


def test_what_is_left_of_other_data_is_not_gone_on_with_and_goes_at_the_next_success(board: EmulatedBoard):
    board.power_off()
    board.put_files({"data.bin.new": NEW.data_file(1)[:50_000]})
    board.power_on()
    assert inject(board, OLD).skipped
    assert files(board) == {"data.bin": OLD.data_file(1)}
    board.put_files({"data.bin.new": b"x" + NEW.data_file(1)[1:50_000]})
    board.power_on()
    parts: list[float] = []
    assert inject(board, NEW, parts.append).error == ""
    assert parts[0] < 0.1
    assert files(board) == {"data.bin": NEW.data_file(1)}


def test_a_flash_that_fills_up_on_the_way_leaves_the_old_data(
    board: EmulatedBoard, monkeypatch: pytest.MonkeyPatch
):
    """C37 b: there was room when it was asked for, and at 80 % there is none any more."""
    leave_free(board, int(0.6 * len(NEW.data_file(1))))  # what is free is told too low by some blocks
    monkeypatch.setattr(transfer, "require_room", lambda *_: None)
    parts: list[float] = []
    result = inject(board, NEW, parts.append)
    assert "the flash was full while /data.bin was written" in result.error and result.exit_code != 0
    assert 0.5 < max(parts) < 1
    assert files(board) == {"data.bin": OLD.data_file(1)}
    board.put_files({"filler.bin": None})
    board.power_on()
    monkeypatch.undo()
    assert inject(board, NEW).error == ""
    assert files(board) == {"data.bin": NEW.data_file(1)}


def test_a_byte_that_changes_on_the_way_is_noticed_and_the_old_data_stay(
    board: EmulatedBoard, monkeypatch: pytest.MonkeyPatch
):
    """C37 c."""
    real = transfer.b2a_base64
    pieces = 0

    def flipping(piece: bytes, **options: bool) -> bytes:
        nonlocal pieces
        pieces += 1
        changed = bytes([piece[0] ^ 1]) + piece[1:] if pieces == 5 else piece
        return real(changed, **options)

    monkeypatch.setattr(transfer, "b2a_base64", flipping)
    result = inject(board, NEW)
    assert "its SHA-256 is not that of" in result.error and result.exit_code != 0
    assert files(board) == {"data.bin": OLD.data_file(1)}


def test_what_does_not_fit_is_refused_before_the_first_byte(board: EmulatedBoard):
    """C37 d: 2 MB, and 1.5 MB are free."""
    huge = readings({1: 500_000})
    leave_free(board, 1536 * 1024)
    before = board.writes
    parts: list[float] = []
    result = inject(board, huge, parts.append)
    assert (
        "nothing was sent" in result.error
        and "of 2,048 KB are free" in result.error
        and result.exit_code != 0
    )
    assert parts == []
    assert board.writes - before < 30  # its boot counter, and no more
    assert files(board) == {"data.bin": OLD.data_file(1)}


def test_a_power_cut_in_the_middle_of_a_write_leaves_the_old_data(board: EmulatedBoard):
    asked = False

    def arm(_part: float) -> None:
        nonlocal asked
        if not asked:
            asked = True
            board.cut_after_writes(9)

    result = inject(board, NEW, arm)
    left = files(board)
    assert result.error and left["data.bin"] == OLD.data_file(1)
    board.power_on()
    assert inject(board, NEW).error == ""
    assert files(board) == {"data.bin": NEW.data_file(1)}


# ---- the command ----


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    write_network(tmp_path)
    rows = "\n".join(f"{index % 3 + 1},{index * 7 % 101},{index * 13 % 89}" for index in range(90))
    (tmp_path / "readings.csv").write_text(f"mote,x,y\n{rows}\n")
    return caller(tmp_path, monkeypatch, capfd)


CALL = ("inject", "--all", "readings.csv", "--split-by", "mote")


def test_all_boards_at_once_and_the_data_set_is_kept_for_a_run(tmp_path: Path, call: Callable[..., Outcome]):
    with (
        EmulatedBoard(tmp_path / "one", extra_files=node_files(1)) as one,
        EmulatedBoard(tmp_path / "two", mac="24:0a:c4:00:00:02", extra_files=node_files(2)) as two,
    ):
        done = call(*CALL, "--json", boards=(one, two))
        assert done.code == 0, done.err
        record = done.json
        kept = Dataset.load(tmp_path / ".dcka")
        assert record["dataset"] == kept.id.hex() and record["kept"]
        done_boards = sorted((board["node"], board["points"], board["ok"]) for board in record["boards"])
        assert done_boards == [(1, 30, True), (2, 30, True)]
        assert (record["without_board"], record["skipped"]) == ([3], [])
        assert [files(board)["data.bin"] for board in (one, two)] == [kept.data_file(1), kept.data_file(2)]
        one.power_on(), two.power_on()
        again = call(*CALL, boards=(one, two))
        assert again.code == 0
        assert again.out.count("had it already") == 2 and "not plugged in" in again.out


def test_one_that_fails_does_not_stop_the_others_and_the_data_set_is_not_kept(
    tmp_path: Path, call: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
):
    with (
        EmulatedBoard(tmp_path / "one", extra_files=node_files(1)) as one,
        EmulatedBoard(tmp_path / "two", mac="24:0a:c4:00:00:02") as two,
    ):
        done = call(*CALL, "--json", boards=(one, two))
        assert done.code == 1
        assert f"{two.port}: this board is no node yet: dcka board provision --port {two.port}" in done.err
        assert {board["port"]: board["ok"] for board in done.json["boards"]} == {
            one.port: True,
            two.port: False,
        }
        assert not done.json["kept"] and not (tmp_path / ".dcka").exists()


def test_two_boards_of_one_id_and_boards_of_others_get_nothing(tmp_path: Path, call: Callable[..., Outcome]):
    with (
        EmulatedBoard(tmp_path / "one", extra_files=node_files(1)) as one,
        EmulatedBoard(tmp_path / "two", mac="24:0a:c4:00:00:02", extra_files=node_files(1)) as two,
    ):
        done = call(*CALL, "--json", boards=(one, two))
        assert {board["error"] for board in done.json["boards"]} == {
            f"{here}: the board at {there} is node 1, too; provision one of them with another id"
            for here, there in ((one.port, two.port), (two.port, one.port))
        }
        assert files(one) == files(two) == {}
        one.power_on()
        network = (tmp_path / "network.toml").read_text()
        (tmp_path / "network.toml").write_text(network.replace("nodes = 3", "nodes = [7, 8, 9]"))
        assert "greenhouse has no such node" in call(*CALL, boards=(one,)).err
        (tmp_path / "network.toml").write_text(network.replace("greenhouse", "cellar"))
        assert (
            "is node 1 of the network greenhouse, and network.toml is cellar's"
            in call(*CALL, boards=(one,)).err
        )
        assert files(one) == {}


def test_a_file_that_is_wrong_is_refused_before_a_board_is_touched(
    tmp_path: Path, call: Callable[..., Outcome], board: EmulatedBoard, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "readings.csv").write_text("mote,x\n1,2\n2,oops\n")
    monkeypatch.setattr(serial_inject, "open_repl", lambda *_: pytest.fail("a board was touched"))
    done = call(*CALL, boards=(board,))
    assert done.code != 0 and "oops" in done.err


def test_without_a_port_it_is_refused_and_the_ports_are_listed(
    call: Callable[..., Outcome], board: EmulatedBoard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serial_inject, "open_repl", lambda *_: pytest.fail("a board was touched"))
    done = call("inject", "readings.csv", "--split-by", "mote", boards=(board,))
    assert done.code == 2 and board.port in done.err
    assert json.dumps(done.out) == '""'
