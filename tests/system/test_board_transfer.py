"""A file onto a board with a real MicroPython: whole, or as it was (C37)."""

import random

import pytest

from dcka.boards import transfer
from dcka.boards.emulated import EmulatedBoard
from dcka.boards.emulated.image import VFS_OFFSET
from dcka.boards.errors import BoardError
from dcka.boards.filesystem import BLOCK_BYTES
from dcka.boards.repl import PortGone, open_repl
from dcka.boards.transfer import BoardFull, FileDamaged, put_file, room

OLD = b"the old share\n" * 100
# Text, so that a cut file would still be read: 21.53 cut to 21.5 is a reading, too.
NEW = b"".join(b"%d,%.2f\n" % (row, 20 + row % 7 / 3) for row in range(5000))
PATH = "/share.csv"
SIZES = (0, 1, 2, 191, 192, 3072, 3073, 20_000)  # around what travels in one piece


@pytest.fixture
def board(tmp_path):
    with EmulatedBoard(tmp_path / "board", extra_files={"share.csv": OLD}) as made:
        yield made


def files_when_off(board):
    board.power_off()
    return board.files()


def test_what_was_put_is_there_byte_for_byte(board):
    made = {f"made/deep/{size}.bin": random.Random(size).randbytes(size) for size in SIZES}
    with open_repl(board.port) as repl:
        for path, content in made.items():
            put_file(repl, f"/{path}", content)
            put_file(repl, PATH, content)
    assert files_when_off(board) == {**made, "share.csv": made[f"made/deep/{SIZES[-1]}.bin"]}


def test_progress_never_goes_back_and_ends_with_all(board):
    told = []
    with open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(set(told))
    assert told[-1] == (len(NEW), len(NEW))


def test_a_heap_of_48_kb_is_enough_for_any_file(tmp_path):
    with EmulatedBoard(tmp_path / "board", heap="48K") as board, open_repl(board.port) as repl:
        put_file(repl, PATH, NEW)
        assert repl.value(f"_d_h({PATH!r})") == (len(NEW), transfer.digest(NEW))


def test_a_heap_in_crumbs_costs_smaller_pieces_and_no_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(
        transfer, "_piece_bytes", lambda repl: 24_000
    )  # more than the heap takes in one piece
    with EmulatedBoard(tmp_path / "board", heap="64K") as board, open_repl(board.port) as repl:
        put_file(repl, PATH, NEW)
        assert repl.value(f"_d_h({PATH!r})") == (len(NEW), transfer.digest(NEW))


class Cut(Exception):
    """The link dies here."""


def cut_at(part):
    """A progress that dies when this part of the file is there."""

    def progress(done, total):
        if done >= part * total:
            raise Cut

    return progress


def test_a_link_that_dies_leaves_the_old_file_and_the_next_success_nothing_else(board):
    with pytest.raises(Cut), open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=cut_at(0.6))
    files = files_when_off(board)
    assert files["share.csv"] == OLD
    board.power_on()
    with open_repl(board.port) as repl:
        put_file(repl, PATH, NEW)
    assert files_when_off(board) == {"share.csv": NEW}


def test_the_cable_pulled_leaves_the_old_file(board):
    def pull(done, total):
        if done >= total / 2:
            board.unplug()

    with pytest.raises(PortGone), open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=pull)
    assert board.files()["share.csv"] == OLD


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_cut_transfer_is_resumed_where_it_was(board, place, monkeypatch):
    monkeypatch.setattr(transfer, "_FLUSH_BYTES", 6000)
    with pytest.raises(Cut), open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=cut_at(place), resume=True)
    sent = []
    with open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=lambda done, total: sent.append(done), resume=True)
    assert sent[0] > place * len(NEW)
    assert files_when_off(board) == {"share.csv": NEW}


def test_after_a_power_cut_it_resumes_from_what_was_flushed(board, monkeypatch):
    monkeypatch.setattr(transfer, "_FLUSH_BYTES", 6000)

    def power_cut(done, total):
        if done >= 0.6 * total:
            board.power_off()
            raise Cut

    with pytest.raises(Cut), open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=power_cut, resume=True)
    there = board.files()
    assert there["share.csv"] == OLD
    assert 0.4 * len(NEW) < len(there["share.csv.new"]) < len(NEW)
    board.power_on()
    sent = []
    with open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, progress=lambda done, total: sent.append(done), resume=True)
    assert sent[0] > len(there["share.csv.new"])
    assert files_when_off(board) == {"share.csv": NEW}


@pytest.mark.parametrize("left", [b"of another file", NEW + b"and more", b""])
def test_what_is_no_beginning_of_the_file_is_not_gone_on_with(board, left):
    board.power_off()
    board.put_files({"share.csv.new": left})
    board.power_on()
    with open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, resume=True)
    assert files_when_off(board) == {"share.csv": NEW}


def test_a_whole_file_that_was_not_renamed_is_only_renamed(board):
    board.power_off()
    board.put_files({"share.csv.new": NEW})
    board.power_on()
    with open_repl(board.port) as repl:
        put_file(repl, PATH, NEW, resume=True)
    assert files_when_off(board) == {"share.csv": NEW}


def test_a_byte_flipped_on_the_way_is_seen_and_the_old_file_stays(board, monkeypatch):
    encode = transfer.b2a_base64

    def flipped(piece, newline):
        return encode(piece[:50] + bytes([piece[50] ^ 1]) + piece[51:], newline=newline)

    with open_repl(board.port) as repl:
        monkeypatch.setattr(transfer, "b2a_base64", flipped)
        with pytest.raises(FileDamaged, match="arrived damaged"):
            put_file(repl, PATH, NEW)
    assert files_when_off(board) == {"share.csv": OLD}


def test_a_file_for_which_there_is_no_room_is_refused_before_the_first_byte(board):
    before = board.writes
    with open_repl(board.port) as repl:
        free = room(repl).free
        with pytest.raises(
            BoardFull, match=r"/share\.csv need 2,\d+ KB of flash, and \d,\d+ KB of 2,048 KB are free"
        ):
            put_file(repl, PATH, bytes(free))
    assert board.writes == before
    assert files_when_off(board) == {"share.csv": OLD}


def test_all_that_is_said_to_fit_does(tmp_path):
    with EmulatedBoard(tmp_path / "small", flash_bytes=VFS_OFFSET + 64 * BLOCK_BYTES) as board:
        with open_repl(board.port) as repl:
            there = room(repl)
            size = there.free
            while transfer.needed({PATH: bytes(size)}, there.block) > there.free:
                size -= 100
            content = random.Random(1).randbytes(size)
            put_file(repl, PATH, content)
        assert files_when_off(board) == {"share.csv": content}


def test_a_flash_that_is_full_all_the_same_keeps_the_old_file_and_no_half_one(board):
    board.power_off()
    board.fill_flash(leave_blocks=10)
    board.power_on()
    with (
        open_repl(board.port) as repl,
        pytest.raises(BoardFull, match=r"was full while /share\.csv was written"),
    ):
        transfer.send(repl, PATH, NEW)
    files = files_when_off(board)
    assert files["share.csv"] == OLD
    assert "share.csv.new" not in files


def test_a_path_that_cannot_be_is_told(board):
    with (
        open_repl(board.port) as repl,
        pytest.raises(BoardError, match=r"/share\.csv/below cannot be written"),
    ):
        put_file(repl, "/share.csv/below", b"x")


def test_the_wire_carries_four_bytes_for_three(board, monkeypatch):
    """What base64 costs, and little more: calls and flow control are few."""
    written = []
    with open_repl(board.port) as repl:
        write = repl._serial.write
        monkeypatch.setattr(repl._serial, "write", lambda data: written.append(len(data)) or write(data))
        content = random.Random(2).randbytes(60_000)
        put_file(repl, PATH, content)
    assert sum(written) < 1.42 * len(content)
