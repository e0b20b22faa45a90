"""Stands around the program of a board: a watchdog before it, and a restart behind it. Only boards load it."""

import os
import sys
import time

try:
    import machine
except ImportError:  # a desktop's build without it
    machine = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from dcka_core.node import Node
    from dcka_device.store import Store

# As boot.py has it, which can't be imported: it runs.
_FAILED_FILE = "failed.txt"
_CRASH_FILE = "crash.txt"
# Longer than anything that blocks while all is well: a scan and a join take 20 s at worst, a look-up of a name 15 s.
_WATCHDOG_MS = 120000
# It can't be stopped; so somebody who has stopped the program has half an hour before the board starts again.
_AT_REST_MS = 1800000
# A start that lasted so long has come to something, even without a broker in reach.
_WELL_MS = 120000
_PAUSE_MS = 3000
# A wake for a reading takes a second or two; one that hangs shall not empty the battery.
_WAKE_MS = 20000
# The watchdog is fed at least so often, a quarter of what it waits.
_LOOK_MS = 30000


class Guard:
    """`alive` is called in every turn of the program's loop."""

    def __init__(self, folder: str = "", last: str = "", back: "Callable[[str], None] | None" = None) -> None:
        self._folder = folder
        self._last = last
        self._back = back
        self._probation: Any = None
        self._watchdog = _watchdog(_WATCHDOG_MS)
        self._began: Any = time.ticks_ms()
        # What is done last, however the program ends but for a power cut: functions that may raise OSError.
        self.at_end: list[Any] = []

    def parts(
        self,
        settings: "dict[str, Any]",
        boot: int,
        node: "Node",
        store: "Store",
        clock: "Callable[[], int]",
        jitter: "Callable[[int], int]",
    ) -> "tuple[Any, Any]":
        """Console and radio: an emulated node has neither, and not the heap for them, nor for their names.

        Without `wifi` the board has a network by other means, as an emulated board has.
        """
        from dcka_device.console import Console

        rows = settings.pop("rows", None)
        if rows:
            from dcka_core.record import read_rows

            # What they name is listened to from the start on, before a run's rows say the same.
            node.listen(read_rows(rows))
        console = Console(settings, boot, self._folder)
        if self._back:
            from dcka_device.probation import Probation

            self._probation = Probation(self._folder, self._last, self._back, settings, node, console, clock)
        if not settings.get("wifi"):
            return console, None
        from dcka_device.wifi import Radio

        radio = Radio(settings["wifi"], store, clock, jitter)
        radio.told = node.also
        return console, radio

    def alive(self, online: bool) -> int:
        """The program turns; with a broker, or for two minutes already, this start has come to something.

        The ms after which this has to be called again.
        """
        if self._watchdog is not None:
            self._watchdog.feed()
        if self._began is not None and (online or time.ticks_diff(time.ticks_ms(), self._began) > _WELL_MS):
            self._began = None
            _forget_starts()
        if self._probation is not None and self._probation.is_over():
            self._probation = None
        return _LOOK_MS

    @property
    def on_trial(self) -> bool:
        """Whether this is a new version that has not joined yet."""
        return self._probation is not None

    def end(self) -> None:
        """The program has ended."""
        for work in self.at_end:
            try:
                work()
            except OSError as error:
                print("dcka: %s" % error)
        self.at_end = []


def run(folder: str, last: str = "", back: "Callable[[str], None] | None" = None) -> None:
    """Run the node whose files are in `folder`. Returns only where somebody presses Ctrl-C.

    Where the version is on trial (trial.py): last is the folder to go back to, `back(reason)` does that.
    """
    guard = None
    try:
        try:
            _count_start()
            if _has_slept():
                _watchdog(_WAKE_MS)
                _wake(folder)
            from dcka_device.shell import main

            guard = Guard(folder, last, back)
            main(folder, guard)
        except Exception as error:
            _report(error)
            if guard:
                guard.end()
            # Time to read it, and for Ctrl-C: a program that crashes at once would restart without a gap.
            time.sleep_ms(_PAUSE_MS)
    except SystemExit:
        # So an update restarts the board; what waits is on flash before.
        if guard:
            guard.end()
        raise
    except KeyboardInterrupt:
        if guard:
            guard.end()
        _watchdog(_AT_REST_MS)
        _forget_starts()
        print("dcka: stopped")
        return
    except Exception:  # no memory even to tell what it was; the restart brings it back
        pass
    _restart()


def _count_start() -> None:
    """One more start of which nobody knows yet whether it comes to something; boot.py looks at their number.

    Somebody who presses the reset button starts the count anew, and a sleep that ends goes on with an old start.
    """
    cause = machine.reset_cause() if hasattr(machine, "reset_cause") else None
    if cause is not None and cause == machine.DEEPSLEEP_RESET:
        return
    failed = 0
    try:
        with open(_FAILED_FILE) as file:
            failed = int(file.read())
    except (OSError, ValueError):  # there is none, or it is damaged
        pass
    if cause is not None and cause == machine.PWRON_RESET:
        failed = 0
    try:
        with open(_FAILED_FILE, "w") as file:
            file.write(str(failed + 1))
    except OSError as error:  # the flash is full: the program shall start all the same
        print("dcka: %s can't be written: %s" % (_FAILED_FILE, error))


def _has_slept() -> bool:
    """Whether this is the end of a sleep that the rota wanted (dcka_core/carry.py)."""
    if not hasattr(machine, "RTC") or machine.reset_cause() != machine.DEEPSLEEP_RESET:
        return False
    found: bool = machine.RTC().memory()[:4] == b"dckS"
    return found


def _wake(folder: str) -> None:
    """Let the wake program look (dcka_device/waking.py), which has its own copies of what it needs, and may not return.

    What is loaded has no place beside it: its modules have the same names.
    """
    ours = _taken_out()
    sys.path.insert(0, folder + "/wake")
    name = "dcka_device.waking"
    __import__(name)
    sys.modules[name].main(folder)
    sys.path.pop(0)
    _taken_out()
    sys.modules.update(ours)


def _taken_out() -> "dict[str, Any]":
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("dcka_")}


def _forget_starts() -> None:
    try:
        os.remove(_FAILED_FILE)
    except OSError:  # out of deep sleep none was counted
        pass


def _watchdog(timeout_ms: int) -> "Any":
    return machine.WDT(timeout=timeout_ms) if hasattr(machine, "WDT") else None


def _report(error: BaseException) -> None:
    """On the console, and on flash for who comes later."""
    sys.print_exception(error)
    last = "%s: %s" % (type(error).__name__, error)
    print("dcka: crash: " + last)
    try:
        with open(_CRASH_FILE, "w") as file:
            sys.print_exception(error, file)
    except OSError as problem:
        print("dcka: %s can't be written: %s" % (_CRASH_FILE, problem))


def _restart() -> "NoReturn":
    if hasattr(machine, "reset"):
        machine.reset()
    raise SystemExit  # a soft reset
