"""A clock that is wrong on purpose, for an emulated node: it takes the place of `time` before the firmware is loaded.

So the firmware itself has nothing of it, and no node that goes right pays for it; and it takes nothing from the
firmware, whose modules and names are the build's.
"""

from pathlib import Path

from dcka_core.ticks import PERIOD

MAIN_FILE = "main.py"

# MicroPython. What waits for a socket waits by the true clock: the nodes look at theirs again when that is over.
_PROGRAM = """
import sys
import time


class Wrong:
    def __init__(self):
        self.last = time.ticks_ms()
        self.passed = 0

    def __getattr__(self, name):
        return getattr(time, name)

    def ticks_ms(self):
        now = time.ticks_ms()
        # In whole numbers: a float has no room for the bits. The clock wraps, and never goes back.
        self.passed += now - self.last & {mask}
        self.last = now
        return self.passed + self.passed * {ppm} // 1000000

    def sleep_ms(self, wait):
        # Rounded up: who waits for a millisecond waits.
        time.sleep_ms((wait * 1000000 + 999999 + {ppm}) // (1000000 + {ppm}))


sys.modules["time"] = Wrong()
"""


def put(folder: Path, ppm: int) -> None:
    """Make the clock of the node whose flash is `folder`, with the firmware in it, `ppm` millionths fast."""
    main = folder / MAIN_FILE
    main.write_text(
        _PROGRAM.format(ppm=ppm, mask=PERIOD - 1) + main.read_text(encoding="utf-8"), encoding="utf-8"
    )
