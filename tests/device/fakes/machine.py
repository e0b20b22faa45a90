"""What dcka uses of the ESP32's `machine`, without a chip. It runs on CPython and on MicroPython.

`reset`, `soft_reset` and `deepsleep` end the program with `Ended`, a SystemExit: as on a board, nothing after them
runs. A test sets and looks at `board`. On a whole emulated board there is a `machine.json` in the current folder: what
outlives a reset on a chip (its cause, the RTC's memory) is kept there, and the interpreter ends, which is the board's
hard reset. It wakes at once, however long it was to sleep.
"""

PWRON_RESET = 1
HARD_RESET = 2
WDT_RESET = 3
DEEPSLEEP_RESET = 4
SOFT_RESET = 5

_STATE = "machine.json"


class Ended(SystemExit):
    """The program ended here. `how`: "reset", "soft_reset" or "deepsleep"; `ms`: how long it shall sleep."""

    def __init__(self, how, ms=None):
        super().__init__(how)
        self.how = how
        self.ms = ms


class Board:
    """What a test sets (`cause`, `pins`) and looks at (`rtc`, `watchdog_ms`, `fed`, `timers`)."""

    def __init__(self):
        self._state = None
        self.power_on()

    def power_on(self):
        self.cause = PWRON_RESET
        self.rtc = b""
        # Number of a pin -> its level, or a function that gives it; a pin that nothing pulls down is high.
        self.pins = {}
        self.pulls = {}
        # Timeout of the watchdog that runs, in ms; None while none does. It can be changed, and never stopped.
        self.watchdog_ms = None
        self.fed = 0
        self.timers = {}
        # Number of a pin -> what is on its wire: a voltage in µV or a function that gives it, a DHT22's bytes, a bus's
        # thermometers. (SCL, SDA) -> address -> an I²C chip with `read(register, size)` and `write(register, payload)`.
        self.wires = {}

    def soft_restart(self):
        """What a soft reset does: it ends the timers, and leaves watchdog and RTC alone."""
        self.timers = {}
        self.cause = SOFT_RESET

    def fire(self, timer=0):
        """Let a timer's time come: its callback, once."""
        callback = self.timers.pop(timer)[1]
        callback(None)

    def load(self):
        """Take `cause`, `rtc` (text: what dcka keeps there is ASCII) and `pins` from the file, where there is one."""
        from json import load

        try:
            with open(_STATE) as file:
                self._state = load(file)
        except OSError:
            return
        self.cause = self._state.get("cause", PWRON_RESET)
        self.rtc = self._state.get("rtc", "").encode()
        if not self._state.get("pins", True):
            # A chip without pins: boot.py doesn't wait for a button.
            del globals()["Pin"]

    def hard_reset(self):
        """Keep what outlives it, and end the interpreter; nothing happens where there is no file."""
        if self._state is None:
            return
        import os
        from json import dump

        self._state.update({"cause": self.cause, "rtc": self.rtc.decode()})
        with open(_STATE, "w") as file:
            dump(self._state, file)
        os.system("kill -9 $PPID")


class WDT:
    """The task watchdog: one for all, which cannot be stopped."""

    def __init__(self, id=0, timeout=5000):
        if id != 0:
            raise ValueError
        if timeout <= 0:
            raise ValueError("WDT timeout too short")
        board.watchdog_ms = timeout

    def feed(self):
        board.fed += 1


class Timer:
    ONE_SHOT = 0
    PERIODIC = 1

    def __init__(self, id):
        self._id = id

    def init(self, mode=PERIODIC, period=1000, callback=None):
        board.timers[self._id] = (period, callback, mode)

    def deinit(self):
        board.timers.pop(self._id, None)


class Pin:
    IN = 1
    OUT = 3
    PULL_UP = 2
    PULL_DOWN = 1

    def __init__(self, id, mode=-1, pull=-1):
        self._id = id
        board.pulls[id] = (mode, pull)

    def value(self):
        level = board.pins.get(self._id, 1)
        return level() if callable(level) else level


class ADC:
    ATTN_11DB = 3

    def __init__(self, pin, atten=None):
        if atten != self.ATTN_11DB:
            raise ValueError("narrow range")
        self._pin = pin

    def read_uv(self):
        level = board.wires[self._pin._id]
        return level() if callable(level) else level


class SoftI2C:
    def __init__(self, scl, sda):
        self._pins = (scl._id, sda._id)

    def _chip(self, address):
        chip = board.wires.get(self._pins, {}).get(address)
        if chip is None:
            raise OSError(19)
        return chip

    def readfrom_mem(self, address, register, size):
        return self._chip(address).read(register, size)

    def writeto_mem(self, address, register, payload):
        self._chip(address).write(register, payload)


class RTC:
    def memory(self, *content):
        if not content:
            return board.rtc
        if len(content[0]) > 2048:
            raise ValueError("buffer too long")
        board.rtc = bytes(content[0])
        return None


def reset_cause():
    return board.cause


def unique_id():
    return bytes((2, 0, 0, 0, 0, 1))


def reset():
    _end(Ended("reset"), HARD_RESET)


def soft_reset():
    _end(Ended("soft_reset"), SOFT_RESET)


def deepsleep(time_ms=0):
    _end(Ended("deepsleep", time_ms), DEEPSLEEP_RESET)


def _end(ended, cause):
    board.cause = cause
    if cause != SOFT_RESET:
        board.hard_reset()
    raise ended


board = Board()
board.load()
