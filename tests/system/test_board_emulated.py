"""The emulated board behaves as a board: at its REPL, over resets and power cuts."""

import time

import pytest
from emulated_line import PROMPT, RAW, SOFT_RESET, TALKER, assert_gone, line, raw_repl, said
from servers import LIMIT_S, is_running, wait_until

from dcka.boards.emulated import EmulatedBoard, Faults
from dcka.boards.emulated.faults import NEVER
from dcka.boards.emulated.image import VFS_OFFSET
from dcka.boards.errors import BoardError
from dcka.emulation.micropython import available
from dcka.processes import Child

pytestmark = pytest.mark.skipif(not available(), reason=str(available().reason))


@pytest.fixture
def board(tmp_path):
    with EmulatedBoard(tmp_path / "board") as started:
        yield started


# ---- the REPL ----


def test_it_starts_as_a_board_does(tmp_path):
    told = b"print('MAIN', answer, __name__, os.getcwd(), sys.path, sorted(globals()), helper.two)\n"
    files = {
        "boot.py": b"answer = 42\n",
        "main.py": b"import os, sys, helper\n" + told,
        "lib/helper.py": b"two = 2\n",
    }
    with EmulatedBoard(tmp_path, extra_files=files) as board, line(board) as opened:
        opened.write(b"\x04")
        said(opened, SOFT_RESET)
        heard = said(opened, PROMPT).decode()
    names = "['__file__', '__name__', 'answer', 'helper', 'os', 'sys']"
    assert heard.startswith(f"MAIN 42 __main__ / ['', '.frozen', '/lib'] {names} 2\r\nMicroPython ")


def test_a_program_that_talks_for_ever_is_interrupted_ten_times_in_a_row(tmp_path):
    with EmulatedBoard(tmp_path, extra_files={"main.py": TALKER}) as board:
        for _ in range(10):
            with raw_repl(board) as repl:
                assert repl.exec("print('n' in globals(), 6 * 7)") == b"False 42\r\n"


def test_in_raw_mode_a_soft_reset_runs_boot_alone(tmp_path):
    files = {"boot.py": b"print('BOOT')\n", "main.py": b"print('MAIN')\n"}
    with EmulatedBoard(tmp_path, extra_files=files) as board, line(board) as opened:
        opened.write(b"\r\x03\r\x01")
        said(opened, RAW)
        opened.write(b"\x04")
        heard = said(opened, RAW)
        assert heard == b"OK\r\n" + SOFT_RESET + b"BOOT\r\n" + RAW
        opened.write(b"\x02")
        said(opened, PROMPT)
        opened.write(b"\x04")
        heard = said(opened, PROMPT)
        assert heard.index(SOFT_RESET) < heard.index(b"BOOT\r\n") < heard.index(b"MAIN\r\n")


def test_an_error_in_boot_keeps_main_from_running(tmp_path):
    files = {"boot.py": b"def f():\n    1 / 0\nf()\n", "main.py": b"print('MAIN')\n"}
    with EmulatedBoard(tmp_path, extra_files=files) as board, line(board) as opened:
        opened.write(b"\x04")
        said(opened, SOFT_RESET)
        heard = said(opened, PROMPT)
    assert b"MAIN" not in heard
    # As on a board, without a line of what runs boot.py here.
    expected = (
        "Traceback (most recent call last):\r\n"
        '  File "boot.py", line 3, in <module>\r\n'
        '  File "boot.py", line 2, in f\r\n'
        "ZeroDivisionError: divide by zero\r\n"
    )
    assert expected.encode() in heard


def test_sys_exit_is_a_soft_reset_and_a_dead_interpreter_a_hard_one(board):
    with line(board) as opened:
        opened.write(b"import os, sys\r")
        said(opened, PROMPT)
        opened.write(b"sys.exit()\r")
        said(opened, SOFT_RESET)
        said(opened, PROMPT)
        opened.write(b"import os; os.system('kill -9 $PPID')\r")
        assert SOFT_RESET not in said(opened, b"rst:0x1 (POWERON_RESET)")
        said(opened, PROMPT)


def test_ctrl_c_never_breaks_a_file_system_that_is_being_written(board):
    program = (
        "def work():\n"
        "    while True:\n"
        "        for i in range(5):\n"
        "            with open('f%d' % i, 'wb') as file:\n"
        "                file.write(bytes(300 * i))\n"
    )
    with raw_repl(board) as repl:
        repl.exec(program)
        for number in range(40):
            repl.exec_raw_no_follow("work()")
            time.sleep(0.0007 * number)  # another place in the program each time: no wait for anything
            repl.serial.write(b"\x03")
            assert b"KeyboardInterrupt" in repl.follow(timeout=LIMIT_S)[1]
            assert repl.exec("print(1)") == b"1\r\n"
    board.power_off()
    assert set(board.files()) <= {f"f{i}" for i in range(5)}


def test_the_heap_is_small(tmp_path):
    with EmulatedBoard(tmp_path, heap="96K") as board, raw_repl(board) as repl:
        assert repl.exec("import gc; gc.collect(); print(gc.mem_free() < 96 * 1024)") == b"True\r\n"
        assert b"MemoryError" in repl.exec_raw("bytearray(100000)")[1]


# ---- faults ----


def test_ctrl_c_can_be_ignored_twice(tmp_path):
    files = {"main.py": TALKER}
    faults = Faults(ignore_interrupts=2)
    with EmulatedBoard(tmp_path, extra_files=files, faults=faults) as board, line(board) as opened:
        for _ in range(2):
            opened.write(b"\x03")
            said(opened, b"telemetry")
        opened.write(b"\x03")
        assert b"KeyboardInterrupt" in said(opened, PROMPT)


def test_a_banner_in_pieces_with_text_before_it(tmp_path):
    faults = Faults(banner_in_pieces=True, boot_text="I (31) boot: compile time 00:00:00\r\n")
    with EmulatedBoard(tmp_path, faults=faults) as board, raw_repl(board) as repl:
        assert repl.exec("print(7)") == b"7\r\n"


def test_a_silent_board(tmp_path):
    with EmulatedBoard(tmp_path, faults=Faults(silent=True)) as board, line(board) as opened:
        opened.timeout = 0.3
        opened.write(b"\r\x03\r\x01")
        assert opened.read(1) == b""
        board.set_faults(silent=False)
        opened.timeout = LIMIT_S
        opened.write(b"\r\x03\r\x01")
        said(opened, RAW)


def test_power_cut_in_any_write_leaves_the_old_or_the_new(tmp_path):
    """The whole file of before, or the whole one of after; and the file system mounts."""
    old, new = b"old" * 700, b"new" * 900
    code = f"f = open('x.new', 'wb')\nf.write({new!r})\nf.close()\nimport os\nos.rename('x.new', 'x')\n"
    seen = set()
    # Two whole ones first: the first write of all also raises the version of the file system.
    counts = [NEVER, NEVER]
    with EmulatedBoard(tmp_path) as board:
        while counts:
            board.power_off()
            board.put_files({"x": old})
            board.power_on()
            count = counts.pop()
            with raw_repl(board) as repl:
                before = board.writes
                board.cut_after_writes(count)
                repl.exec_raw_no_follow(code)
                if count == NEVER:
                    repl.follow(timeout=LIMIT_S)
                else:
                    wait_until(lambda: not board.on, f"the cut after {count} writes")
            if count == NEVER and not counts:
                needed = board.writes - before
                assert needed > 20
                counts = list(range(0, needed, needed // 6))
            board.power_off()
            seen.add(board.files()["x"])
    assert seen == {old, new}


def test_a_full_flash_says_so(board):
    board.power_off()
    board.fill_flash(leave_blocks=4)
    board.power_on()
    with raw_repl(board) as repl:
        error = repl.exec_raw("f = open('big', 'wb')\nfor i in range(20): f.write(bytes(4096))\n")[1]
        assert b"OSError: 28" in error


def test_a_damaged_file_system_is_told_and_the_repl_answers(tmp_path):
    with EmulatedBoard(tmp_path, on=False) as board:
        with (tmp_path / "flash.bin").open("r+b") as file:
            file.seek(VFS_OFFSET)
            file.write(b"rubbish" * 2000)
        board.power_on()
        with line(board) as opened:
            said(opened, b"damaged")
            opened.write(b"\x03")
            assert b"KeyboardInterrupt" in said(opened, PROMPT)


# ---- power, cable, processes ----


def test_what_is_printed_while_nobody_has_the_port_open_is_lost(tmp_path):
    files = {"main.py": b"import time\nfor i in range(10**6):\n    print('line', i)\n    time.sleep_ms(1)\n"}
    with EmulatedBoard(tmp_path, extra_files=files) as board:
        with line(board) as opened:
            before = int(said(opened, b"\n").split()[-1]) if said(opened, b"line") else 0
            said(opened, b"\n")
        writes = board.writes
        wait_until(lambda: board.on and board.writes == writes, "an answer")
        with line(board) as opened:
            said(opened, b"line ")
            assert int(said(opened, b"\n")) > before + 1


def test_without_power_nothing_answers_and_the_files_can_be_seen(tmp_path):
    with EmulatedBoard(tmp_path, extra_files={"lib/a.py": b"a = 1\n"}) as board:
        with pytest.raises(BoardError, match="while it is off"):
            board.files()
        board.power_off()
        assert board.files() == {"lib/a.py": b"a = 1\n"}
        board.put_files({"b": b"2", "lib/a.py": None})
        assert board.files() == {"b": b"2"}
        with line(board) as opened:
            opened.timeout = 0.2
            opened.write(b"\r\x03")
            assert opened.read(1) == b""
            board.power_on()
            opened.timeout = LIMIT_S
            said(opened, PROMPT)


def test_an_unplugged_board_has_no_port_and_keeps_its_flash(tmp_path):
    with EmulatedBoard(tmp_path) as board:
        with raw_repl(board) as repl:
            repl.exec("with open('kept', 'w') as f: f.write('yes')")
        with line(board) as opened:
            board.unplug()
            assert_gone(opened)
        assert board.port == ""
        board.plug_in()
        with raw_repl(board) as repl:
            assert repl.exec("print(open('kept').read())") == b"yes\r\n"


def test_no_process_outlives_the_board(tmp_path, monkeypatch):
    started = []
    start = Child.__init__

    def noted(self, *args, **kwargs):
        start(self, *args, **kwargs)
        started.append(self.pid)

    monkeypatch.setattr(Child, "__init__", noted)
    files = {"main.py": b"while True: pass\n"}
    with EmulatedBoard(tmp_path, extra_files=files) as board, line(board) as opened:
        opened.write(b"\x03")
        said(opened, PROMPT)
        opened.write(b"import os; os.system('echo PID $PPID')\r")
        said(opened, b"PID ")
        said(opened, b"PID ")
        started.append(int(opened.read_until(b"\n")))
    assert len(started) == 2
    for pid in started:
        wait_until(lambda pid=pid: not is_running(pid), f"the end of process {pid}")


def test_the_command_for_an_unplugged_board_is_refused(tmp_path):
    board = EmulatedBoard(tmp_path)
    with pytest.raises(BoardError, match="not plugged in"):
        board.power_off()


def test_nothing_is_counted_that_nobody_asked_for(board):
    with raw_repl(board) as repl:
        before = board.writes
        repl.exec("import os; os.listdir('/')")
        assert board.writes == before < NEVER
