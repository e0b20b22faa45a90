"""The raw REPL of boards that are busy, deaf, noisy or gone, on real MicroPython (and C35)."""

import os
import pty
import threading
import time
import tty

import pytest

from dcka.boards.emulated import EmulatedBoard, Faults
from dcka.boards.errors import BoardError, BoardSilent, PortBusy, PortMissing
from dcka.boards.installed import NoFileSystem, board_facts, read_installed
from dcka.boards.repl import BoardRaised, PortGone, Repl, open_repl
from dcka.boards.transfer import put_file

BLOB = bytes(range(256)) * 8
TELEMETRY = b"""import time
seen = 0
while True:
    try:
        while True:
            print("telemetry", seen)
            time.sleep_ms(2)
    except KeyboardInterrupt:
        seen += 1
        if seen > 2:
            raise
"""
DEAF = b"""import time
while True:
    try:
        while True:
            print("deaf")
            time.sleep_ms(2)
    except BaseException:
        pass
"""
TASK = b"""import _thread, time
def chatter():
    while True:
        print("a second task")
        time.sleep_ms(20)
_thread.start_new_thread(chatter, ())
"""
LOOP = b"""import time
while True:
    print("loops")
    time.sleep_ms(2)
"""
READS = b"""while True:
    try:
        print("you said", input("? "))
    except EOFError:
        pass
"""


@pytest.fixture
def board_with(tmp_path):
    """A board with these files and faults, on from the start; gone at the end."""
    boards = []

    def make(files=None, **options):
        board = EmulatedBoard(tmp_path / str(len(boards)), extra_files=files, **options)
        boards.append(board)
        board.plug_in()
        return board

    yield make
    for board in boards:
        board.unplug()


def seconds_to_fail(kind, work):
    began = time.monotonic()
    with pytest.raises(kind) as caught:
        work()
    return time.monotonic() - began, str(caught.value)


def await_line(board, line):
    """Listen, without a word to the board, until it has printed `line`."""
    repl = Repl(board.port)
    try:
        assert line in repl.lines(10.0)
    finally:
        repl.close()


def upload(port):
    with open_repl(port) as repl:
        put_file(repl, "/upload.bin", BLOB)
        assert repl.value("_d_h('/upload.bin')[0]") == len(BLOB)


def test_ten_uploads_in_a_row_beside_a_program_that_prints_and_survives_two_interrupts(board_with):
    board = board_with({"main.py": TELEMETRY})
    for _ in range(10):
        upload(board.port)
    await_line(board, "telemetry 0")


@pytest.mark.parametrize(
    "files, faults",
    [
        ({"main.py": LOOP}, Faults(ignore_interrupts=2)),
        (
            {"main.py": LOOP},
            Faults(banner_in_pieces=True, boot_text="rst:0x1 (POWERON_RESET)\r\nload:0x3fff0030\r\n"),
        ),
        ({"boot.py": LOOP, "main.py": LOOP}, Faults()),
        ({"main.py": TASK}, Faults()),
        ({"main.py": READS}, Faults()),
        ({"main.py": b"raise RuntimeError('at once')\n"}, Faults()),
    ],
    ids=[
        "ignores two",
        "banner in pieces",
        "loops in boot.py",
        "second task",
        "reads input",
        "crashes",
    ],
)
def test_uploads_succeed_beside_whatever_runs(board_with, files, faults):
    board = board_with(files, faults=faults)
    for _ in range(2):
        upload(board.port)


def test_a_small_heap_full_of_a_programs_objects_is_emptied(board_with):
    fills = b"""import gc
kept = []
try:
    while True:
        kept.append(bytearray(500))
except MemoryError:
    del kept[-8:]
    gc.collect()
"""
    board = board_with({"main.py": fills + LOOP}, heap="64K")
    upload(board.port)
    with open_repl(board.port) as repl:
        assert board_facts(repl).heap_bytes > 40_000


def test_the_program_is_not_soft_reset_to_be_stopped(board_with):
    counts = b"""try:
    with open("/starts") as file:
        n = int(file.read())
except OSError:
    n = 0
with open("/starts", "w") as file:
    file.write(str(n + 1))
print("start", n + 1)
"""
    board = board_with({"boot.py": counts, "main.py": TELEMETRY})
    await_line(board, "start 1")
    upload(board.port)
    await_line(board, "start 2")  # the restart at the end, and no other


def test_a_start_that_we_interrupted_does_not_count_as_failed(board_with):
    board = board_with({"failed.txt": b"3"})
    with open_repl(board.port) as repl:
        repl.soft_reset()
    with open_repl(board.port) as repl:
        assert repl.value("open('/failed.txt').read()") == "2"
    board.power_off()
    board.put_files({"failed.txt": b"5"})  # safe mode: nothing was counted
    board.power_on()
    with open_repl(board.port) as repl:
        repl.soft_reset()
    with open_repl(board.port) as repl:
        assert repl.value("open('/failed.txt').read()") == "5"


@pytest.mark.timed
def test_silence_ends_in_time_with_the_port_closed(board_with):
    board = board_with(faults=Faults(silent=True))
    took, words = seconds_to_fail(BoardSilent, lambda: open_repl(board.port, 1.0).__enter__())
    assert took < 3.0
    assert words.startswith(f"{board.port}: nothing answers within 1 s")
    seconds_to_fail(BoardSilent, lambda: open_repl(board.port, 0.1).__enter__())  # not busy: it was closed


def test_a_board_in_its_bootloader_is_told(board_with):
    board = board_with(faults=Faults(hold_boot_button=True))
    turns = []

    def reset():
        # What a board says while nobody has the port open is lost; so it starts once we have.
        turns.append(1)
        if len(turns) == 1:
            board.power_off()
            board.power_on()

    _, words = seconds_to_fail(BoardSilent, lambda: open_repl(board.port, 4.0, reset).__enter__())
    assert "waits in its bootloader" in words


def test_the_patience_is_below_twenty_seconds():
    """C35 c; two seconds more for the last try."""
    assert open_repl.__wrapped__.__defaults__[0] <= 18.0


@pytest.mark.timed
def test_a_program_that_nothing_stops_is_told_with_its_words(board_with):
    board = board_with({"main.py": DEAF})
    await_line(board, "deaf")
    took, words = seconds_to_fail(BoardSilent, lambda: open_repl(board.port, 2.0).__enter__())
    assert took < 4.0
    assert 'Ctrl-C did not stop within 2 s; it says "deaf"' in words


def test_what_raises_on_the_board_is_told_by_its_last_line_and_the_next_call_works(board_with):
    board = board_with()
    with open_repl(board.port) as repl:
        with pytest.raises(BoardRaised, match="the board raised ValueError: no luck") as caught:
            repl.run("print('before')\nraise ValueError('no luck')")
        assert caught.value.last == "ValueError: no luck"
        assert repl.run("print('after')") == "after\n"


def test_an_answer_that_is_no_value_is_told(board_with):
    board = board_with()
    with open_repl(board.port) as repl, pytest.raises(BoardError, match="was disturbed"):
        repl.value("object()")


def test_nothing_of_what_was_sent_or_heard_is_printed(board_with, capfd):
    board = board_with()
    with open_repl(board.port) as repl:
        board.set_faults(silent=True)
        with pytest.raises(BoardError) as caught:
            repl.run("password = 'a secret'", 0.5)
        board.set_faults(silent=False)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert capfd.readouterr() == ("", "")


def test_the_cable_pulled_is_told_and_the_end_of_the_block_raises_nothing_else(board_with):
    board = board_with()
    with pytest.raises(PortGone, match="has gone"), open_repl(board.port) as repl:
        board.unplug()
        repl.run("print(1)")


def test_a_missing_and_a_busy_port_are_told_apart(board_with):
    board = board_with()
    seconds_to_fail(PortMissing, lambda: open_repl("/dev/ttyNONE").__enter__())
    with open_repl(board.port):
        _, words = seconds_to_fail(PortBusy, lambda: open_repl(board.port).__enter__())
    assert board.port in words


def test_the_port_is_closed_whatever_the_block_raises(board_with):
    board = board_with({"main.py": LOOP})
    with pytest.raises(KeyError), open_repl(board.port):
        raise KeyError("a fault of the caller's")
    with open_repl(board.port) as repl:
        assert repl.value("6 * 7") == 42


def test_a_board_is_running_again_after_it_was_asked(board_with):
    board = board_with({"main.py": TELEMETRY})
    with open_repl(board.port) as repl:
        board_facts(repl)
    await_line(board, "telemetry 0")


def test_nothing_runs_after_the_restart(board_with):
    board = board_with()
    with open_repl(board.port) as repl:
        repl.soft_reset()
        with pytest.raises(RuntimeError, match="has been restarted"):
            repl.run("print(1)")


def test_facts_are_what_the_interpreter_says(board_with):
    board = board_with(
        {"lib/machine.py": b"def unique_id():\n    return b'\\x24\\x0a\\xc4\\x01\\x02\\x03'\n"}
    )
    with open_repl(board.port) as repl:
        facts = board_facts(repl)
    assert facts.version[:2] >= (1, 23)
    assert (facts.mpy_version, facts.march) == ((6, 3), "x64")
    assert facts.mac == "24:0a:c4:01:02:03"
    assert 0 < facts.free_bytes <= facts.total_bytes
    with open_repl(board_with().port) as repl:
        assert board_facts(repl).mac is None


def test_a_board_without_a_file_system_is_told_how_to_get_one_and_gets_none(board_with):
    # Again and again: what is printed before the port is opened, opening it throws away.
    boot = (
        b"import time, vfs\nvfs.umount('/')\nfor _ in range(30):\n    print('none')\n    time.sleep_ms(100)\n"
    )
    board = board_with({"boot.py": boot, "kept.txt": b"kept"})
    await_line(board, "none")
    with open_repl(board.port) as repl, pytest.raises(NoFileSystem, match="mkfs") as caught:
        board_facts(repl)
    assert f"dcka board flash --erase --port {board.port}" in str(caught.value)
    board.power_off()
    assert board.files()["kept.txt"] == b"kept"


def test_no_password_of_the_board_is_read(board_with, monkeypatch):
    node = (
        b'{"v":1,"network":"attic","node":4,"wifi":{"password":"a secret"},"broker":{"password":"a secret"}}'
    )
    files = {
        "main.py": b'FIRMWARE = "/fw-0123456789ab"\n',
        "fw-0123456789ab/node.json": node,
        "fw-0123456789ab/version.json": b'{"v":1,"firmware":"9.9","mpy":"x64","files":{}}',
    }
    board = board_with(files)
    with open_repl(board.port) as repl:
        said = []
        run = repl.run
        monkeypatch.setattr(repl, "run", lambda *a: said.append(run(*a)) or said[-1])
        installed = read_installed(repl)
    assert (installed.network, installed.node, installed.folder) == ("attic", 4, "/fw-0123456789ab")
    assert (installed.firmware, installed.mpy, installed.foreign) == ("9.9", "x64", False)
    assert installed.sizes["/fw-0123456789ab/node.json"] == len(node)
    assert said and "secret" not in "".join(said) + repr(installed)


def test_a_main_py_of_somebody_elses_and_none_are_told_apart(board_with):
    with open_repl(board_with({"main.py": b"print('mine')\n"}).port) as repl:
        assert read_installed(repl).foreign
    with open_repl(board_with().port) as repl:
        installed = read_installed(repl)
    assert (installed.foreign, installed.folder, installed.hashes) == (False, None, {})


@pytest.mark.timed
def test_a_port_that_echoes_what_it_gets_is_no_board():
    """A loop-back plug, or a terminal that echoes: the sum that is asked for is not in it."""
    main, side = pty.openpty()
    tty.setraw(side)
    stop = threading.Event()

    def echo():
        while not stop.is_set():
            try:
                os.write(main, os.read(main, 100))
            except OSError:
                return

    thread = threading.Thread(target=echo, daemon=True)
    thread.start()
    try:
        took, _ = seconds_to_fail(BoardSilent, lambda: open_repl(os.ttyname(side), 1.0).__enter__())
        assert took < 6.0
    finally:
        stop.set()
        os.write(side, b"x")
        os.close(side)
        thread.join(2.0)
        os.close(main)
