"""Runs before main.py on a board, and keeps a way back to it: it says whether main.py may run (`stop_reason`).

Three things stop main.py, so that a board whose program is broken still answers on its serial port: a file `/stop`, the
BOOT button pressed within a second after the start, and five starts in a row of which none came to anything. The last
is tried again after ten minutes: a node in a field must come back by itself. Nothing here may fail.
"""

import os
import time

# Starts that came to nothing; the program takes the file away when it is well (dcka_device/guard.py).
FAILED_FILE = "failed.txt"
_MAX_FAILED = 5
_TRY_AGAIN_MS = 600000
# Long enough for a finger that has just let go of the reset button.
_BUTTON_MS = 1000
_LOOK_MS = 20
_HELD_LOOKS = 5
# The pin of the BOOT button, by the chip; on the first ESP32, the S2 and the S3 it is 0.
_BUTTONS = {"C2": 9, "C3": 9, "C5": 28, "C6": 9, "H2": 9, "P4": 35}

try:
    import machine
except ImportError:  # a desktop's build without it
    machine = None  # type: ignore[assignment]

stop_reason = ""


def _read(name: str) -> str:
    try:
        with open(name) as file:
            text: str = file.read()
            return text
    except OSError:  # the file need not be there
        return ""


def _write(name: str, text: str) -> None:
    """Keep going where the flash is full or broken: the board shall start all the same."""
    try:
        with open(name, "w") as file:
            file.write(text)
    except OSError as error:
        print("dcka: %s can't be written: %s" % (name, error))


def _woke() -> bool:
    """Whether this start is a planned one out of deep sleep."""
    return hasattr(machine, "reset_cause") and machine.reset_cause() == machine.DEEPSLEEP_RESET


def _button() -> bool:
    """Whether the BOOT button is held down for a tenth of a second within the first. A desktop has no pins."""
    if not hasattr(machine, "Pin"):
        return False
    chip = os.uname().machine.rpartition("ESP32")[2].replace("-", "")[:2]
    pin = machine.Pin(_BUTTONS.get(chip, 0), machine.Pin.IN, machine.Pin.PULL_UP)
    held = 0
    for _ in range(_BUTTON_MS // _LOOK_MS):
        # In a row: where a board has a clock or a bus on this pin, single looks find it low, too.
        held = 0 if pin.value() else held + 1
        if held == _HELD_LOOKS:
            return True
        time.sleep_ms(_LOOK_MS)
    return False


def _try_again_later(failed: int) -> None:
    """Restart in ten minutes, with one more try, unless somebody works at the board: a soft reset ends timers."""
    if not hasattr(machine, "Timer"):
        return

    def again(_: object) -> None:
        _write(FAILED_FILE, str(failed - 1))
        machine.reset()

    machine.Timer(0).init(mode=machine.Timer.ONE_SHOT, period=_TRY_AGAIN_MS, callback=again)


def _reason() -> str:
    """Why main.py may not run; "" where it may."""
    if _woke():
        return ""
    try:
        os.stat("stop")
        return "there is a file /stop"
    except OSError:  # as it should be
        pass
    if _button():
        return "the BOOT button was pressed"
    text = _read(FAILED_FILE)
    failed = int(text) if text.isdigit() else 0
    if failed >= _MAX_FAILED:
        _try_again_later(failed)
        last = _read("crash.txt").strip().split("\n")[-1]
        return "%d starts in a row came to nothing%s" % (failed, last and ", the last with " + last)
    _write(FAILED_FILE, str(failed + 1))
    return ""


try:
    stop_reason = _reason()
except Exception as error:  # whatever it is, a board that doesn't start is worse
    print("dcka: boot.py: %r" % error)
if stop_reason:
    print("dcka: safe mode: " + stop_reason)
else:
    # main.py shares our names, and needs the heap.
    for _name in ("_read", "_write", "_woke", "_button", "_try_again_later", "_reason", "_BUTTONS"):
        globals().pop(_name)
