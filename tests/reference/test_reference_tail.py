"""The reference's tail and its forgetting: by hand, and by their definitions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcka.reference import remembered, tail_run, tree_run


def test_a_tail_by_hand() -> None:
    # Distances 0, 1, 4, 9, 16 and 0, 25: of 7 readings a quarter, one, may be beyond.
    run = tail_run([[[0], [1], [2], [3], [4]], [[0], [5]]], [[0]], 250_000)
    assert (run.threshold, run.total, run.steps) == (16, 7, 8)
    assert run.beyond(0).tolist() == [] and run.beyond(1).tolist() == [1]
    assert tail_run([[[0], [5]]], [[0], [5]], 0).threshold == 0


def test_beyond_is_in_the_order_of_the_distance() -> None:
    run = tail_run([[[0], [3], [5], [5], [4], [0], [0], [0], [0], [0]]], [[0]], 450_000)
    assert run.threshold == 0
    assert run.beyond(0).tolist() == [2, 3, 4, 1]


@given(
    st.lists(st.lists(st.integers(0, 32767), max_size=8), min_size=1, max_size=4),
    st.integers(0, 499_999),
    st.sampled_from([2, 4, 16]),
)
def test_the_search_finds_what_sorting_finds(nodes: list[list[int]], tail_ppm: int, bins: int) -> None:
    tables = [np.array(own, dtype=np.int64).reshape(-1, 1) for own in nodes]
    sorted_run = tail_run(tables, [[17], [20000]], tail_ppm, bins=bins)
    everyone = [range(len(nodes))] * sorted_run.steps
    assert (
        tail_run(tables, [[17], [20000]], tail_ppm, bins=bins, present=everyone).threshold
        == sorted_run.threshold
    )
    beyond = sum(len(sorted_run.beyond(node)) for node in range(len(nodes)))
    assert beyond * 1_000_000 <= tail_ppm * sorted_run.total


def test_what_a_tail_refuses() -> None:
    for arguments in (
        ([], [[0]], 0),
        ([[[0]]], [0], 0),
        ([[[0]]], [[0]], 500_000),
        ([[[-1]]], [[0]], 0),
        ([[[0]]], [[32768]], 0),
    ):
        with pytest.raises(ValueError):
            tail_run(*arguments)
    with pytest.raises(ValueError, match="steps"):
        tail_run([[[0]]], [[0]], 0, present=[[0]])


def test_a_half_life_halves() -> None:
    assert remembered([1000, 1, 0, 3], 3600, 3600) == (500, 1, 0, 2)
    assert remembered([1000], 7200, 3600) == (250,)
    assert remembered([1000], 0, 3600) == (1000,)
    # 1000 / √2 = 707.1, 1000 / 2^(3/4) = 594.6.
    assert remembered([1000], 1800, 3600) == (707,) and remembered([1000], 2700, 3600) == (595,)
    assert remembered([1 << 40], 3600 * 50, 3600) == (0,)


@given(st.integers(0, 1 << 40), st.integers(0, 40), st.integers(1, 12))
def test_what_is_remembered_is_the_formula_rounded(weight: int, passed: int, half_life: int) -> None:
    (found,) = remembered([weight], passed, half_life)
    exact = weight * 2.0 ** (-passed / half_life)
    assert abs(found - exact) <= 0.5 + 1e-9 * weight
    # Once more and in two parts differ by roundings alone.
    again = remembered(remembered([weight], passed, half_life), passed, half_life)[0]
    assert abs(again - remembered([weight], 2 * passed, half_life)[0]) <= 1


def test_what_forgetting_refuses() -> None:
    for arguments in (([-1], 1, 1), ([1], -1, 1), ([1], 1, 0)):
        with pytest.raises(ValueError):
            remembered(*arguments)


def test_a_prior_is_points_at_the_start() -> None:
    """One update by hand: (2·10 + 1 + 3) / (2 + 2) = 6, and (0·90 + 100 + 80) / 2 = 90."""
    run = tree_run([[[1], [3]], [[100], [80]]], [4, 7], 2, "given", 0, [255], 1, [[10], [90]], prior=[2, 0])
    assert run.centres.tolist() == [[6], [90]] and run.counts.tolist() == [2, 2]
    assert run.ssd == 81 + 49 + 100 + 100
    # Without readings the centres stay, with weight and without.
    nobody = tree_run([np.empty((0, 1), int)], [1], 2, "given", 0, [255], 9, [[10], [90]], prior=[2, 0])
    assert nobody.converged and nobody.centres.tolist() == [[10], [90]]


def test_a_prior_is_worth_as_many_points_that_never_leave() -> None:
    points = [[1], [3], [40], [100], [80]]
    run = tree_run([points], [1], 2, "given", 0, [255], 30, [[10], [90]], prior=[3, 1])
    centres = [Fraction(10), Fraction(90)]
    while True:
        labels = [min((0, 1), key=lambda k: (abs(x - centres[k]), k)) for (x,) in points]
        own = [[x for (x,), label in zip(points, labels, strict=True) if label == k] for k in (0, 1)]
        after = [
            Fraction((2 * (sum(own[k]) + w * c) + len(own[k]) + w) // (2 * (len(own[k]) + w)))
            for k, (w, c) in enumerate(((3, 10), (1, 90)))
        ]
        if after == centres:
            break
        centres = after
    assert run.converged and [Fraction(int(c)) for (c,) in run.centres] == centres


def test_a_prior_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="prior"):
        tree_run([[[1]]], [1], 1, "given", 0, [255], 1, [[1]], prior=[1, 2])
    with pytest.raises(ValueError, match="prior"):
        tree_run([[[1]]], [1], 1, "shared", 0, [255], 1, prior=[1])
