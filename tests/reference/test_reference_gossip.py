"""`gossip` on the grid: mass, the messages written out, and what it comes to."""

from fractions import Fraction
from math import floor

import message_model
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference_data import laws, networks, nine_gaussians, schedules, tables

from dcka.reference import (
    GossipRules,
    Link,
    check_step,
    cka_grid,
    experiment1_phases,
    experiment2_phases,
    fit_grid,
    flood_slots,
    fraction_bits,
    gossip_run,
    gossip_tolerance,
    shared_start,
    tree_run,
)
from dcka.reference.mass import centres_of, estimated_counts, exchange, groups, window_spread

EXTENTS = [32767, 32767]
FIVE = [1, 2, 3, 4, 5]


def window_for(phases: list[list[Link]], ids: list[int]) -> int:
    """The shortest window that reaches every node."""
    return len(phases) * max(1, -(-flood_slots(phases, ids) // len(phases)))


def experiment_1(seed: int) -> tuple[list[NDArray[np.uint16]], NDArray[np.int64]]:
    values = nine_gaussians(seed)
    grid = fit_grid(np.concatenate(values))
    return [grid.quantise(own)[0] for own in values], grid.extents


@laws
@given(st.data())
def test_mass_is_conserved_to_the_last_bit_and_never_negative(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(1, 99), min_size=1, max_size=5, unique=True))
    share = (2**63 - 1) // len(ids)
    flat = data.draw(st.lists(st.integers(0, share), min_size=6 * len(ids), max_size=6 * len(ids)))
    x = np.array(flat, dtype=np.int64).reshape(len(ids), 2, 3)
    total = x.astype(object).sum(axis=0)
    for phase in data.draw(schedules(ids)) * 3:
        x = exchange(x, groups(phase, ids))
        assert (x.astype(object).sum(axis=0) == total).all()
        assert int(x.min()) >= 0


def test_shares_by_hand() -> None:
    sends = groups([(1, 2), (2, 3)], [1, 2, 3])  # degrees 1, 2, 1: every link has divisor 3
    assert sends == [(0, 3, [1]), (1, 3, [0, 2]), (2, 3, [1])]
    x = np.array([[[10, 1]], [[5, 7]], [[0, 9]]])
    assert exchange(x, sends).tolist() == [
        [[10 - 3 + 1, 1 - 0 + 2]],
        [[5 - 2 + 3, 7 - 4 + 3]],
        [[1, 9 - 3 + 2]],
    ]
    star = groups([(1, 2), (1, 3), (2, 3), (3, 4)], [1, 2, 3, 4])
    assert star[:3] == [(0, 3, [1]), (0, 4, [2]), (1, 3, [0])]


@laws
@given(st.data())
def test_nodes_that_run_ahead_of_each_other_do_what_the_reference_does(data: st.DataObject) -> None:
    nodes, ids = data.draw(networks(rows=5))
    phases = data.draw(schedules(ids))
    window = window_for(phases, ids) + len(phases) * data.draw(st.integers(0, 1))
    tolerance = data.draw(st.integers(0, 40))
    rules = GossipRules(phases, window, tolerance, max_slots=data.draw(st.integers(1, 6 * window)))
    k, init = data.draw(st.integers(1, 3)), data.draw(st.sampled_from(["local", "shared"]))
    run = gossip_run(nodes, ids, k, init, 1, EXTENTS, 3, rules, keep_slots=True)
    width = 15 + sum(map(len, nodes)).bit_length() + run.f + 1
    for step in run.steps:
        model = message_model.run_step(
            step.inputs.astype(object) * 2**run.f, ids, phases, window, tolerance, rules.max_slots, width,
            step.moved.tolist(), data.draw(st.integers(0, 99)),
        )  # fmt: skip
        assert step.x is not None
        for i, node in enumerate(model):
            assert node.x == step.x[-1][i].tolist()
            assert (node.slot + 1, node.decided) == (step.slots, step.decided)
            if node.decided:
                assert node.window is not None
                assert node.window.moved == bool(step.moved.any())


@laws
@given(st.data())
def test_a_decided_step_is_within_its_tolerance(data: st.DataObject) -> None:
    nodes, ids = data.draw(networks(rows=30))
    phases = data.draw(schedules(ids))
    rules = GossipRules(phases, window_for(phases, ids), 24, max_slots=400)
    run = gossip_run(nodes, ids, 3, "shared", data.draw(st.integers(0, 999)), EXTENTS, 30, rules)
    for step in run.steps:
        assert step.decided
        assert step.slots >= 2 * rules.window
        assert step.window_spread is not None
        assert step.window_spread <= 24
        assert check_step(step.inputs, step.centres, gossip_tolerance(24)).within
        assert step.kept.tolist() == [(step.inputs[..., 0].sum(axis=0) == 0).tolist()] * len(ids)
    if run.converged:
        assert not run.steps[-1].moved.any()
        assert all(step.moved.any() for step in run.steps[:-1])


@laws
@given(st.data())
def test_the_order_of_nodes_is_irrelevant(data: st.DataObject) -> None:
    nodes, ids = data.draw(networks())
    phases = data.draw(schedules(ids))
    rules = GossipRules(phases, window_for(phases, ids), 16, max_slots=100)
    run = gossip_run(nodes, ids, 2, "local", 3, EXTENTS, 5, rules)
    other = gossip_run(nodes[::-1], ids[::-1], 2, "local", 3, EXTENTS, 5, rules)
    assert np.array_equal(other.centres[::-1], run.centres)
    assert [step.slots for step in other.steps] == [step.slots for step in run.steps]


@laws
@given(tables(20), tables(4).filter(len))
def test_one_node_is_plain_kmeans(points: NDArray[np.int64], start: NDArray[np.int64]) -> None:
    rules = GossipRules([[]], 1, 0, max_slots=10)
    run = gossip_run([points], [1], len(start), "given", 0, EXTENTS, 100, rules, given=start)
    central = cka_grid(points, start)
    assert np.array_equal(run.centres[0], central.centres)
    assert [int(step.ssd[0]) for step in run.steps[: len(central.steps)]] == [s.ssd for s in central.steps]
    assert [step.counts[0].tolist() for step in run.steps[: len(central.steps)]] == [
        s.counts.tolist() for s in central.steps
    ]
    # a gossiping node ends a step later than the central run: when it finds that it came in unmoved
    assert (len(run.steps), run.converged) == (len(central.steps) + 1, True)
    assert {step.slots for step in run.steps} == {2}


@laws
@given(st.data())
def test_one_slot_of_a_complete_graph_is_the_central_algorithm(data: st.DataObject) -> None:
    nodes, ids = data.draw(networks())
    complete = [(a, b) for a in ids for b in ids if a < b]
    start = data.draw(tables(3).filter(len))
    rules = GossipRules([complete], 1, 0, max_slots=1, slots=1)
    run = gossip_run(nodes, ids, len(start), "given", 0, EXTENTS, 1, rules, given=start)
    assert check_step(run.steps[0].inputs, run.centres, 0.6).within  # 0.5 to round, 0.1 for the floors


def test_experiment_1_on_its_switching_topology() -> None:
    nodes, extents = experiment_1(1)
    for init in ("local", "shared"):
        rules = GossipRules(experiment1_phases(), 4, 16, max_slots=200)
        run = gossip_run(nodes, FIVE, 9, init, 1, extents, 100, rules)
        exact = tree_run(nodes, FIVE, 9, init, 1, extents, 100)
        assert run.converged
        assert all(check_step(step.inputs, step.centres, gossip_tolerance(16)).within for step in run.steps)
        assert int(run.ssd.sum()) == pytest.approx(exact.ssd, rel=1e-6)
        assert run.steps[-1].counts.sum(axis=1).tolist() == pytest.approx([4500] * 5, abs=9)
        assert np.abs(run.centres - exact.centres).max() <= 8


def test_experiment_2_mixes_over_three_phases() -> None:
    rng = np.random.default_rng(1)
    nodes = [rng.integers(0, 32768, (50, 2)) for _ in range(20)]
    rules = GossipRules(experiment2_phases(), 9, 32, max_slots=900)
    run = gossip_run(nodes, list(range(1, 21)), 4, "shared", 2, EXTENTS, 4, rules)
    assert all(step.decided and step.slots > 18 for step in run.steps)
    assert all(check_step(step.inputs, step.centres, gossip_tolerance(32)).within for step in run.steps)


def test_fixed_slots_take_what_they_get() -> None:
    nodes, extents = experiment_1(2)
    rules = GossipRules(experiment1_phases(), 2, 0, max_slots=4, slots=4)
    run = gossip_run(nodes, FIVE, 9, "shared", 1, extents, 100, rules, keep_slots=True)
    assert {(step.slots, step.decided) for step in run.steps} == {(4, True)}
    assert run.steps[0].x is not None
    assert run.steps[0].x.shape == (5, 5, 9, 3)
    assert np.array_equal(run.steps[0].x[0], run.steps[0].inputs << run.f)
    exact = tree_run(nodes, FIVE, 9, "shared", 1, extents, 100)
    assert int(run.ssd.sum()) == pytest.approx(exact.ssd, rel=1e-3)


def test_a_step_ended_at_max_slots_is_undecided_and_does_not_end_the_run() -> None:
    line = [[(1, 2), (2, 3), (3, 4)]]
    nodes = [np.array([[1000 * i, 0]] * 3) for i in range(4)]
    run = gossip_run(nodes, [1, 2, 3, 4], 1, "shared", 1, [3000, 0], 6, GossipRules(line, 3, 0, max_slots=3))
    assert len(run.steps) == 6
    assert not run.converged
    assert {(step.slots, step.decided) for step in run.steps} == {(3, False)}
    assert run.steps[0].spread is not None
    assert run.steps[0].window_spread == 3000 * 256
    assert not run.steps[-1].moved.any()


def test_mass_that_has_not_arrived_keeps_the_centre_and_shows() -> None:
    line = [[(1, 2), (2, 3)]]
    nodes = [np.array([[7, 7]]), np.array([[0, 0]]), np.array([[0, 0]])]
    rules = GossipRules(line, 2, 0, max_slots=1)
    run = gossip_run(nodes, [1, 2, 3], 2, "given", 1, [7, 7], 1, rules, given=[[0, 0], [9, 9]])
    step = run.steps[0]
    assert step.kept.tolist() == [[False, False], [False, False], [False, True]]
    assert run.centres[:, 1].tolist() == [[7, 7], [7, 7], [9, 9]]
    assert (step.spread, step.window_spread) == (None, None)


def test_in_step_0_of_local_a_cluster_without_mass_takes_its_shared_centre() -> None:
    ids = list(range(1, 9))
    rows = np.array([[0, 0], [1, 0], [0, 1], [100, 100], [101, 100], [50, 0], [51, 0]])
    nodes = [rows[i : i + 1] for i in range(7)] + [np.empty((0, 2), dtype=np.int64)]
    ring = [[(i, i % 8 + 1) for i in ids]]
    run = gossip_run(nodes, ids, 3, "local", 4, [101, 100], 50, GossipRules(ring, 4, 64, max_slots=200))
    first = run.steps[0]
    assert first.before == (None,) * 8
    assert first.kept.all()
    assert first.decided
    assert first.centres.tolist() == [shared_start([101, 100], 3, 4).tolist()] * 8
    assert run.steps[1].moved.all()
    assert int(run.steps[-1].inputs[..., 0].sum()) == 7
    twins = gossip_run(
        [np.array([[5, 5]] * 3)] * 2, [1, 2], 2, "local", 4, [9, 9], 9, GossipRules([[(1, 2)]], 1, 16, 9)
    )
    assert twins.steps[0].kept.tolist() == [[False, True]] * 2
    assert np.array_equal(twins.steps[0].centres[:, 1], [shared_start([9, 9], 2, 4)[1]] * 2)


def test_a_ratio_lifted_above_the_grid_is_its_end() -> None:
    x = np.array([[[1, 100000]], [[2**20, 2**20 * 5 + 2**19]], [[0, 3]]])
    centres, empty = centres_of(x, np.full((3, 1, 1), 77), 15)
    assert centres[:, 0, 0].tolist() == [32767, 6, 77]
    assert empty[:, 0].tolist() == [False, False, True]


@laws
@given(st.lists(st.tuples(st.integers(0, 2**48), st.integers(0, 2**63 - 1)), min_size=1, max_size=6))
def test_windows_and_counts_against_fractions(pairs: list[tuple[int, int]]) -> None:
    x = np.array([[pair] for pair in pairs], dtype=np.int64)
    expected = [floor(len(pairs) * Fraction(m, 2**30) + Fraction(1, 2)) for m, _ in pairs]
    assert estimated_counts(x, 30)[:, 0].tolist() == expected
    if all(m == 0 for m, _ in pairs):
        assert window_spread(x) == 0
    elif any(m == 0 for m, _ in pairs):
        assert window_spread(x) is None
    else:
        # A message carries levels up to 2^23: what floors lift higher is cut there.
        low_to_high = sorted(min(floor(256 * Fraction(u, m)), 2**23) for m, u in pairs)
        assert window_spread(x) == low_to_high[-1] - low_to_high[0]


def test_half_a_point_counts_as_one() -> None:
    x = np.array([[[2**29, 0]], [[2**29 - 1, 0]], [[0, 0]]])
    assert estimated_counts(x, 30)[:, 0].tolist() == [2, 1, 0]  # 3/2, just less, 0


def test_fraction_bits_and_their_limit() -> None:
    assert [fraction_bits(n, 1, 15) for n in (1, 2, 3, 4, 5, 20)] == [20, 21, 22, 22, 23, 25]
    assert fraction_bits(20, 2**23 - 1, 15) == 25  # 15 + 23 + 25 = 63
    with pytest.raises(ValueError, match="64 bits"):
        fraction_bits(20, 2**23, 15)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"phases": []}, "at least one phase"),
        ({"window": 3}, "no multiple of the 2 phases"),
        ({"window": 0}, "window of 0"),
        ({"slots": 3}, "no multiple of the window"),
        ({"slots": 200}, "max_slots = 100"),
        ({"max_slots": 0}, "max_slots = 0"),
        ({"tolerance": -1}, "negative"),
        ({"phases": [[(1, 2)], [(3, 4)]]}, r"2 parts \(1, 2; 3, 4\)"),
        ({"phases": [[(1, 2), (2, 3), (3, 4)]] * 2}, "needs 3 slots"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(change: dict[str, object], says: str) -> None:
    rules: dict[str, object] = {
        "phases": [[(1, 2), (3, 4)], [(2, 3)]], "window": 4, "tolerance": 4, "max_slots": 100,
    }  # fmt: skip
    if "needs" in says:
        rules["window"] = 2
    with pytest.raises(ValueError, match=says):
        gossip_run([[[1]]] * 4, [1, 2, 3, 4], 1, "shared", 1, [9], 3, GossipRules(**(rules | change)))  # type: ignore[arg-type]
