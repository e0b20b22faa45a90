"""The pace and the time as records, and who is told of them: over a connection without a broker."""

import json
import time

import pytest

from dcka.errors import UsageError
from dcka.mqtt import Message
from dcka.runs import pace as pacing
from dcka_core.clock import read_beacon
from dcka_core.rota import read_pace

NOW = 1_796_000_000.25


class Quiet:
    """What a Timekeeper and `publish` use of a connection."""

    def __init__(self):
        self.said = []
        self.waiting = []

    def now(self):
        return time.monotonic()

    def subscribe(self, *suffixes):
        pass

    def unsubscribe(self, *suffixes):
        pass

    def publish(self, suffix, payload, retain=False):
        self.said.append((suffix, payload, retain))
        return True

    def flush(self, timeout):
        pass

    def ask(self, *suffixes):
        pass

    def reject(self, suffix, reason):
        raise AssertionError((suffix, reason))

    def next(self, timeout):
        return self.waiting.pop(0) if self.waiting else None

    def brings(self, suffix, record, retained=False):
        self.waiting.append(Message(suffix, json.dumps(record).encode(), retained, time.monotonic()))


def status(node, state, **more):
    return {"v": 1, "node": node, "boot": 1, "nonce": node, "state": state, **more}


def test_a_beacon_is_what_a_node_reads():
    second, ms = read_beacon(pacing.beacon(NOW))
    assert (second, ms) == (1_796_000_000 - 1_577_836_800, 250)
    assert pacing.unix(pacing.seconds(NOW)) == 1_796_000_000


def test_a_pace_is_what_a_node_reads():
    there = Quiet()
    pacing.publish(there, pacing.pace_of(3600, 200_000_000, 20))
    pacing.publish(there, None)
    (suffix, record, retained), (_, none, kept) = there.said
    assert (suffix, retained, kept) == ("pace", True, True)
    found = read_pace(json.loads(json.dumps(record)))
    assert (found.every_s, found.at, found.awake_s, found.done) == (3600, 200_000_000, 20, -1)
    assert read_pace(json.loads(json.dumps(none))) is None


@pytest.mark.parametrize(
    ("every", "at", "awake"), [(9, 5, 20), (40 * 86_400, 5, 20), (60, 0, 20), (60, 5, 0), (60, 1 << 30, 20)]
)
def test_a_pace_that_no_node_would_take_is_refused(every, at, awake):
    with pytest.raises(UsageError):
        pacing.pace_of(every, at, awake)


def test_whoever_speaks_is_told_the_time_and_sleepers_are_not():
    there = Quiet()
    keeper = pacing.Timekeeper(there)
    # Those who were awake before.
    assert [suffix for suffix, _, _ in there.said] == ["time"]
    there.brings("status/1", status(1, "asleep", until_ms=5000))
    there.brings("status/2", status(2, "offline"))
    for _ in range(5):
        keeper.turn(0)
    assert keeper.told == 1
    for node in (3, 4, 5):
        there.brings(f"status/{node}", status(node, "ready"))
    end = time.monotonic() + 5
    while keeper.told < 2 and time.monotonic() < end:
        keeper.turn(0.01)
    # Nodes that wake together are told once.
    assert keeper.told == 2 and not there.waiting
    assert all(not retain for _, _, retain in there.said)


def test_what_the_broker_keeps_is_read():
    there = Quiet()
    assert pacing.published(there, 0.01) is None
    there.brings("pace", {"v": 1, "every_s": 60, "at": 7, "awake_s": 5, "done": 3}, retained=True)
    assert pacing.published(there).done == 3


def test_the_next_clustering_is_one_that_is_still_to_come():
    pace = pacing.pace_of(100, pacing.seconds(NOW) + 50, 5)
    assert pacing.next_start(pace, NOW) == (0, pacing.unix(pace.at))
    assert pacing.next_start(pace, NOW + 50)[0] == 1
    pace.done = 4
    assert pacing.next_start(pace, NOW)[0] == 5
    network = pacing.Paced(Quiet(), pace)
    network.finished(9)
    network.finished(7)
    assert [record["done"] for _, record, _ in network.connection.said] == [9, 9]
