"""The grid: bits, quantising, rounding."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_data import laws

from dcka.reference import bits_for, fit_grid, round_half_up

readings = st.lists(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=3, max_size=3), min_size=1, max_size=12
)


@pytest.mark.parametrize(
    ("n", "bits"),
    [(1, 15), (2, 15), (3, 14), (8, 14), (9, 13), (32, 13), (33, 12), (128, 12), (129, 11), (512, 11)],
)
def test_bits_of_the_protocol(n: int, bits: int) -> None:
    assert bits_for(n) == bits


@pytest.mark.parametrize("n", [0, -1, 513])
def test_dimensions_that_have_no_bits(n: int) -> None:
    with pytest.raises(ValueError, match=str(n)):
        bits_for(n)


@laws
@given(st.integers(1, 512))
def test_no_squared_distance_reaches_2_to_the_31(n: int) -> None:
    widest = 2 ** bits_for(n) - 1
    assert n * widest**2 < 2**31
    assert bits_for(n) == 15 or n * (2 * widest + 1) ** 2 >= 2**31


@laws
@given(readings)
def test_readings_come_back_within_half_a_step(values: list[list[float]]) -> None:
    table = np.array(values)
    spread = float(np.ptp(table, axis=0).max())
    if 0 < spread < 1e-6:
        return  # the offset's own last digit is coarser than such a step
    grid = fit_grid(table)
    points, clipped = grid.quantise(table)
    assert not clipped.any()
    assert np.array_equal(points.max(axis=0), grid.extents)
    assert points.min() == 0
    assert spread == 0 or points.max() == 2**grid.bits - 1
    assert np.abs(grid.to_units(points) - table).max() <= grid.step * 0.5 + 1e-9


def test_one_step_for_all_dimensions_and_half_up() -> None:
    grid = fit_grid([[10.0, -1.0], [10.0 + 32767, 99.0]])
    assert grid.step == 1.0
    assert grid.offset.tolist() == [10.0, -1.0]
    assert grid.extents.tolist() == [32767, 100]
    points, clipped = grid.quantise([[10.5, -0.5], [10.49, 99.5], [11.5, 98.49]])
    assert points.tolist() == [[1, 1], [0, 101], [2, 99]]
    assert clipped.tolist() == [0, 0]


def test_what_is_outside_is_clipped_and_counted() -> None:
    grid = fit_grid([[0.0, 0.0], [32767.0, 10.0]])
    points, clipped = grid.quantise([[-0.6, 5.0], [-0.5, 1e300], [40000.0, -7.0], [3.0, 3.0]])
    assert points.tolist() == [[0, 5], [0, 32767], [32767, 0], [3, 3]]
    assert clipped.tolist() == [2, 2]


def test_constant_dimensions() -> None:
    grid = fit_grid([[14.62, 20.0], [14.62, 30.0]])
    assert grid.extents.tolist() == [0, 32767]
    everywhere = fit_grid([[14.62, 5.0]] * 3)
    assert (everywhere.step, everywhere.extents.tolist()) == (1.0, [0, 0])
    assert everywhere.quantise([[14.62, 5.0]])[0].tolist() == [[0, 0]]
    assert everywhere.to_units([[0, 0]]).tolist() == [[14.62, 5.0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_reading_that_is_no_number_is_named(bad: float) -> None:
    with pytest.raises(ValueError, match="row 2, column 1"):
        fit_grid([[1.0, 2.0], [bad, 3.0]])


def test_ranges_that_float64_cannot_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="too wide"):
        fit_grid([[-1e200], [1e200]])
    with pytest.raises(ValueError, match="too small"):
        fit_grid([[0.0], [1e-310]])
    with pytest.raises(ValueError, match="no readings"):
        fit_grid(np.empty((0, 2)))


@laws
@given(
    st.lists(st.tuples(st.integers(0, 2**63 - 1), st.integers(1, 2**63 - 1)), min_size=1, max_size=8),
)
def test_rounding_is_half_up_and_never_overflows(pairs: list[tuple[int, int]]) -> None:
    sums = np.array([[u] for u, _ in pairs], dtype=np.int64)
    counts = np.array([m for _, m in pairs], dtype=np.int64)
    expected = [floor(Fraction(u, m) + Fraction(1, 2)) for u, m in pairs]
    assert [int(c) for c in round_half_up(sums, counts)[:, 0]] == expected
    assert expected == [(2 * u + m) // (2 * m) for u, m in pairs]


def test_half_goes_up_and_zero_counts_are_refused() -> None:
    sums = np.array([[1], [2], [3], [5]])
    counts = np.array([2, 3, 2, 4])
    assert round_half_up(sums, counts)[:, 0].tolist() == [1, 1, 2, 1]
    with pytest.raises(ValueError, match="keep its centre"):
        round_half_up(np.array([[0]]), np.array([0]))
