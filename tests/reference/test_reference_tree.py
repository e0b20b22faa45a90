"""`tree` on the grid: the law is that it is plain K-means of everything, however it is spread and ordered."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference_data import laws, networks, nine_gaussians, tables

from dcka.reference import cka, cka_grid, fit_grid, local_start, shared_start, ssd, tree_run

EXTENTS = [32767, 32767]


@laws
@given(networks(), tables(4).filter(len))
def test_a_common_start_gives_the_central_run(
    network: tuple[list[NDArray[np.int64]], list[int]], start: NDArray[np.int64]
) -> None:
    nodes, ids = network
    run = tree_run(nodes, ids, len(start), "given", 0, EXTENTS, 100, given=start)
    central = cka_grid(np.concatenate(nodes), start, 100)
    assert (run.converged, run.final, run.missing) == (True, True, frozenset())
    assert len(run.steps) == len(central.steps)
    for step, plain in zip(run.steps, central.steps, strict=True):
        assert step.before is not None
        assert np.array_equal(step.before, plain.centres)
        assert (step.counts.tolist(), step.ssd) == (plain.counts.tolist(), plain.ssd)
        assert step.empty.tolist() == (plain.counts == 0).tolist()
        assert step.contributors == frozenset(ids)
    assert np.array_equal(run.centres, central.centres)
    assert (run.counts.tolist(), run.ssd) == (central.counts.tolist(), central.ssd)


@laws
@given(networks(), st.integers(1, 4), st.integers(0, 2**63 - 1), st.sampled_from(["local", "shared"]))
def test_the_order_of_nodes_is_irrelevant_and_points_move_freely_under_shared(
    network: tuple[list[NDArray[np.int64]], list[int]], k: int, seed: int, init: str
) -> None:
    nodes, ids = network
    run = tree_run(nodes, ids, k, init, seed, EXTENTS, 100)
    turned = tree_run(nodes[::-1], ids[::-1], k, init, seed, EXTENTS, 100)
    together = [np.concatenate(nodes)[::-1]] + [np.empty((0, 2), dtype=np.int64)] * (len(nodes) - 1)
    for other in [turned] + [tree_run(together, ids, k, init, seed, EXTENTS, 100)] * (init == "shared"):
        assert [s.centres.tolist() for s in other.steps] == [s.centres.tolist() for s in run.steps]
        assert [(s.counts.tolist(), s.ssd) for s in other.steps] == [
            (s.counts.tolist(), s.ssd) for s in run.steps
        ]
        assert other.converged == run.converged


@laws
@given(networks(), st.integers(1, 4), st.integers(0, 2**63 - 1))
def test_step_0_of_local_by_the_definition(
    network: tuple[list[NDArray[np.int64]], list[int]], k: int, seed: int
) -> None:
    nodes, ids = network
    run = tree_run(nodes, ids, k, "local", seed, EXTENTS, 100)
    counts, sums, total = [0] * k, [[0, 0] for _ in range(k)], 0
    for points, node in zip(nodes, ids, strict=True):
        own = local_start(points, k, seed, node)
        for x, y in points.tolist() if own is not None else []:
            assert own is not None
            squared = [(x - a) ** 2 + (y - b) ** 2 for a, b in own.tolist()]
            nearest = squared.index(min(squared))
            counts[nearest] += 1
            sums[nearest] = [sums[nearest][0] + x, sums[nearest][1] + y]
            total += min(squared)
    shared = shared_start(EXTENTS, k, seed).tolist()
    expected = [
        [(2 * u + m) // (2 * m) for u in sums[i]] if (m := counts[i]) else shared[i] for i in range(k)
    ]
    step = run.steps[0]
    assert step.before is None
    assert (step.centres.tolist(), step.counts.tolist(), step.ssd) == (expected, counts, total)
    if len(run.steps) > 1:
        later = tree_run(nodes, ids, k, "given", seed, EXTENTS, 99, given=step.centres)
        assert np.array_equal(later.centres, run.centres)
        assert len(later.steps) == len(run.steps) - 1


def test_step_0_of_local_never_counts_as_converged() -> None:
    """One point everywhere: the first commit is each node's own draw, but none knows that of the others."""
    run = tree_run([np.array([[5, 5]])] * 3, [1, 2, 3], 1, "local", 1, EXTENTS, 100)
    assert [step.centres.tolist() for step in run.steps] == [[[5, 5]], [[5, 5]]]
    assert run.converged


def test_c08_all_orders_give_the_same_bits() -> None:
    rng = np.random.default_rng(8)
    nodes = [rng.integers(0, 32768, (40, 2)) for _ in range(3)]
    seen = set()
    for order in permutations(range(3)):
        run = tree_run([nodes[i] for i in order], [7 + i for i in order], 4, "local", 5, EXTENTS, 50)
        seen.add((run.centres.tobytes(), run.counts.tobytes(), run.ssd, len(run.steps)))
    assert len(seen) == 1


def test_c10_more_nodes_than_rows() -> None:
    rows = np.array([[0, 0], [1, 0], [0, 1], [100, 100], [101, 100], [50, 0], [51, 0]])
    nodes = [rows[i : i + 1] for i in range(7)] + [np.empty((0, 2), dtype=np.int64)]
    ids = list(range(1, 9))
    for init in ("shared", "given"):
        start = rows[[0, 3, 5]] if init == "given" else None
        run = tree_run(nodes, ids, 3, init, 4, [101, 100], 100, given=start)
        whole = tree_run([rows], [1], 3, init, 4, [101, 100], 100, given=start)
        assert np.array_equal(run.centres, whole.centres)
        assert (int(run.counts.sum()), run.ssd) == (7, whole.ssd)
    local = tree_run(nodes, ids, 3, "local", 4, [101, 100], 100)
    assert local.starts == (None,) * 8
    assert local.steps[0].counts.tolist() == [0, 0, 0]
    assert local.steps[0].empty.all()
    assert np.array_equal(local.steps[0].centres, shared_start([101, 100], 3, 4))
    assert int(local.counts.sum()) == 7


def test_experiment_1_ends_with_the_ssd_of_float64() -> None:
    values = nine_gaussians(1)
    grid = fit_grid(np.concatenate(values))
    nodes = [grid.quantise(own)[0] for own in values]
    run = tree_run(nodes, [1, 2, 3, 4, 5], 9, "local", 1, grid.extents, 100)
    central = cka(np.concatenate(values), grid.to_units(run.steps[0].centres))
    assert run.converged
    assert abs(ssd(np.concatenate(values), grid.to_units(run.centres)) / central.ssd - 1) <= 1e-5


def test_a_replay_adds_exactly_those_who_were_in() -> None:
    rng = np.random.default_rng(2)
    nodes = [rng.integers(0, 1000, (30, 2)) for _ in range(4)]
    ids = [3, 1, 9, 5]
    who = [{3, 1, 9, 5}, {3, 9}, {3, 1, 9}]
    run = tree_run(nodes, ids, 3, "shared", 6, [999, 999], 50, contributors=who)
    assert (len(run.steps), run.final, run.converged) == (3, False, False)
    assert run.missing == {1, 5}
    for step, present in zip(run.steps, who, strict=True):
        assert step.contributors == present
        part = np.concatenate([own for own, node in zip(nodes, ids, strict=True) if node in present])
        assert step.before is not None
        plain = cka_grid(part, step.before, 1)
        assert np.array_equal(step.centres, plain.centres)
        assert step.ssd == plain.steps[0].ssd
    full = tree_run(nodes, ids, 3, "shared", 6, [999, 999], 50, contributors=[set(ids)] * 50)
    plainly = tree_run(nodes, ids, 3, "shared", 6, [999, 999], 50)
    assert [s.ssd for s in full.steps] == [s.ssd for s in plainly.steps]
    assert (full.final, full.missing) == (True, frozenset())


def test_the_step_limit_is_final_but_not_converged() -> None:
    nodes = [np.array([[0], [1], [4], [5], [12]])]
    run = tree_run(nodes, [1], 2, "given", 0, [12], 1, given=[[0], [4]])
    assert (run.final, run.converged, run.centres[:, 0].tolist()) == (True, False, [1, 7])
    assert (run.counts.tolist(), run.ssd) == ([2, 3], 66)  # of the centres before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"init": "best"}, "'best' is unknown"),
        ({"init": "given"}, "needs its centres"),
        ({"init": "given", "given": [[1, 1]]}, r"not \(2, 2\)"),
        ({"k": 0}, "K is 0"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"seed": -1}, "seed -1"),
        ({"node_ids": [1, 1]}, "must differ"),
        ({"node_ids": [0, 1]}, "within 1 and 65535"),
        ({"node_ids": [1]}, "do not fit 1 node ids"),
        ({"node_points": [], "node_ids": []}, "at least one node"),
        ({"node_points": [[[1, 2]], [[3, 32768]]]}, "points of node 2 runs from 3 to 32768"),
        ({"node_points": [[[1, 2]], [[3]]]}, "Node 2 has points of 1 dimensions"),
        ({"extents": [5, 70000]}, "the extents"),
        ({"contributors": []}, "at least one step"),
        ({"contributors": [[]]}, "at least one contributor"),
        ({"contributors": [[1, 4]]}, r"\[4\] are not nodes"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], says: str) -> None:
    call: dict[str, object] = {
        "node_points": [[[1, 2]], [[3, 4]]], "node_ids": [1, 2], "k": 2, "init": "shared", "seed": 1,
        "extents": [9, 9], "max_steps": 5,
    }  # fmt: skip
    with pytest.raises(ValueError, match=says):
        tree_run(**(call | change))  # type: ignore[arg-type]
