"""What `dcka bench airtime` counts, against counts by hand: a line of three nodes, and the model's bytes and charge."""

import numpy as np
import pytest
from bench_instances import line, small

from dcka.bench.charge import worst_node_mah
from dcka.bench.methods import METHODS, Bench, measure
from dcka.bench.traffic import Traffic
from dcka.energy import ESP32


@pytest.fixture(scope="module")
def bench():
    return Bench.of(small(line()))


@pytest.fixture(scope="module")
def results(bench):
    return measure(bench)


def test_every_method_is_measured(results):
    assert tuple(results) == METHODS


def test_our_tree_on_a_line_of_three(bench, results):
    """Root 2: a step has two sums and a commit that two hear; at the end both leaves say the final one, unheard."""
    ours, steps = results["ours"], bench.steps
    assert ours.traffic.broadcasts == 3 * steps + 2
    assert ours.traffic.deliveries == 4 * steps
    assert ours.slots == 2 * steps
    assert ours.traffic.sent.tolist() == [steps + 1, steps, steps + 1]
    assert ours.parts["up"][0] == 2 * steps
    assert sum(count for kind, (count, _) in ours.parts.items() if kind != "up") == steps + 2
    assert sum(size for _, size in ours.parts.values()) == ours.traffic.payload_bytes


def test_set_up_on_a_line_of_three(results):
    """Three rows, one run record that three hear, three statuses that come back to their senders. Topics: a leaf has
    the commits and epochs of its parent, the root the sums and epochs of both leaves."""
    setup = results["ours"].setup
    assert (setup.host_sent, setup.sent.tolist()) == (4, [1, 1, 1])
    assert setup.deliveries == 3 + 3 + 3
    assert setup.asked.tolist() == [2, 4, 2]


def test_the_float_tree_on_a_line_of_three(bench, results):
    """Head of 5 bytes, K·(n + 1) floats up, K·n down."""
    tree, steps = results["tree_float32"], bench.steps
    assert (tree.traffic.broadcasts, tree.traffic.deliveries, tree.slots) == (3 * steps, 4 * steps, 2 * steps)
    assert tree.traffic.payload_bytes == steps * (2 * (5 + 4 * 2 * 3) + (5 + 4 * 2 * 2))


def test_the_paper_on_a_line_of_three(results):
    """All three send in each slot, and four hear: 5 bytes of head, one of slot, K·(n + 1) floats."""
    for name in ("paper", "paper_1e-2", "paper_1e-4", "gossip_full_graph"):
        paper = results[name]
        assert paper.traffic.broadcasts == 3 * paper.slots
        assert paper.traffic.deliveries == 4 * paper.slots
        assert paper.traffic.payload_bytes == 3 * paper.slots * (6 + 4 * 2 * 3)
    assert results["paper_1e-2"].slots <= results["paper"].slots <= results["paper_1e-4"].slots
    assert results["paper_changed_only"].slots == results["paper"].slots


def test_raw_readings_on_a_line_of_three(results):
    """Two leaves with 12 readings of two u16 in one message each; then one commit for both."""
    raw = results["raw_upload"]
    assert (raw.traffic.sent.tolist(), raw.traffic.heard.tolist(), raw.slots) == ([1, 1, 1], [1, 2, 1], 2)
    assert raw.traffic.bytes_sent[0] == 5 + 12 * 2 * 2
    assert raw.exact and raw.bit_identical


def test_raw_readings_are_passed_on_hop_by_hop():
    """Line of five, root 3: nodes 1 and 5 send theirs, 2 and 4 pass these on after their own."""
    raw = measure(Bench.of(small(line(5), readings=300)))["raw_upload"]
    assert raw.traffic.sent.tolist() == [2, 5, 1, 5, 2]
    assert raw.slots == 4 + 2


def test_star_sends_every_sum_to_the_root():
    bench = Bench.of(small(line(5)))
    star, steps = measure(bench)["star"], bench.steps
    assert star.traffic.broadcasts == 5 * steps + 4
    assert star.traffic.deliveries == 8 * steps
    assert star.slots == 2 * steps


def test_wire_bytes_are_the_ledgers():
    """66 bytes a message each way, and 40 back; the host's broadcast is on the wire where it is heard."""
    traffic = Traffic((7, 9))
    traffic.message(7, 10, [9])
    traffic.message(None, 100, [7, 9])
    traffic.asked[0] += 1
    assert (traffic.broadcasts, traffic.deliveries, traffic.payload_bytes) == (2, 3, 110)
    one_way = 66 + 40
    assert traffic.wire_bytes == (10 + one_way) + (10 + one_way) + 2 * (100 + one_way) + one_way


def test_slots_of_many_messages_at_once():
    hears = np.array([[False, True, False], [True, False, True], [False, True, False]])
    traffic = Traffic((1, 2, 3))
    traffic.slots(np.array([[10, 20, 0], [1, 2, 3]]), hears)
    assert traffic.sent.tolist() == [2, 2, 1]
    assert traffic.bytes_sent.tolist() == [11, 22, 3]
    assert traffic.heard.tolist() == [2, 3, 2]
    assert traffic.bytes_heard.tolist() == [22, 14, 22]


def test_the_charge_of_a_node_that_is_awake_and_silent():
    """Ten slots of a second at 30 mA, and one association; the other node has no slot, and sleeps."""
    work = np.array([[True, False]] * 10)
    expected = (30 * 10 + 100) / 3600
    assert worst_node_mah(Traffic((1, 2)), work, 1, [0, 0]) == pytest.approx(expected)


def test_long_gaps_are_slept_through():
    """One slot of work in ten: asleep for nine, but for the time of associating again."""
    work = np.array([[True]] + [[False]] * 9)
    light = 9 - ESP32.association_ms / 1000
    expected = 5 * (30 * 1 + 0.8 * light + 100) / 3600 + 100 / 3600
    assert worst_node_mah(Traffic((1,)), work, 5, [0]) == pytest.approx(expected)
