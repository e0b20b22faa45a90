"""guard.py: what it does about a program that ends, and about one that goes on. On CPython and on MicroPython."""

import os
import sys

from bench import FakeTime, Folder, Lines, Parts, fresh, machine, put_modules

from dcka_device import guard


class Case:
    """guard.py with a fake clock, chip and console; `program` stands for the node."""

    def __init__(self, chip=machine, now=0):
        self.clock = fresh(now)
        self.lines = Lines()
        self.time = FakeTime(self.clock)
        self.report_fails = None
        guard.time = self.time
        guard.machine = chip
        guard.print = self.lines
        guard.sys = Parts(print_exception=self.print_exception, modules=sys.modules, path=sys.path)

    def print_exception(self, error, file=None):
        if self.report_fails:
            raise self.report_fails
        text = f"Traceback (most recent call last):\n{type(error).__name__}: {error}"
        if file:
            file.write(text + "\n")
        else:
            self.lines(text)

    def run(self, program):
        """How it ended: None where it returned, else how the board was restarted."""
        try:
            put_modules({"dcka_device.shell": Parts(main=program)}, guard.run, "fw-1")
        except machine.Ended as ended:
            return ended.how
        except SystemExit:
            return "soft_reset"
        return None


def raising(error):
    def program(_folder, _guard):
        raise error

    return program


def test_a_crash_is_told_kept_and_ends_in_a_restart():
    case = Case()
    with Folder() as folder:
        assert case.run(raising(ValueError("no such thing"))) == "reset"
        assert case.lines == [
            "Traceback (most recent call last):\nValueError: no such thing",
            "dcka: crash: ValueError: no such thing",
        ]
        assert folder.read("crash.txt").strip().split("\n")[-1] == "ValueError: no such thing"
        assert folder.read("failed.txt") == "1"
    # Time to read it and to stop it, and no more.
    assert case.clock.blocked == [3000]


def test_the_program_gets_its_folder_and_a_watchdog_that_runs():
    case = Case()
    seen = []

    def program(folder, its_guard):
        seen.append((folder, machine.board.watchdog_ms))
        its_guard.alive(False)
        seen.append(machine.board.fed)

    with Folder():
        # It never returns by itself; if it did, a restart is right.
        assert case.run(program) == "reset"
    assert seen == [("fw-1", 120000), 1]


def test_crashes_in_a_row_are_counted():
    case = Case()
    with Folder() as folder:
        for count in range(1, 8):
            assert case.run(raising(OSError(5))) == "reset"
            assert folder.read("failed.txt") == str(count)


def test_a_finger_on_the_reset_button_starts_the_count_anew():
    case = Case()
    with Folder() as folder:
        folder.write("failed.txt", "4")
        machine.board.cause = machine.PWRON_RESET
        case.run(raising(OSError(5)))
        assert folder.read("failed.txt") == "1"
        for cause in (machine.WDT_RESET, machine.HARD_RESET, machine.SOFT_RESET, 0):
            folder.write("failed.txt", "2")
            machine.board.cause = cause
            case.run(raising(OSError(5)))
            assert folder.read("failed.txt") == "3", cause


def test_a_wake_out_of_deep_sleep_is_no_start():
    case = Case()
    with Folder() as folder:
        machine.board.cause = machine.DEEPSLEEP_RESET
        case.run(raising(machine.Ended("deepsleep")))
        assert folder.read("failed.txt") is None
        # A crash after it counts as one, from the restart on.
        machine.board.cause = machine.DEEPSLEEP_RESET
        assert case.run(raising(OSError(5))) == "reset"
        assert machine.board.cause == machine.HARD_RESET


def test_a_count_of_garbage():
    for garbage in (b"", b"\xff\xfe", b"five", b"\x00" * 100):
        case = Case()
        with Folder() as folder:
            folder.write("failed.txt", garbage)
            machine.board.cause = machine.HARD_RESET
            assert case.run(raising(OSError(5))) == "reset"
            assert folder.read("failed.txt") == "1", garbage


def test_ctrl_c_stops_it_without_a_restart():
    case = Case()
    with Folder() as folder:
        assert case.run(raising(KeyboardInterrupt())) is None
        assert case.lines == ["dcka: stopped"]
        assert folder.read("failed.txt") is None
        assert folder.read("crash.txt") is None
    # Half an hour: whoever works at the board shan't be thrown out after two minutes.
    assert machine.board.watchdog_ms == 1800000


def test_ctrl_c_while_a_crash_is_read():
    case = Case()
    with Folder() as folder:

        def program(_folder, _guard):
            case.time.interrupt_in = 1000
            raise ValueError("planted")

        assert case.run(program) is None
        assert case.lines[-2:] == ["dcka: crash: ValueError: planted", "dcka: stopped"]
        assert machine.board.watchdog_ms == 1800000
        assert folder.read("failed.txt") is None


def test_no_memory():
    case = Case()
    with Folder() as folder:
        assert case.run(raising(MemoryError("memory allocation failed, allocating 1024 bytes"))) == "reset"
        assert case.lines[-1].startswith("dcka: crash: MemoryError: memory")
        assert "MemoryError" in folder.read("crash.txt")
        # And none for the report either.
        case.report_fails = MemoryError("planted")
        assert case.run(raising(MemoryError("planted"))) == "reset"


def test_a_node_whose_code_is_not_there():
    case = Case()

    def absent(_folder, _guard):
        raise ImportError("no module named 'dcka_device.shell'")

    with Folder():
        assert case.run(absent) == "reset"
        assert case.lines[-1] == "dcka: crash: ImportError: no module named 'dcka_device.shell'"


def test_a_planned_end_passes_through():
    case = Case()
    with Folder() as folder:
        assert case.run(raising(machine.Ended("deepsleep", 60000))) == "deepsleep"
        assert case.lines == []
        assert folder.read("crash.txt") is None


def test_a_full_flash_keeps_nobody_from_starting_and_restarting():
    case = Case()

    def full(*_arguments):
        raise OSError(28)

    guard.open = full
    try:
        with Folder():
            assert case.run(raising(ValueError("planted"))) == "reset"
    finally:
        del guard.open
    told = [line for line in case.lines if "can't be written" in line]
    assert [line.split(" ")[1] for line in told] == ["failed.txt", "crash.txt"]


def test_a_start_is_well_once_it_is_online():
    case = Case()
    with Folder() as folder:
        its_guard = guard.Guard()
        folder.write("failed.txt", "3")
        its_guard.alive(False)
        assert folder.read("failed.txt") == "3"
        its_guard.alive(True)
        assert folder.read("failed.txt") is None
        # Once: what is written later is another start's.
        folder.write("failed.txt", "1")
        its_guard.alive(True)
        assert folder.read("failed.txt") == "1"
        assert case.lines == []


def test_a_start_is_well_after_two_minutes_without_a_broker():
    # Also where the ticks wrap meanwhile, and where they begin at zero.
    for now in (0, 1, (1 << 30) - 1, (1 << 30) - 60000):
        case = Case(now=now)
        with Folder() as folder:
            its_guard = guard.Guard()
            folder.write("failed.txt", "3")
            for _ in range(120):
                its_guard.alive(False)
                assert folder.read("failed.txt") == "3"
                case.clock.pass_by(1000)
            case.clock.pass_by(1)
            its_guard.alive(False)
            assert folder.read("failed.txt") is None, now


def test_each_turn_feeds_the_watchdog():
    Case()
    with Folder():
        its_guard = guard.Guard()
        for turn in range(1, 50):
            its_guard.alive(turn > 20)
            assert machine.board.fed == turn


def test_a_desktop_without_a_chip():
    for chip in (None, Parts()):
        case = Case(chip=chip)
        with Folder():
            its_guard = guard.Guard()
            its_guard.alive(True)
            assert case.run(raising(ValueError("planted"))) == "soft_reset"
            assert case.run(raising(KeyboardInterrupt())) is None
        assert machine.board.watchdog_ms is None


WAKING = """
import machine


def main(folder):
    machine.board.looked.append((folder, machine.board.watchdog_ms))
    if machine.board.sleeps_on:
        raise machine.Ended("deepsleep")
"""


def woken(cause, memory, sleeps_on):
    """(what the wake program was called with, how the start ended) of a board whose program crashes."""
    case = Case()
    machine.board.cause, machine.board.rtc = cause, memory
    machine.board.looked, machine.board.sleeps_on = [], sleeps_on
    modules, path = dict(sys.modules), list(sys.path)
    folders = ("fw-1", "fw-1/wake", "fw-1/wake/dcka_device")
    with Folder() as folder:
        try:
            for name in folders:
                os.mkdir(name)
            folder.write("fw-1/wake/dcka_device/waking.py", WAKING)
            # CPython prefers a folder that has one, and the firmware's has.
            folder.write("fw-1/wake/dcka_device/__init__.py", "")
            # CPython remembers what was in a folder of this name before.
            getattr(sys, "path_importer_cache", {}).clear()
            how = case.run(raising(OSError(5)))
            # What was loaded is in its place again.
            assert sleeps_on or sys.modules["dcka_device.guard"] is guard
        finally:
            sys.modules.update(modules)
            sys.path[:] = path
            for name in ("waking", "shell"):
                sys.modules.pop("dcka_device." + name, None)
            folder.remove("fw-1/wake/dcka_device/waking.py")
            folder.remove("fw-1/wake/dcka_device/__init__.py")
            for name in reversed(folders):
                for left in os.listdir(name):
                    for cached in os.listdir(name + "/" + left):
                        os.remove(name + "/" + left + "/" + cached)
                    os.rmdir(name + "/" + left)
                os.rmdir(name)
    return machine.board.looked, how


def test_a_wake_that_the_rota_wanted_looks_first_whether_the_program_has_to_run():
    # A sampling wake is short, and so is its watchdog.
    looked = [("fw-1", 20000)]
    assert woken(machine.DEEPSLEEP_RESET, b"dckS\x01", True) == (looked, "deepsleep")
    assert woken(machine.DEEPSLEEP_RESET, b"dckS\x01", False) == (looked, "reset")
    for cause, memory in (
        (machine.DEEPSLEEP_RESET, b"dcka\x02"),
        (machine.DEEPSLEEP_RESET, b""),
        (machine.HARD_RESET, b"dckS\x01"),
        (machine.PWRON_RESET, b"dckS\x01"),
    ):
        assert woken(cause, memory, True) == ([], "reset"), cause
