"""Deep sleep for an emulated node: the process ends, and begins anew when the sleep is over, as a board does.

What a chip has for it takes the place of `machine` before the firmware is loaded: RTC memory, which is a file that a
start after a power cut doesn't find, and a sleep that ends the interpreter. So the firmware has nothing of it, nor have
nodes that don't sleep deeply.
"""

import contextlib
from pathlib import Path

MAIN_FILE = "main.py"
RTC_FILE = "rtc.bin"
ASLEEP_FILE = "asleep.txt"

# MicroPython. The sleeping clock is off by `ppm` millionths: it is slow where that is positive.
_PROGRAM = """
import gc
import os
import sys

gc.threshold(1024)


def _read(name):
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _write(name, content):
    with open(name, "wb") as file:
        file.write(content)


class _Memory:
    def memory(self, *content):
        if not content:
            return _read({rtc!r})
        if len(content[0]) > 2048:
            raise ValueError("buffer too long")
        _write({rtc!r}, content[0])


class _Chip:
    PWRON_RESET = 1
    DEEPSLEEP_RESET = 4
    RTC = _Memory
    cause = 4 if _read({asleep!r}) else 1

    def reset_cause(self):
        return self.cause

    def deepsleep(self, ms):
        _write({asleep!r}, b"%d" % (ms + ms * {ppm} // 1000000))
        sys.exit(0)


sys.modules["machine"] = _Chip()
if sys.modules["machine"].cause == 4:
    os.remove({asleep!r})
    sys.path.insert(0, "wake")
    from dcka_device.waking import main

    main("")
    sys.path.pop(0)
    for name in [name for name in sys.modules if name.startswith("dcka_")]:
        del sys.modules[name]
"""

# What CPython, in which MicroPython runs, does at its end: it waits, and begins anew in the same process.
WAKE = f"""
import os, time
try:
    asleep = open({ASLEEP_FILE!r}).read()
except FileNotFoundError:
    sys.exit(code)
time.sleep(int(asleep) / 1000)
os.execv(sys.executable, sys.orig_argv)
"""


def put(folder: Path, ppm: int = 0) -> None:
    """Give the node whose flash is `folder`, with the firmware in it, a chip that can sleep deeply."""
    main = folder / MAIN_FILE
    program = _PROGRAM.format(rtc=RTC_FILE, asleep=ASLEEP_FILE, ppm=ppm)
    main.write_text(program + main.read_text(encoding="utf-8"), encoding="utf-8")


def cut_power(folder: Path) -> None:
    """What a power cut leaves: a flash."""
    for name in (RTC_FILE, ASLEEP_FILE):
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
