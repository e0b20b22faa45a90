"""The part of a node that senses: it stands around the guard, samples in the loop's turns, and tells of it."""

import os
import sys
import time
from array import array

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/core")

from bench import Folder, fresh

from dcka_device import sensing
from dcka_device.config import with_parts
from dcka_device.sensing import Sensing

ROWS = [[2000, 501], [2010, 502], [2020, 503]]
BEGIN = 1577836800


class Guard:
    """Says what was asked of it."""

    def __init__(self):
        self.fed = []
        self.at_end = []

    def parts(self, *arguments):
        return "console", "radio"

    def alive(self, online):
        self.fed.append(online)
        return 30000


class Node:
    def __init__(self):
        self.also = {}
        self.others = {}


class Store:
    """Loads parts of the core, which no test here asks for."""

    def load(self, name):
        raise ValueError(name)


class Time:
    """In the place of the module: seconds that a test sets."""

    def __init__(self, seconds, year=1970):
        self.seconds = seconds
        self.year = year

    def time(self):
        return self.seconds

    def gmtime(self, seconds):
        return (self.year, 1, 1, 0, 0, 0, 3, 1)


def settings(**more):
    told = {"columns": "temperature/2 humidity/1", "every_s": 10, "sync_every": 2, "keep_s": 0}
    told.update({"most": 65536, "reserve": 0, "segment": 16384})
    told["drivers"] = [
        {"driver": "replay", "columns": ["temperature", "humidity"], "file": "replay.bin", "every_s": 10}
    ]
    told.update(more)
    return {"parts": ["sensing"], "sensors": told}


def clean(folder):
    for name in os.listdir("segments"):
        os.remove("segments/" + name)
    os.rmdir("segments")


def put_time(fake, function):
    real = sensing.time
    sensing.time = fake
    try:
        return function()
    finally:
        sensing.time = real


def test_a_node_senses_in_the_turns_of_its_loop():
    with Folder() as folder:
        folder.write("replay.bin", b"".join([bytes(array("i", row)) for row in ROWS]))
        clock = fresh()
        guard = Guard()
        node = Node()
        fake = Time(BEGIN + 220000000)

        def live():
            watched = with_parts(settings(), guard)
            assert isinstance(watched, Sensing)
            # Before the node is there: the start.
            assert watched.alive(False) == 30000
            assert watched.parts({}, 1, node, Store(), clock, None) == ("console", "radio")
            assert list(node.others) == ["window"]
            for second in range(71):
                fake.seconds = BEGIN + 220000000 + second
                clock.now = 1000 * second
                assert 0 < watched.alive(True) <= 1000
            return watched

        put_time(fake, live)
        assert guard.fed == [False] + [True] * 71
        report = node.also["sensing"]
        assert (report["readings"], report["waiting"], report["missed"]) == (6, 1, 0)
        for work in guard.at_end:
            work()
        assert (report["readings"], report["waiting"]) == (7, 0)
        assert (report["oldest"], report["newest"]) == (220000010, 220000070)
        assert len(os.listdir("segments")) == 1
        clean(folder)


def test_an_emulated_node_has_no_guard():
    with Folder() as folder:
        folder.write("replay.bin", b"")
        watched = with_parts(settings(), None)
        node = Node()
        assert watched.parts({}, 1, node, Store(), fresh(), None) == (None, None)
        assert watched.alive(True) <= 1000
        assert node.also["sensing"]["readings"] == 0
        clean(folder)


def test_a_node_without_parts_keeps_its_guard():
    guard = Guard()
    assert with_parts({"network": "t"}, guard) is guard and with_parts({}, None) is None


def test_a_clock_that_was_never_set_is_known():
    def time_s():
        return Sensing(settings(), None).time_s()

    assert put_time(Time(100), time_s) is None
    assert put_time(Time(BEGIN + 220000000), time_s) == 220000000
    # A board's clock begins in 2000.
    assert put_time(Time(0, 2000), time_s) is None
    assert put_time(Time(631152000 + 220000000, 2000), time_s) == 220000000
    now = Sensing(settings(), None).time_s()
    assert now is not None and abs(now + BEGIN - time.time()) < 5
