"""Power and cable cut at every k-th write: what boots is the old version or the new one, whole (C37)."""

import shutil
import threading
import time

import pytest
from board_versions import flash_files, heard, small_version

from dcka.boards.emulated import EmulatedBoard
from dcka.boards.errors import BoardError
from dcka.boards.provisioning import provision
from dcka.boards.repl import open_repl

OLD, NEW = small_version("old"), small_version("new")
# Swept away after main.py was renamed.
STALE = {
    "fw-0badc0de0000/stale.py": b"# stale",
    "fw-0badc0de0000/deep/stale.py": b"# stale",
    "failed.txt": b"1",
}
STARTS = {"runs old whole []", "runs new whole []"}
# So many cuts, spread from the first write to the last.
PARTS = 6


class CableCut(Exception):
    """The host's side of a cable that is pulled."""


@pytest.fixture(scope="module")
def flash_before(tmp_path_factory):
    """The flash of a board that has started the old version, and how many writes it takes to the new one."""
    folder = tmp_path_factory.mktemp("before")
    with EmulatedBoard(folder / "board", extra_files=flash_files(OLD) | STALE) as board:
        assert heard(board.port, "runs ") == "runs old whole []"
        board.power_off()
        shutil.copytree(folder / "board", folder / "kept")
        board.power_on()
        heard(board.port, "runs ")
        before = board.writes
        with open_repl(board.port) as repl:
            provision(repl, NEW)
        assert heard(board.port, "runs ") == "runs new whole []"
        return folder / "kept", board.writes - before


def provisioned_until_the_cut(board):
    """Provision in a thread, and pull the cable as soon as the power is gone: a host would wait for an answer."""

    def work():
        try:
            with open_repl(board.port) as repl:
                provision(repl, NEW)
        except BoardError as error:
            failed.append(error)

    failed = []
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive() and board.on:
        time.sleep(0.005)
    cut = not board.on
    board.unplug()
    thread.join()
    return cut, failed


def check_what_boots_and_finish(board):
    """The board starts one version, whole; the next provisioning leaves the new one and no left-over."""
    board.plug_in()
    started = heard(board.port, "runs ")
    assert started in STARTS
    with open_repl(board.port) as repl:
        provision(repl, NEW)
    assert heard(board.port, "runs ") == "runs new whole []"
    board.power_off()
    files = board.files()
    assert flash_files(NEW).items() <= files.items()
    assert files.keys() <= flash_files(NEW).keys() | flash_files(OLD).keys()
    return started


@pytest.mark.parametrize("part", range(PARTS))
def test_the_power_is_cut_at_a_write(flash_before, tmp_path, part):
    folder, writes = flash_before
    assert writes > PARTS
    # From the first write to the last, which sweeps behind the renamed main.py.
    count = round(part * (writes - 1) / (PARTS - 1))
    shutil.copytree(folder, tmp_path / "board")
    with EmulatedBoard(tmp_path / "board") as board:
        assert heard(board.port, "runs ") == "runs old whole []"
        board.cut_after_writes(count)
        cut, failed = provisioned_until_the_cut(board)
        assert cut
        assert failed
        started = check_what_boots_and_finish(board)
        if count in (0, writes - 1):
            assert started == ("runs new whole []" if count else "runs old whole []")


def test_the_cable_is_pulled_at_every_seventh_message(flash_before, tmp_path, monkeypatch):
    """The board stays on, in the raw REPL, amid whatever it was told."""
    shutil.copytree(flash_before[0], tmp_path / "board")
    with EmulatedBoard(tmp_path / "board") as board:
        heard(board.port, "runs ")
        pulled_at = 12  # until then it is only asked what it is
        while pull_at_message(board, pulled_at):
            pulled_at += 7
            board.power_off()
            board.power_on()
            assert heard(board.port, "runs ") in STARTS
        assert pulled_at > 60
        assert heard(board.port, "runs ") == "runs new whole []"


def pull_at_message(board, number):
    """Provision; let the cable fail when the host sends its `number`th message. Whether it came to that."""
    sent = 0

    def write(data):
        nonlocal sent
        sent += 1
        if sent >= number:
            raise OSError("pulled")
        return through(data)

    try:
        with open_repl(board.port) as repl:
            through = repl._serial.write
            repl._serial.write = write
            provision(repl, NEW)
            repl._serial.write = through
    except BoardError:
        return True
    return False
