"""A clock that wraps: sums and distances across the wrap, and a node that lives through it (case C38)."""

from json import dumps

from bus import Bus
from scenes import PAIR, Scene
from support import raises

from dcka_core import ticks
from dcka_core.actions import PUBLISH
from dcka_core.node import Node
from dcka_core.starts import Stream

PERIOD = 1 << 30
HALF = 1 << 29
# What the case asks for: half a second before the wrap.
BEGIN = PERIOD - 500
LOOK_MS = 50


def test_a_moment_is_moved_on_across_the_wrap():
    assert ticks.PERIOD == PERIOD
    assert ticks.add(BEGIN, 500) == 0
    assert ticks.add(BEGIN, 1500) == 1000
    assert ticks.add(0, -1) == PERIOD - 1
    assert ticks.add(5, 0) == 5


def test_distances_are_right_across_the_wrap():
    assert ticks.diff(1000, BEGIN) == 1500
    assert ticks.diff(BEGIN, 1000) == -1500
    assert ticks.diff(7, 7) == 0


def test_add_and_diff_are_each_others_inverse():
    stream = Stream(1, b"ticks")
    for _ in range(300):
        start = stream.below(PERIOD)
        for delta in (0, 1, -1, stream.below(HALF), -stream.below(HALF), HALF - 1, 1 - HALF):
            end = ticks.add(start, delta)
            assert 0 <= end < PERIOD, (start, delta)
            assert ticks.diff(end, start) == delta, (start, delta)


def test_a_wait_of_half_a_period_is_refused():
    for wait in (HALF, HALF + 1, PERIOD, -HALF, -PERIOD):
        assert str(wait) in str(raises(ValueError, ticks.add, 0, wait))


def test_the_earlier_of_two_moments():
    assert ticks.earliest(None, None) is None
    assert ticks.earliest(3, None) == 3
    assert ticks.earliest(None, 3) == 3
    assert ticks.earliest(BEGIN, 100) == BEGIN
    assert ticks.earliest(100, BEGIN) == BEGIN
    assert ticks.earliest(4, 9) == 4


def watch(node, actions, length_ms):
    """Look at a node every LOOK_MS from BEGIN on: [(time, topic, payload)] of what it says."""
    said = [(0, action[1], action[2]) for action in actions if action[0] == PUBLISH]
    for elapsed in range(0, length_ms, LOOK_MS):
        now = (BEGIN + elapsed) % PERIOD
        due = node.deadline()
        assert 0 <= due < PERIOD
        said.extend([(elapsed, action[1], action[2]) for action in node.tick(now) if action[0] == PUBLISH])
    return said


def gaps(said, topic):
    times = [when for when, where, _ in said if where == topic]
    return [times[place] - times[place - 1] for place in range(1, len(times))]


def new_node(number):
    return Node("t", number, 1, 77, None, b"", 4096, "test", lambda: (0, 0))


def test_heartbeats_keep_their_distance_across_the_wrap():
    node = new_node(1)
    assert gaps(watch(node, node.connected(BEGIN), 60000), "dcka/t/status/1") == [10000] * 5


def settled_node(number):
    """A node whose first status has come back to it."""
    node = new_node(number)
    for action in node.connected(BEGIN):
        node.receive(action[1], action[2].encode(), BEGIN)
    return node


def started(scene, number):
    """A node that has just entered the scene's run, half a second before the wrap, and what it said."""
    node = settled_node(number)
    node.data_loaded(scene.points(number), BEGIN)
    node.receive("dcka/t/rows/%d" % number, dumps(scene.rows()[number]).encode(), BEGIN)
    return node, node.receive("dcka/t/run", dumps(scene.record()).encode(), BEGIN)


def test_patience_with_a_silent_parent_runs_out_once_a_period():
    scene = Scene({1: [1, 2, 3, 4], 2: [5, 6, 7, 8]}, {1: 0, 2: 1}, k=1, patience_ms=2000)
    said = watch(*started(scene, 2), 20000)
    assert gaps(said, "dcka/t/x/0/2") == [2000] * 9


def test_the_timeout_of_a_slot_fires_once_a_slot():
    scene = Scene(
        {1: [1, 2, 3, 4], 2: [5, 6, 7, 8]}, PAIR, k=1, patience_ms=2000, tolerance=0, max_slots=1000
    )
    node, actions = started(scene, 2)
    # Once as the slot begins, once half-way through it.
    assert gaps(watch(node, actions, 20000), "dcka/t/x/0/2") == [1000] * 19
    assert node.ledger[0] == 10


def test_a_tick_before_its_time_does_nothing():
    scene = Scene({1: [1, 2, 3, 4], 2: [5, 6, 7, 8]}, {1: 0, 2: 1}, k=1, patience_ms=2000)
    node, _ = started(scene, 2)
    for elapsed in (0, 499, 500, 501, 1999):
        assert node.tick((BEGIN + elapsed) % PERIOD) == [], elapsed
    assert node.tick((BEGIN + 2000) % PERIOD) != []


def test_a_run_over_the_wrap_ends_as_any_other():
    outcomes = []
    for begin in (0, PERIOD - 150):
        scene = Scene({1: [1, 2, 30, 4], 2: [5, 60, 7, 8]}, {1: 0, 2: 1}, Bus(begin=begin), k=2)
        scene.bus.faults(3, loss=60)
        scene.finish()
        outcomes.append((scene.bus.elapsed, scene.final()))
    assert outcomes[0][0] > 150, outcomes
    assert outcomes[0] == outcomes[1]
