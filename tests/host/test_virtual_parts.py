"""Laws of the simulated network's parts: its clock, broker, radio, oscillator, flash, pace and charge."""

import random

import pytest

from dcka.emulation.air import Faults
from dcka.emulation.virtual.air import Air, no_loss
from dcka.emulation.virtual.broker import KEEPALIVE_S, Broker
from dcka.emulation.virtual.channel import VirtualChannel
from dcka.emulation.virtual.meter import Meter
from dcka.emulation.virtual.oscillator import Oscillator
from dcka.emulation.virtual.pace import Pace
from dcka.emulation.virtual.segment_files import PowerCut, SegmentFiles
from dcka.emulation.virtual.timeline import US_PER_S, Timeline
from dcka.mqtt import Message, Reconnected
from dcka_core.segments import Segments


def network(faults=None, loss=no_loss, seed=1):
    """(timeline, broker, air)."""
    timeline = Timeline()
    air = Air(faults or Faults(), loss, random.Random(seed))
    return timeline, Broker(timeline, air), air


def listener(broker, client, *filters, will=None):
    """(session, list of what comes)."""
    heard = []
    session = broker.connect(client, lambda *what: heard.append(what), will=will)
    for one in filters:
        broker.subscribe(session, one)
    return session, heard


def test_what_is_due_at_one_moment_comes_in_the_order_asked_for_and_time_never_goes_back():
    timeline, seen = Timeline(), []
    timeline.at(20, lambda: seen.append(("late", timeline.now_us)))
    timeline.at(
        10,
        lambda: (
            seen.append(("a", timeline.now_us)),
            timeline.at(5, lambda: seen.append(("past", timeline.now_us))),
        ),
    )
    timeline.at(10, lambda: seen.append(("b", timeline.now_us)))
    timeline.run_until(15)
    assert seen == [("a", 10), ("b", 10), ("past", 10)]
    assert timeline.now_us == 15
    timeline.run_until(30)
    assert seen[-1] == ("late", 20)


def test_a_retained_message_comes_to_who_subscribes_and_an_empty_one_takes_it_back():
    timeline, broker, _ = network()
    broker.publish(0, "run", b"one", True)
    _, heard = listener(broker, 3, "run")
    timeline.run_until(US_PER_S)
    assert heard == [("run", b"one", True)]
    broker.publish(0, "run", b"", True)
    _, later = listener(broker, 4, "run")
    timeline.run_until(2 * US_PER_S)
    assert later == [] and heard[1:] == [("run", b"", False)]


def test_one_level_of_a_filter_stands_for_any():
    timeline, broker, _ = network()
    _, heard = listener(broker, 0, "status/+")
    broker.publish(3, "status/3", b"here", False)
    broker.publish(3, "x/0/3", b"sums", False)
    timeline.run_until(US_PER_S)
    assert heard == [("status/3", b"here", False)]


def test_a_will_comes_when_the_keepalive_is_over_and_not_after_a_leave_or_a_return():
    for way, expected in (("silent", 1), ("leave", 0)):
        timeline, broker, _ = network()
        _, heard = listener(broker, 0, "status/3")
        session, _ = listener(broker, 3, will=("status/3", b"gone"))
        getattr(broker, way)(session)
        timeline.run_until((KEEPALIVE_S + 4) * US_PER_S)
        assert heard == []
        timeline.run_until((KEEPALIVE_S * 3 // 2 + 1) * US_PER_S)
        assert len(heard) == expected
        assert broker.retained.get("status/3") == (b"gone" if expected else None)


def test_who_comes_back_before_that_ends_its_old_session_whose_will_is_published_once():
    timeline, broker, _ = network()
    _, heard = listener(broker, 0, "status/3")
    session, _ = listener(broker, 3, will=("status/3", b"gone"))
    broker.silent(session)
    listener(broker, 3, will=("status/3", b"gone"))
    timeline.run_until(60 * US_PER_S)
    assert [payload for _, payload, _ in heard] == [b"gone"]


def test_an_outage_ends_all_connections_refuses_new_ones_and_may_forget():
    for forget in (False, True):
        _, broker, _ = network()
        told: list[int] = []
        broker.publish(0, "run", b"one", True)
        broker.connect(3, lambda *_: None, lambda told=told: told.append(3), will=("status/3", b"gone"))
        broker.go_away(forget)
        assert told == [3] and broker.connect(4, lambda *_: None) is None and broker.refused == 1
        broker.publish(0, "run", b"lost", True)
        broker.come_back()
        assert broker.retained == ({} if forget else {"run": b"one"})


def test_tcp_keeps_the_order_and_the_host_loses_nothing_whatever_the_air_does():
    timeline, broker, air = network(Faults(loss=0.9, duplicate=0.5, reorder=0.5))
    _, host = listener(broker, 0, "status/+")
    for number in range(200):
        broker.publish(3, "status/3", str(number).encode(), False)
    timeline.run_until(US_PER_S)
    assert [int(payload) for _, payload, _ in host] == list(range(200))
    assert air.counts.deliveries == 0


def test_the_air_loses_doubles_and_turns_round_as_it_was_told_to():
    timeline, broker, air = network(Faults(loss=0.2, duplicate=0.1, reorder=0.1), lambda *_: 0.5)
    _, heard = listener(broker, 4, "x/0/3")
    for number in range(5000):
        timeline.after(number * 1000, lambda n=number: broker.publish(3, "x/0/3", str(n).encode(), False))
    timeline.run_until(60 * US_PER_S)
    counts = air.counts
    assert counts.deliveries == 5000 and len(heard) == 5000 - counts.lost + counts.doubled
    assert 0.57 < counts.lost / 5000 < 0.63  # of 1 − 0.8 · 0.5
    assert 0.08 < counts.doubled / (5000 - counts.lost) < 0.12
    order = [int(payload) for _, payload, _ in heard]
    assert counts.overtaken and order != sorted(order)


def test_a_channel_lets_time_pass_while_it_waits_and_comes_back_from_an_outage():
    timeline, broker, _ = network()
    channel = VirtualChannel("n", broker, timeline)
    channel.subscribe("status/+")
    timeline.after(3 * US_PER_S, lambda: broker.publish(3, "status/3", b"here", False))
    assert channel.next(2.0) is None and channel.now() == 2.0
    arrived = channel.next(9.0)
    assert (
        isinstance(arrived, Message)
        and (arrived.suffix, arrived.at) == ("status/3", channel.now())
        and channel.now() < 4
    )
    broker.go_away(forget=False)
    assert not channel.publish("run", b"one")
    timeline.after(5 * US_PER_S, broker.come_back)
    assert isinstance(channel.next(9.0), Reconnected)
    broker.publish(3, "status/3", b"again", False)
    assert channel.next(1.0).payload == b"again"


def test_an_oscillator_is_as_wrong_as_it_was_drawn_and_never_early():
    clock = Oscillator(awake_ppm=40, asleep_ppm=30_000, jitter_ppm=2_000)
    for wait in (1, 999, 10**6, 3600 * 10**6):
        assert clock.own_us(clock.true_us(wait)) >= wait
    chance = random.Random(1)
    sleeps = [clock.sleep_us(3600 * 10**6, chance) / (3600 * 10**6) for _ in range(200)]
    assert 1 / 1.032 - 1e-6 <= min(sleeps) < max(sleeps) <= 1 / 1.028 + 1e-6


@pytest.mark.parametrize("after", [0, 1, 17, 30])
def test_a_power_cut_leaves_a_part_of_the_append_and_all_that_was_before(after):
    files = SegmentFiles(1 << 16)
    store = Segments(files, "temperature/2")
    store.append(100, (2150,))
    store.sync()
    store.append(200, (2160,))
    files.cut_after = after
    whole = 8 + 9 + 4  # head of a frame, a time and a value, CRC-32: the least that the second append has
    try:
        store.sync()
    except PowerCut:
        assert after < whole
    again = [tuple(row) for row in Segments(files, "temperature/2").readings(0, 1 << 30)]
    assert again[0] == (100, 2150) and len(again) == 1 + (files.cut_after is not None)


def test_a_pace_sleeps_off_what_the_simulation_is_early_by():
    wall, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        wall[0] += seconds

    pace = Pace(10_000.0, clock=lambda: wall[0], sleep=sleep)
    for hour in range(1, 169):
        pace(hour * 3600.0)
    assert wall[0] == pytest.approx(60.48, abs=0.1)
    free = Pace(None, clock=lambda: wall[0], sleep=sleep)
    before = len(slept)
    free(1e9)
    assert len(slept) == before


def test_the_charge_is_the_models_of_what_was_counted():
    meter = Meter(topic_bytes=22, radio_ms=10_000.0, bare_ms=1_000.0, off_ms=3_600_000.0, associations=2)
    # 30 mA · 11 s; the processor alone, 38 mA beyond that for 1 s; 2 · 100 mC; 10 µA for the rest of 23 hours
    rest_s = 23 * 3600 - 11 - 2 * 0.73
    assert meter.mah(86_400) == pytest.approx((30 * 11 + 38 * 1 + 200 + 0.010 * rest_s) / 3600)
