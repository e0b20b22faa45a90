"""Runs before main.py on a board, and keeps a way back to it: it says whether main.py may run (`stop_reason`).

Four things stop main.py, so that a board whose program is broken still answers on its serial port: a file `/stop`; the
BOOT button pressed, or Ctrl-C, within a second after the start; and five starts in a row of which none came to
anything. The last is tried again after ten minutes: a node in a field must come back by itself. Nothing here may fail.
"""

import os
import sys
import time

# How many starts came to nothing. The program counts them, and takes the file away when it is well
# (dcka_device/guard.py): a tool's soft resets, which run boot.py alone, are no starts.
FAILED_FILE = "failed.txt"
_MAX_FAILED = 5
_TRY_AGAIN_MS = 600000
# Long enough for a finger that has just let go of the reset button.
_BUTTON_MS = 1000
_LOOK_MS = 20
_HELD_LOOKS = 5
_LEVELS = 16
# The pin of the BOOT button, by the chip; on the first ESP32, the S2 and the S3 it is 0.
_BUTTONS = {"C2": 9, "C3": 9, "C5": 28, "C6": 9, "H2": 9, "P4": 35}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import machine
except ImportError:  # a desktop's build without it
    machine = None  # type: ignore[assignment]

stop_reason = ""


def _read(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            content: bytes = file.read()
            return content
    except OSError:  # the file need not be there
        return b""


def _woke() -> bool:
    """Whether this start is a planned one out of deep sleep."""
    return hasattr(machine, "reset_cause") and machine.reset_cause() == machine.DEEPSLEEP_RESET


def _stop_file() -> str:
    try:
        os.stat("stop")
    except OSError:  # as it should be
        return ""
    return "there is a file /stop"


def _button() -> str:
    """Whether the BOOT button is held down for a tenth of a second within the first. A desktop has no pins."""
    if not hasattr(machine, "Pin"):
        return ""
    chip = getattr(sys.implementation, "_machine", "").rpartition("ESP32")[2].replace("-", "")[:2]
    pin = machine.Pin(_BUTTONS.get(chip, 0), machine.Pin.IN, machine.Pin.PULL_UP)
    held = 0
    for _ in range(_BUTTON_MS // _LOOK_MS):
        # Where a board has a clock or a bus on this pin, half of the looks find it low: so each look takes many.
        high = 0
        for _ in range(_LEVELS):
            high += pin.value()
        held = 0 if high else held + 1
        if held == _HELD_LOOKS:
            return "the BOOT button was pressed"
        time.sleep_ms(_LOOK_MS)
    return ""


def _crash_loop() -> str:
    text = _read(FAILED_FILE).strip()
    failed = int(text) if text.isdigit() else 0
    if failed < _MAX_FAILED:
        return ""
    _tried(lambda: _try_again_later(str(failed - 1)))
    last = _read("crash.txt").strip().split(b"\n")[-1]
    try:
        return "%d starts in a row came to nothing, the last with %s" % (
            failed,
            last.decode() or "no traceback",
        )
    except ValueError:  # half of a character
        return "%d starts in a row came to nothing" % failed


def _try_again_later(failed: str) -> None:
    """Restart in ten minutes, with one more try. A soft reset begins the ten minutes anew."""
    if not hasattr(machine, "Timer"):
        return

    # Whoever works at the board may clear all names of ours: `again` has its own.
    name = FAILED_FILE
    reset = machine.reset

    def again(_: object) -> None:
        try:
            with open(name, "w") as file:
                file.write(failed)
        except OSError as error:
            print("dcka: %s can't be written: %s" % (name, error))
        reset()

    machine.Timer(0).init(mode=machine.Timer.ONE_SHOT, period=_TRY_AGAIN_MS, callback=again)


def _tried(check: "Any") -> "Any":
    try:
        return check()
    except Exception as error:  # whatever it is, a board that doesn't start is worse
        print("dcka: boot.py: %r" % error)
    return ""


def _reason() -> str:
    """Why main.py may not run; "" where it may."""
    try:
        if _tried(_woke):
            return ""
        for check in (_stop_file, _button, _crash_loop):
            reason: str = _tried(check)
            if reason:
                return reason
    except KeyboardInterrupt:
        return "Ctrl-C was pressed"
    return ""


stop_reason = _reason()
if stop_reason:
    print("dcka: safe mode: " + stop_reason)
# main.py shares our names, and needs the heap.
for _name in (
    "_read",
    "_woke",
    "_stop_file",
    "_button",
    "_crash_loop",
    "_try_again_later",
    "_tried",
    "_reason",
    "_BUTTONS",
):
    globals().pop(_name)
