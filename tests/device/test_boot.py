"""boot.py: what keeps main.py from running, and that nothing makes it fail. On CPython and on MicroPython."""

from bench import FakeTime, Folder, Lines, Parts, fresh, machine, put_modules, run_file

ESP32 = "Generic ESP32 module with ESP32"
PRIVATE = ("_read", "_woke", "_button", "_reason", "_tried", "_crash_loop", "_stop_file", "_try_again_later")


def chip_named(title):
    """The module `sys`, as far as boot.py asks it for the chip."""
    return Parts(implementation=Parts(_machine=title))


class Start:
    """One run of boot.py in the current folder."""

    def __init__(self, clock, title=ESP32, chip=machine, interrupt_in=None, **modules):
        self.lines = Lines()
        time = FakeTime(clock)
        time.interrupt_in = interrupt_in
        began = clock.now
        given = {"time": time, "sys": chip_named(title), "machine": chip}
        given.update(modules)
        self.names = put_modules(given, run_file_quietly, self.lines)
        self.took = clock.now - began
        self.reason = self.names["stop_reason"]


def run_file_quietly(lines):
    return run_file("boot.py", print=lines)


def never(*_arguments, **_named):
    raise ValueError("planted")


def test_a_healthy_board_starts_its_program():
    clock = fresh()
    with Folder() as folder:
        start = Start(clock)
        assert start.reason == "" and start.lines == []
        assert start.took <= 1000
        assert folder.read("failed.txt") is None
        assert [name for name in PRIVATE if name in start.names] == []


def test_tools_that_reset_the_board_do_not_count_as_failed_starts():
    clock = fresh()
    with Folder() as folder:
        for _ in range(10):
            assert Start(clock).reason == ""
            machine.board.soft_restart()
        assert folder.read("failed.txt") is None


def test_a_stop_file():
    clock = fresh()
    with Folder() as folder:
        folder.write("stop", "")
        start = Start(clock)
        assert start.reason == "there is a file /stop"
        assert start.lines == ["dcka: safe mode: there is a file /stop"]


def held(clock, since, until):
    """A pin that is low from and to these moments."""
    return lambda: 0 if since <= clock.now < until else 1


def test_the_button():
    for since, until, pressed in (
        (0, 100, True),
        (0, 2000, True),
        (300, 420, True),
        (880, 2000, True),
        (300, 380, False),
        (1000, 2000, False),
        (2000, 3000, False),
    ):
        clock = fresh()
        machine.board.pins = {0: held(clock, since, until)}
        with Folder():
            start = Start(clock)
        assert (start.reason == "the BOOT button was pressed") == pressed, (since, until, start.reason)
        assert machine.board.pulls == {0: (machine.Pin.IN, machine.Pin.PULL_UP)}


def test_each_chip_has_its_button():
    for title, pin in (
        (ESP32, 0),
        ("Generic ESP32 module with SPIRAM with ESP32", 0),
        ("Generic ESP32S2 module with ESP32S2", 0),
        ("Generic ESP32S3 module with Octal-SPIRAM with ESP32S3", 0),
        ("Generic ESP32C2 module with ESP32C2", 9),
        ("Generic ESP32C3 module with ESP32C3", 9),
        ("ESP32-C3-DevKit with ESP32-C3FH4", 9),
        ("Generic ESP32C5 module with ESP32C5", 28),
        ("Generic ESP32C6 module with ESP32C6", 9),
        ("Generic ESP32P4 module with WIFI module of external ESP32C6 with ESP32P4", 35),
        ("linux [GCC 14.2.1] version", 0),
        ("", 0),
    ):
        clock = fresh()
        machine.board.pins = {pin: 0}
        with Folder():
            start = Start(clock, title)
        assert start.reason == "the BOOT button was pressed", title
        assert list(machine.board.pulls) == [pin], title


def test_noise_on_the_pin_is_no_finger():
    # On some boards the Ethernet's clock is on pin 0: half of all looks find it low.
    seed = 1
    for _ in range(60):
        clock = fresh()
        state = [seed]

        def noise(state=state):
            state[0] = (state[0] * 1103515245 + 12345) & 0x7FFFFFFF
            return state[0] >> 16 & 1

        machine.board.pins = {0: noise}
        with Folder():
            assert Start(clock).reason == "", seed
        seed += 7919


def test_five_failed_starts_and_the_way_back():
    clock = fresh()
    with Folder() as folder:
        for failed in ("0", "1", "4", "4\n"):
            folder.write("failed.txt", failed)
            assert Start(clock).reason == ""
            assert machine.board.timers == {}
        folder.write("crash.txt", 'Traceback (most recent call last):\n  File "x.py", line 1\nOSError: 28\n')
        for failed in ("5", "6", "700"):
            folder.write("failed.txt", failed)
            start = Start(clock)
            assert start.reason == failed + " starts in a row came to nothing, the last with OSError: 28"
            assert folder.read("failed.txt") == failed


def fire():
    try:
        machine.board.fire()
    except machine.Ended as ended:
        return ended.how
    return None


def test_after_ten_minutes_it_tries_once_more():
    clock = fresh()
    with Folder() as folder:
        folder.write("failed.txt", "5")
        start = Start(clock)
        assert machine.board.timers[0][0] == 600000
        assert machine.board.timers[0][2] == machine.Timer.ONE_SHOT
        # A tool that works at the board clears the names of what it has stopped.
        start.names.clear()
        assert fire() == "reset"
        assert folder.read("failed.txt") == "4"
        assert Start(clock).reason == ""
        assert machine.board.timers == {}


def test_deep_sleep_skips_all_of_it():
    clock = fresh()
    machine.board.cause = machine.DEEPSLEEP_RESET
    machine.board.pins = {0: 0}
    with Folder() as folder:
        folder.write("stop", "")
        folder.write("failed.txt", "9")
        start = Start(clock)
        assert start.reason == "" and start.took == 0 and machine.board.timers == {}
        assert [name for name in PRIVATE if name in start.names] == []


def test_ctrl_c_stops_the_program_too():
    for interrupt_in in (10, 500, 990):
        clock = fresh()
        with Folder():
            start = Start(clock, interrupt_in=interrupt_in)
            assert start.lines == ["dcka: safe mode: Ctrl-C was pressed"]
            assert start.reason == "Ctrl-C was pressed"


def test_files_of_garbage():
    for garbage in (
        b"",
        b"\n",
        b"\xff\xfe\x00",
        b"-5",
        b"5x",
        b"5.0",
        b"\xc2\xb2",
        b"5" * 3000,
        b"\x00" * 4096,
    ):
        clock = fresh()
        with Folder() as folder:
            folder.write("failed.txt", garbage)
            folder.write("crash.txt", garbage)
            start = Start(clock)
            assert (start.reason != "") == (garbage == b"5" * 3000), garbage
            folder.write("failed.txt", "5")
            start = Start(clock)
            assert start.reason.startswith("5 starts in a row came to nothing"), garbage


def test_a_flash_that_takes_nothing():
    clock = fresh()
    with Folder() as folder:
        folder.write("failed.txt", "5")
        start = Start(clock)
        start.names["open"] = full
        # The names that `again` finds: the file's are gone, `open` is the interpreter's, which is full now.
        assert fire() == "reset"
        assert start.lines[-1] == "dcka: failed.txt can't be written: " + str(OSError(28))


def full(*_arguments):
    raise OSError(28)


def test_no_machine_at_all():
    clock = fresh()
    with Folder() as folder:
        assert Start(clock, chip=None).reason == ""
        folder.write("failed.txt", "5")
        assert Start(clock, chip=None).reason.startswith("5 starts")
        assert Start(clock, chip=Parts()).reason.startswith("5 starts")
        assert machine.board.timers == {}


def test_whatever_fails_it_neither_raises_nor_forgets_the_rest():
    whole = {
        "reset_cause": machine.reset_cause,
        "DEEPSLEEP_RESET": machine.DEEPSLEEP_RESET,
        "Pin": machine.Pin,
        "Timer": machine.Timer,
        "reset": machine.reset,
    }
    for broken in ("reset_cause", "Pin", "Timer"):
        parts = dict(whole)
        parts[broken] = never
        clock = fresh()
        with Folder() as folder:
            start = Start(clock, chip=Parts(**parts))
            assert start.reason == "", broken
            folder.write("failed.txt", "5")
            start = Start(clock, chip=Parts(**parts))
            assert start.lines[0].startswith("dcka: boot.py: "), (broken, start.lines)
            assert start.reason.startswith("5 starts"), (broken, start.lines)
    for error in (OSError(5), MemoryError(), ValueError("planted")):

        def broken_read(*_arguments, error=error):
            raise error

        clock = fresh()
        lines = Lines()
        modules = {"time": FakeTime(clock), "sys": chip_named(ESP32)}
        with Folder() as folder:
            folder.write("failed.txt", "5")
            names = put_modules(modules, run_with_open, lines, broken_read)
            assert names["stop_reason"] == ""


def run_with_open(lines, broken):
    return run_file("boot.py", print=lines, open=broken)
