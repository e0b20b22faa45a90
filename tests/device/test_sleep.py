"""Whole wakes of a board that sleeps deeply, with a fake chip: on CPython and on MicroPython."""

import os
from json import loads

from bench import Parts, machine
from sleep_bench import SETTINGS, T0, Sensor, SensorError, World

from dcka_core import carry
from dcka_device import night


def test_it_samples_without_the_radio_and_joins_every_clustering():
    for ppm in (-50_000, 0, 50_000):
        with World(ppm) as world:
            world.live(5 * 3600)
            assert world.starts[0] == "cold" and "cold" not in world.starts[1:]
            assert world.starts.count("wake") > 5 * 55
            assert world.starts.count("speak") <= 5 + 6, world.starts.count("speak")
            numbers = [number for number, _ in world.joins]
            assert numbers == list(range(5)), (ppm, numbers)
            assert all(-70_000 < began <= 0 for _, began in world.joins), (ppm, world.joins)
            times = [row[0] for row in world.readings()]
            assert len(times) == len(set(times)) and all(one % 60 == 0 for one in times)
            missing = 5 * 60 - len(times)
            assert missing <= 20 + 3, (ppm, missing)
            values = [row[1] for row in world.readings()]
            assert values == list(range(1, len(values) + 1))


def flash(world):
    """All that is on flash, by name."""
    names = [name for name in os.listdir(".") if name != "segments"]
    names += ["segments/" + name for name in world.segments()]
    kept = {}
    for name in names:
        with open(name, "rb") as file:
            kept[name] = file.read()
    return kept


def test_sampling_wakes_write_nothing_to_flash_between_two_syncs():
    hold = SETTINGS["sleep"]["hold"]
    with World() as world:
        world.live(3600)
        quiet = syncs = 0
        rows = len(world.readings())
        for _ in range(3 * hold):
            held, before = carry.read(machine.board.rtc).rota[7], flash(world)
            world.start()
            after = carry.read(machine.board.rtc).rota[7]
            if after == held + 1 and world.starts[-1] == "wake":
                # A reading more in RTC memory, and not a byte of flash is another.
                assert flash(world) == before
                quiet += 1
            elif after < held:
                # What was held is there now, and this wake's own.
                assert flash(world) != before
                assert len(world.readings()) >= rows + held
                syncs += 1
            rows = len(world.readings())
        assert syncs >= 2 and quiet >= 2 * (hold - 1), (syncs, quiet)
        assert "boots.txt" not in os.listdir(".")


def test_a_sleeper_says_until_when_before_it_goes():
    with World() as world:
        world.live(2 * 3600)
        said = [loads(payload) for _, payload, _ in world.said]
        assert said and all(retain for _, _, retain in world.said)
        assert all(one["state"] == "asleep" for one in said)
        # Until it speaks again, not until it samples.
        assert all(6_000 <= one["until_ms"] <= 3_700_000 for one in said), [one["until_ms"] for one in said]
        assert said[-1]["nights"]["skipped"] <= 2


def test_a_power_cut_loses_what_is_held_and_no_more():
    with World() as world:
        world.live(5000)
        for _ in range(5):
            world.start()
        kept = carry.read(machine.board.rtc)
        held = kept.rota[7]
        assert 0 < held <= SETTINGS["sleep"]["hold"]
        before = world.readings()
        world.power_cut()
        world.live(4000)
        after = world.readings()
        assert after[: len(before)] == before
        assert world.starts.count("cold") == 2
        # Readings that were in RTC memory are not there, nor those due while nobody knew the time; all others are.
        times = [row[0] for row in after]
        gaps = [times[place] - times[place - 1] for place in range(1, len(times))]
        assert max(gaps) <= 60 * (held + 3)


def test_a_reset_keeps_what_is_held():
    with World() as world:
        world.live(5000)
        for _ in range(3):
            world.start()
        held = carry.read(machine.board.rtc).rota[7]
        values = len(world.readings()) + held
        machine.board.cause = machine.WDT_RESET
        world.start()
        assert world.starts[-1] == "cold"
        assert len(world.readings()) >= values


def test_garbage_in_rtc_memory_is_a_cold_start():
    with World() as world:
        world.live(4000)
        good = machine.board.rtc
        for garbage in (b"", b"x", bytes(2048), good[:-1], good + b"\0", b"dckS\x02" + good[5:], b"dcka\x04"):
            machine.board.rtc = garbage
            machine.board.cause = machine.DEEPSLEEP_RESET
            before = world.true_ms
            world.start()
            assert carry.read(machine.board.rtc) is not None
            assert world.true_ms - before < 4000_000
        for place in range(0, len(good), 7):
            bad = bytearray(good)
            bad[place] ^= 0x10
            assert carry.read(bytes(bad)) is None, place
        assert carry.read(good).encode() == good


def test_a_broker_that_is_away_costs_a_minute_a_clustering():
    with World() as world:
        world.live(3 * 3600)
        world.broker = False
        speaks = world.starts.count("speak")
        rows = len(world.readings())
        world.live(5 * 3600)
        assert world.starts.count("speak") - speaks <= 5 + 8
        world.broker = True
        joined = len(world.joins)
        world.live(5 * 3600)
        assert len(world.joins) >= joined + 2
        # It went on sampling, but while it waited in vain.
        assert len(world.readings()) > rows + 9 * 60


def test_a_host_that_is_away_is_waited_for_as_the_pace_says():
    with World() as world:
        world.live(3 * 3600)
        world.host = False
        speaks = world.starts.count("speak")
        world.live(4 * 3600)
        assert world.starts.count("speak") - speaks <= 4 + 8
        world.host = True
        joined = len(world.joins)
        world.live(3 * 3600)
        assert len(world.joins) >= joined + 2


def test_without_a_pace_it_stays_awake():
    with World(pace=None) as world:
        try:
            world.start()
        except AssertionError as error:
            assert str(error) == "it stays awake"
        else:
            raise RuntimeError("it slept")


def test_a_sensor_that_fails_is_counted_and_the_node_sleeps_on():
    with World() as world:
        world.live(4000)
        before = len(world.readings())
        Sensor.fails = SensorError("no answer")
        world.live(1200)
        kept = carry.read(machine.board.rtc)
        assert kept.rota[10] >= 15 and kept.bad == 0
        Sensor.fails = None
        world.live(3600)
        assert len(world.readings()) > before + 20


def test_wakes_that_crash_are_given_up_after_three():
    with World() as world:
        world.live(4000)
        Sensor.crashes = ValueError("a driver's fault")
        crashes = 0
        for _ in range(12):
            try:
                world.start()
            except ValueError:
                # guard.py restarts the board.
                crashes += 1
                machine.board.cause = machine.HARD_RESET
        assert crashes == carry.BAD_WAKES
        told = loads(world.said[-1][1])
        assert told["nights"]["bad"] == carry.BAD_WAKES
        # From power-on it tries again.
        world.power_cut()
        Sensor.crashes = None
        rows = len(world.readings())
        world.live(4000)
        assert len(world.readings()) > rows + 30


def test_messages_that_are_none_are_counted():
    with World() as world:
        seen = []
        word = __import__("dcka_device.hearing").hearing.Word(night.Night(SETTINGS), "dcka/t/")

        class Link:
            def __init__(self):
                self.topics = []
                self.client = Parts(on_message=lambda topic, payload: seen.append(topic))

            def subscribe(self, topic):
                self.topics.append(topic)

        class Node:
            def count(self, reason):
                seen.append(reason)

        link = Link()
        word.listen(link, Node())
        assert link.topics == ["dcka/t/pace", "dcka/t/time"]
        for payload in (b"", b"{", b"[]", b"7", b"{}", b'{"v":1}', b"\xff\xfe", b"[" * 500):
            link.client.on_message("dcka/t/pace", payload)
            link.client.on_message("dcka/t/time", payload)
        assert seen == ["json"] * 16 and not word.heard
        link.client.on_message("dcka/t/run", b"x")
        assert seen[-1] == "dcka/t/run"
        link.client.on_message("dcka/t/time", b'{"v":1,"time":%d,"ms":0}' % T0)
        assert word.heard
        assert world.others == []
