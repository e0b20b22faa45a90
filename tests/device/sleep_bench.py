"""A board that sleeps deeply, wake after wake: real files, the firmware's own wake and loop, a fake chip, a fake link.

Time is the world's: a sleep lasts by the chip's slow clock, which is wrong by `ppm`.
"""

import os
from json import dumps

from bench import FakeTime, Folder, Lines, Parts, fresh, machine, put_modules

from dcka_core import sampling
from dcka_core.rota import Pace
from dcka_device import night, segment_files, sensing, sleeping, waking

T0 = 200_000_000
BOOT_MS = 400
SETTINGS = {
    "network": "t",
    "node": 3,
    "broker": {"host": "h"},
    "parts": ["sensing", "sleeping"],
    "sleep": {"cap_s": 60, "hold": 20},
    "sensors": {
        "every_s": 60,
        "sync_every": 5,
        "columns": "a/0",
        "segment": 4096,
        "most": 0,
        "keep_s": 0,
        "reserve": 0,
        "drivers": [{"driver": "fake"}],
    },
}


class Sensor:
    """Counts. fails: it raises that; crashes: that, but only where the rest of the program is not loaded."""

    name = "a"
    count = 1
    read_before = 0
    fails = crashes = None
    alone = False

    def __init__(self, settings):
        pass

    def start(self):
        return 50

    def read(self, values, first):
        if Sensor.fails:
            raise Sensor.fails
        if Sensor.crashes and Sensor.alone:
            raise Sensor.crashes
        Sensor.read_before += 1
        values[first] = Sensor.read_before


class WorldTime(FakeTime):
    """`time()` is the board's RTC, which dcka sets; gmtime as on a board."""

    def __init__(self, clock, world):
        super().__init__(clock)
        self.world = world

    def time(self):
        return self.world.true_ms // 1000 - T0 + T0 + 631152000

    def gmtime(self, second):
        return (2000,) if second == 0 else (2026, 11, 30, 0, 0, 0, 0, 0)


class Link:
    """Up where `world.broker`; what is said of the node is kept in `world.said`."""

    def __init__(self, world):
        self.world = world
        self.up = False
        self.connector = None
        self.topics = []
        self.client = Parts(on_message=lambda topic, payload: world.others.append(topic))
        self.client.io_interest = lambda now: 0

    def subscribe(self, topic):
        self.topics.append(topic)

    def publish(self, topic, payload, retain):
        self.world.said.append((topic, payload, retain))

    def flush(self, now):
        pass

    def close(self):
        self.up = False


class Node:
    """As much of a node as sleeping looks at."""

    def __init__(self):
        self.also = {}
        self.others = {}
        self.session = None
        self.settled = False
        self.ledger = [0] * 7
        self._rows = self._intake = None
        self._newest = 0
        self.dropped = []

    def count(self, reason):
        self.dropped.append(reason)

    def connected(self, now):
        return [(1, "dcka/t/status/3", dumps(self.also), True)]


class World:
    """One board. `starts`: what each start was: "cold", "wake" (no radio), "speak"."""

    def __init__(self, ppm=0, pace=(3600, T0 + 1800, 20)):
        self.clock = fresh(1000)
        self.true_ms = T0 * 1000
        self.ppm = ppm
        self.pace = Pace(*pace) if pace else None
        self.broker = self.host = True
        self.run_ms = 3000
        self.starts, self.said, self.others, self.joins, self.lines = [], [], [], [], Lines()
        self.folder = Folder()
        self.time = WorldTime(self.clock, self)

    def __enter__(self):
        self.folder.__enter__()
        self.folder.write("node.json", dumps(SETTINGS))
        Sensor.read_before, Sensor.fails, Sensor.crashes = 0, None, None
        for module in (night, sleeping, sensing):
            module.time = self.time
        for module in (night,):
            module.machine = machine
        machine.lightsleep = self.pass_by
        self.clock.sleep = self.pass_by
        return self

    def __exit__(self, *_):
        del machine.lightsleep
        for name in self.segments():
            os.remove(segment_files.FOLDER + "/" + name)
        if "segments" in os.listdir("."):
            os.rmdir("segments")
        self.folder.__exit__()

    def segments(self):
        return os.listdir("segments") if "segments" in os.listdir(".") else []

    def pass_by(self, ms):
        self.true_ms += ms
        self.clock.pass_by(ms)

    def readings(self):
        """(time, value) of all that is on flash."""
        segments = sensing.open_segments(SETTINGS["sensors"])
        return [tuple(row) for row in segments.readings(0, 1 << 30)]

    def start(self):
        """One start, to its deep sleep, and through it. Whatever else ends it comes out."""
        self.clock.now = (self.clock.now + 12345) % (1 << 30)
        self.pass_by(BOOT_MS)
        self.starts.append("wake" if machine.board.cause == machine.DEEPSLEEP_RESET else "cold")
        fake = Parts(Sensor=Sensor)
        try:
            put_modules({"dcka_device.sensors.fake": fake, "machine": machine}, self._program)
        except machine.Ended as ended:
            assert ended.how == "deepsleep"
            assert len(machine.board.rtc) <= 2048
            self.true_ms += ended.ms + ended.ms * self.ppm // 1_000_000

    def _program(self):
        if machine.board.cause == machine.DEEPSLEEP_RESET:
            Sensor.alone = True
            waking.main("")
        Sensor.alone = False
        self.starts[-1] = "speak" if self.starts[-1] == "wake" else "cold"
        self._loop()

    def _loop(self):
        node, link = Node(), Link(self)
        inner = sensing.main(SETTINGS, None)
        part = sleeping.main(SETTINGS, inner)
        part.parts(dict(SETTINGS), 1, node, Parts(load=None), night.now, None)
        came_up = began = self.true_ms
        told = run_over = False
        while True:
            assert self.true_ms - began < 3_600_000, "it stays awake"
            rest = part.alive(link.up)
            part.look(link, node, night.now())
            if self.broker and not link.up and self.true_ms - began >= 800:
                link.up = node.settled = True
                came_up = self.true_ms
                if self.pace:
                    self.hear(link, "pace", self.pace_record())
            if link.up and self.host and not told and self.true_ms - came_up > 200:
                told = True
                self.hear(link, "time", {"v": 1, "time": self.true_ms // 1000, "ms": self.true_ms % 1000})
            if link.up and self.host and self.pace and not run_over:
                run_over = self._run(node, link, began)
            self.pass_by(max(1, min(rest, 500)))

    def _run(self, node, link, began):
        """The host calls the clustering that is due, and says so when it is over."""
        since = self.true_ms // 1000 - self.pace.at
        number = since // self.pace.every_s
        if since < 0 or since % self.pace.every_s > self.pace.awake_s or number <= self.pace.done:
            return False
        self.joins.append((number, began - self.pace.start_of(number) * 1000))
        node.session = Parts(done=False, asleep=None, run=Parts(patience_ms=500))
        self.pass_by(self.run_ms)
        node.session.done = True
        self.pace.done = number
        self.hear(link, "pace", self.pace_record())
        return True

    def pace_record(self):
        pace = self.pace
        return {"v": 1, "every_s": pace.every_s, "at": pace.at, "awake_s": pace.awake_s, "done": pace.done}

    def hear(self, link, kind, record):
        link.client.on_message("dcka/t/" + kind, dumps(record).encode())

    def power_cut(self, off_s=0):
        machine.board.rtc = b""
        machine.board.cause = machine.PWRON_RESET
        self.true_ms += 1000 * off_s

    def live(self, seconds):
        end = self.true_ms + 1000 * seconds
        while self.true_ms < end:
            self.start()
        return self


SensorError = sampling.SensorError
