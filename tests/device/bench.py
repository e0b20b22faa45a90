"""What the tests of a board's own parts share, on CPython and on MicroPython. It puts the fakes on the path."""

import os
import sys

FOLDER = __file__.rsplit("/", 1)[0]
FIRMWARE = FOLDER.rsplit("/", 2)[0] + "/firmware"
if FOLDER + "/fakes" not in sys.path:
    sys.path.insert(0, FOLDER + "/fakes")

import machine  # noqa: E402
import network  # noqa: E402

PERIOD = 1 << 30


class Clock:
    """Ticks that wrap as a board's do, and move only when they are told to."""

    def __init__(self, now=0):
        self.now = now
        # How long calls have blocked, in ms, one by one.
        self.blocked = []

    def __call__(self):
        return self.now

    def sleep(self, ms):
        self.blocked.append(ms)
        self.pass_by(ms)

    def pass_by(self, ms):
        self.now = (self.now + ms) % PERIOD


class Flash:
    """A store in memory, which counts what is written; `full`: it takes nothing more."""

    def __init__(self):
        self.files = {}
        self.written = 0
        self.full = False

    def read(self, name):
        return self.files.get(name, b"")

    def save(self, name, payload):
        if self.full:
            raise OSError(28)
        self.files[name] = payload
        self.written += 1


class FakeTime:
    """Stands for the module `time`: a clock that only sleeping moves."""

    def __init__(self, clock):
        self.clock = clock
        self.interrupt_in = None

    def ticks_ms(self):
        return self.clock.now

    def ticks_diff(self, end, start):
        return ((end - start + PERIOD // 2) % PERIOD) - PERIOD // 2

    def ticks_add(self, ticks, delta):
        return (ticks + delta) % PERIOD

    def sleep_ms(self, ms):
        if self.interrupt_in is not None:
            self.interrupt_in -= ms
            if self.interrupt_in <= 0:
                self.interrupt_in = None
                raise KeyboardInterrupt
        self.clock.sleep(ms)


class Lines(list):
    """What was printed, in place of `print`."""

    def __call__(self, *words):
        self.append(" ".join([str(word) for word in words]))


class Folder:
    """A folder of its own as the current one, which is empty at the start, and gone at the end."""

    def __init__(self):
        self._path = f"/tmp/dcka-device-{int.from_bytes(os.urandom(4), 'little')}"
        self._before = ""

    def __enter__(self):
        self._before = os.getcwd()
        os.mkdir(self._path)
        os.chdir(self._path)
        return self

    def __exit__(self, *_):
        os.chdir(self._before)
        for name in os.listdir(self._path):
            os.remove(self._path + "/" + name)
        os.rmdir(self._path)

    def write(self, name, content):
        with open(self._path + "/" + name, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def remove(self, name):
        os.remove(self._path + "/" + name)

    def read(self, name):
        """None where there is no such file."""
        try:
            with open(self._path + "/" + name, "rb") as file:
                return file.read().decode()
        except OSError:
            return None


def fresh(now=0):
    """A clock; radio, chip and air as after power-on, and on that clock."""
    clock = Clock(now)
    machine.board.power_on()
    network.air.clock = clock
    network.air.sleep = clock.sleep
    network.air.clear()
    return clock


class Parts:
    """An object that has exactly what is given: it stands for a module that lacks the rest."""

    def __init__(self, **parts):
        for name in parts:
            setattr(self, name, parts[name])


def put_modules(modules, function, *arguments):
    """Call `function` while `import` gives these modules; None: there is no such module."""
    real = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        return function(*arguments)
    finally:
        for name in real:
            if real[name] is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = real[name]


def run_file(name, **names):
    """Run a file of the firmware's folder in names of its own, which are returned; `print` goes into them."""
    names["__name__"] = "__main__"
    with open(FIRMWARE + "/" + name) as file:
        source = file.read()
    exec(compile(source, name, "exec"), names)
    return names
