"""Sampling: on time, whatever a sensor does; whole readings or none; and all that is missed is told."""

from segment_files import MemoryFiles

from dcka_core.sampling import LOOK_MS, Sampler, SensorError
from dcka_core.segments import Segments
from dcka_core.ticks import PERIOD

BEGIN = 200000000


class Sensor:
    """Says how often it was started; `wait` ms a measurement; fails where `error` is set."""

    def __init__(self, name, count=1, wait=0):
        self.name = name
        self.count = count
        self.wait = wait
        self.error = None
        self.start_error = None
        self.started = 0

    def start(self):
        if self.start_error:
            raise self.start_error
        self.started += 1
        return self.wait

    def read(self, values, first):
        if self.error:
            raise self.error
        for place in range(self.count):
            values[first + place] = 10 * self.started + place


class Node:
    """A sampler, its clock and its flash. Time goes on by what `tick` asks for at most."""

    def __init__(self, sensors, every_s=60, sync_every=4, files=None, begin_ms=PERIOD - 5000):
        self.files = files or MemoryFiles()
        columns = []
        for sensor in sensors:
            columns += ["%s%d/0" % (sensor.name, place) for place in range(sensor.count)]
        self.segments = Segments(self.files, " ".join(columns))
        self.sampler = Sampler(sensors, self.segments, every_s, sync_every)
        self.ms = 0
        self.begin_ms = begin_ms
        self.offset_s = 0
        self.known = True

    def tick(self):
        time_s = BEGIN + self.ms // 1000 + self.offset_s
        return self.sampler.tick((self.begin_ms + self.ms) % PERIOD, time_s if self.known else None)

    def run(self, seconds, block_ms=0):
        """block_ms: how long the loop does other things between two calls."""
        end = self.ms + 1000 * seconds
        while self.ms < end:
            rest = self.tick()
            assert 0 <= rest <= LOOK_MS
            self.ms += max(rest, block_ms, 1)

    def held(self):
        return [list(row) for row in self.segments.readings(0, (1 << 30) - 1)]

    def times(self):
        return [row[0] - BEGIN for row in self.held()]


def test_samples_are_at_whole_multiples_of_the_period():
    sensor = Sensor("a", 2)
    node = Node([sensor], every_s=60)
    node.run(601)
    first = -BEGIN % 60
    assert node.times() == [first + 60 * index for index in range(10)]
    assert [row[1:] for row in node.held()] == [[10 * index, 10 * index + 1] for index in range(1, 11)]
    report = node.sampler.report
    assert (report["missed"], report["failed"]) == (0, {})
    assert (report["readings"], report["waiting"], report["syncs"]) == (8, 2, 2)
    assert report["newest"] == BEGIN + node.times()[-1] and report["oldest"] == BEGIN + node.times()[0]


def test_a_slow_sensor_blocks_nobody_and_is_read_when_it_is_ready():
    slow, quick = Sensor("a", wait=750), Sensor("b")
    node = Node([slow, quick], every_s=1)
    waits = []
    while node.ms < 10000:
        before = node.ms
        rest = node.tick()
        waits.append(rest)
        node.ms = before + max(1, rest)
    assert slow.started == 9
    assert node.times() == list(range(1, 10))
    assert node.sampler.report["missed"] == 0
    assert 750 in waits and 0 not in waits


def test_what_turns_are_late_does_not_add_up():
    """A turn that is always 7 ms late is still in its second after a thousand seconds."""
    node = Node([Sensor("a")], every_s=1)
    while node.ms < 1000000:
        node.ms += max(1, node.tick()) + 7
    assert node.sampler.report["missed"] == 0 and len(node.times()) == 999


def test_a_loop_that_is_busy_samples_late_and_says_what_it_missed():
    node = Node([Sensor("a")], every_s=10)
    node.run(25)
    assert node.times() == [10, 20]
    node.ms += 37000
    node.run(10)
    # 30, 40 and 50 went by; what is measured now is measured now.
    assert node.times() == [10, 20, 62, 70] and node.sampler.report["missed"] == 3
    node = Node([Sensor("a")], every_s=10)
    node.run(100, block_ms=1700)
    assert len(node.times()) == 9 and node.sampler.report["missed"] == 0


def test_a_reading_has_all_its_columns_or_is_none():
    good, bad = Sensor("a"), Sensor("b", 2)
    node = Node([good, bad], every_s=10)
    node.run(15)
    bad.error = SensorError("CRC error")
    node.run(20)
    report = node.sampler.report
    assert report["failed"] == {"b": 2} and report["fault"] == "b: CRC error"
    bad.error = OSError(19)
    node.run(10)
    assert report["failed"] == {"b": 3} and "19" in report["fault"]
    bad.error = None
    good.start_error = SensorError("nobody answers")
    node.run(10)
    assert report["failed"] == {"a": 1, "b": 3}
    good.start_error = None
    node.run(10)
    assert "fault" not in report and report["missed"] == 0
    assert node.times() == [10, 60]


def test_a_fault_of_ours_is_no_sensors_fault():
    sensor = Sensor("a")
    node = Node([sensor], every_s=10)
    sensor.error = ValueError("a mistake")
    try:
        node.run(15)
    except ValueError:
        return
    raise AssertionError


def test_without_a_clock_nothing_is_sampled():
    node = Node([Sensor("a")], every_s=10)
    node.known = False
    node.run(30)
    assert node.held() == []
    node.known = True
    node.run(30)
    assert node.times() == [40, 50, 60] or node.times() == [40, 50]
    assert node.sampler.report["missed"] == 0


def test_a_clock_that_is_set_makes_no_storm_and_no_hole():
    node = Node([Sensor("a")], every_s=10)
    node.run(25)
    node.offset_s = -100
    node.run(20)
    node.offset_s = 0
    node.run(20)
    # The way forward looks as if the loop had stood still.
    assert node.times() == [10, 20, -70, -60, 45, 50, 60]
    assert node.sampler.report["missed"] == 9


def test_what_was_synced_is_told_after_a_restart():
    node = Node([Sensor("a")], every_s=10, sync_every=3)
    node.run(85)
    again = Node([Sensor("a")], every_s=10, files=node.files)
    report = again.sampler.report
    assert (report["readings"], report["syncs"], report["waiting"], report["erased"]) == (6, 2, 0, 0)
    assert (report["oldest"], report["newest"]) == (BEGIN + 10, BEGIN + 60)


def test_sync_on_request():
    node = Node([Sensor("a")], every_s=10, sync_every=100)
    node.run(35)
    assert node.files.appends == 0
    node.sampler.sync()
    assert node.sampler.report["readings"] == 3 and node.sampler.report["waiting"] == 0


def test_a_flash_that_refuses_is_told_and_nothing_stops():
    files = MemoryFiles(0)
    node = Node([Sensor("a")], every_s=1, sync_every=2, files=files)
    node.run(20)
    report = node.sampler.report
    assert report["failed"]["flash"] > 5 and "28" in report["flash"]
    files.space = 1 << 20
    node.run(3)
    # All that had room in memory.
    assert len(node.times()) == report["readings"] + report["waiting"] and len(node.times()) >= 20
    assert "flash" not in report
