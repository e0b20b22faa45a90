"""The grid: its definition by hand, what rounding may cost, and the readings that it cannot take."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dcka.inject.errors import DataError
from dcka.inject.quantise import Grid, bits_for

readings = st.floats(-1e12, 1e12) | st.floats(-1e-12, 1e-12) | st.floats(-(2.0**127), 2.0**127)
tables = st.tuples(st.integers(1, 30), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=readings)
)


def names_of(values):
    return [f"c{place}" for place in range(values.shape[1])]


@pytest.mark.parametrize(
    ("dimensions", "bits"),
    [(1, 15), (2, 15), (3, 14), (8, 14), (9, 13), (32, 13), (33, 12), (128, 12), (129, 11), (512, 11)],
)
def test_bits_by_the_rule(dimensions, bits):
    assert bits_for(dimensions) == bits
    assert dimensions * (2**bits - 1) ** 2 < 2**31
    assert bits == 15 or dimensions * (2 ** (bits + 1) - 1) ** 2 >= 2**31


@pytest.mark.parametrize("dimensions", [0, 513])
def test_dimensions_without_bits_are_refused_with_their_number(dimensions):
    with pytest.raises(DataError, match=f"^{dimensions} dimensions: a node takes 1 to 512"):
        bits_for(dimensions)


def test_a_grid_by_hand():
    values = np.array([[10.0, -1.0], [10.0 + 32767.0, 0.0], [10.5, 0.4]])
    grid = Grid.fit(values, ["a", "b"])
    assert grid == Grid(offset=(10.0, -1.0), steps=(1.0, 1.0), bits=15, extents=(32767, 1))
    levels, clipped = grid.quantise(values)
    assert levels.tolist() == [[0, 0], [32767, 1], [1, 1]]  # 0.5 goes up, 1.4 down
    assert clipped == (0, 0)
    assert grid.to_units([[1, 1], [2.5, 0]]).tolist() == [[11.0, 0.0], [12.5, -1.0]]


@given(tables)
@settings(max_examples=150, deadline=None)
def test_rounding_costs_half_a_step_at_most(values):
    grid = Grid.fit(values, names_of(values))
    levels, clipped = grid.quantise(values)
    error = np.abs(grid.to_units(levels) - values)
    # Half a step, and the last bits of the float arithmetic on the way there and back.
    slack = 4 * np.spacing(np.abs(values).max(axis=0) + grid.step)
    assert (error <= grid.step / 2 * (1 + 1e-9) + slack).all()
    assert clipped == (0,) * values.shape[1]
    assert (levels <= np.array(grid.extents)).all()
    assert levels.min(axis=0).tolist() == [0] * values.shape[1]
    assert levels.max(axis=0).tolist() == list(grid.extents)


@given(tables)
@settings(max_examples=100, deadline=None)
def test_the_definition_in_plain_python_gives_the_same_levels(values):
    grid = Grid.fit(values, names_of(values))
    levels, _ = grid.quantise(values)
    for row, quantised in zip(values.tolist(), levels.tolist(), strict=True):
        for j, (value, level) in enumerate(zip(row, quantised, strict=True)):
            exact = math.floor((value - grid.offset[j]) / grid.step + 0.5)
            assert level == min(max(exact, 0), 2**grid.bits - 1)


@given(tables)
@settings(max_examples=100, deadline=None)
def test_order_is_kept_within_a_column(values):
    levels, _ = Grid.fit(values, names_of(values)).quantise(values)
    for column, quantised in zip(values.T, levels.T, strict=True):
        order = np.argsort(column, kind="stable")
        assert (np.diff(quantised[order].astype(int)) >= 0).all()


def test_one_step_for_all_columns_keeps_the_shape_of_space():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(200, 2)) * [1.0, 100.0]
    grid = Grid.fit(values, ["narrow", "wide"])
    assert grid.extents[1] == 32767 and grid.extents[0] < 700
    between = np.linalg.norm(values[:-1] - values[1:], axis=1)
    levels = grid.quantise(values)[0].astype(float)
    on_grid = np.linalg.norm(levels[:-1] - levels[1:], axis=1) * grid.step
    assert np.abs(on_grid - between).max() < grid.step * math.sqrt(2)


def test_a_constant_column_is_named_and_changes_nothing():
    varying = np.repeat([20.0, 30.0], 500)
    for constant in (14.62, 101325.05, 0.0):
        both = np.column_stack([np.full(1000, constant), varying])
        grid = Grid.fit(both, ["v", "t"])
        levels, _ = grid.quantise(both)
        assert grid.constant == ("v",)
        assert not levels[:, 0].any()
        alone, _ = Grid.fit(varying[:, None], ["t"]).quantise(varying[:, None])
        assert (levels[:, 1] == alone[:, 0]).all()


def test_columns_that_are_all_constant_get_a_step_of_one():
    grid = Grid.fit(np.full((5, 2), 3.25), ["a", "b"])
    assert grid == Grid((3.25, 3.25), (1.0, 1.0), 15, (0, 0), ("a", "b"))


def test_a_large_common_offset_costs_nothing():
    pressure = np.tile([101325.00, 101325.05], 1000)[:, None]
    grid = Grid.fit(pressure, ["pressure_pa"])
    levels, _ = grid.quantise(pressure)
    assert np.unique(levels).tolist() == [0, 32767]
    assert np.abs(grid.to_units(levels) - pressure).max() < 1e-9


def test_ids_and_epoch_seconds_stay_distinct():
    for first, gap in ((16777216, 1), (1700000000, 60)):
        values = np.array([[first, 20.1], [first + gap, 35.2], [first + 2 * gap, 20.3]])
        levels, _ = Grid.fit(values, ["id", "temp"]).quantise(values)
        assert len(np.unique(levels[:, 0])) == 3


def test_readings_outside_an_explicit_range_are_clipped_and_counted():
    values = np.array([[-5.0, 1.0], [0.0, 2.0], [50.0, 9.0], [101.0, 3.0], [1e38, 4.0]])
    grid = Grid.fit(values, ["hum", "t"], range=[(0.0, 100.0), (0.0, 5.0)])
    levels, clipped = grid.quantise(values)
    assert (grid.offset, grid.extents, clipped) == ((0.0, 0.0), (32767, 1638), (3, 0))
    assert levels[:, 0].tolist() == [0, 0, 16384, 32767, 32767]
    assert levels[2, 1] == 2949  # above its own range, and held by the grid
    (warning,) = [text for text in grid.warnings(values, ["hum", "t"]) if "above the range" in text]
    assert warning.startswith('column "t": 1 reading above the range given for it, up to 9;')


@pytest.mark.parametrize("bounds", [(2.0, 1.0), (math.nan, 1.0), (0.0, math.inf), (-1e39, 0.0)])
def test_a_range_that_is_none_is_refused_by_its_column(bounds):
    with pytest.raises(DataError, match=r'^range of "hum"'):
        Grid.fit(np.zeros((2, 2)), ["t", "hum"], range=[(0.0, 1.0), bounds])
    with pytest.raises(DataError, match=r"^1 ranges for 2 columns"):
        Grid.fit(np.zeros((2, 2)), ["t", "hum"], range=[(0.0, 1.0)])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39])
def test_what_is_no_reading_is_refused_by_its_column(value):
    with pytest.raises(DataError, match=r'^column "hum" holds NaN'):
        Grid.fit(np.array([[1.0, 2.0], [3.0, value]]), ["t", "hum"])
    with pytest.raises(DataError, match="need a row or more"):
        Grid.fit(np.zeros((0, 1)), ["t"])


def test_a_column_that_loses_its_shape_is_named_with_the_one_that_takes_the_room():
    rng = np.random.default_rng(1)
    values = np.column_stack(
        [rng.uniform(2.9, 3.0, 300), rng.uniform(0, 5e4, 300), rng.integers(0, 9, 300) * 1e4]
    )
    names = ["volt", "light", "few"]
    (warning,) = Grid.fit(values, names).warnings(values, names)
    assert warning.startswith('column "volt": 300 distinct readings fall on 1 level')
    assert '"few" sets it' in warning


def test_a_column_of_few_values_that_all_keep_their_own_level_is_no_warning():
    values = np.column_stack([np.arange(300) % 3, np.arange(300) * 7.0])
    assert Grid.fit(values, ["a", "b"]).warnings(values, ["a", "b"]) == ()


def test_a_spread_below_the_smallest_float_does_not_divide_by_zero():
    values = np.array([[0.0], [5e-324]])
    grid = Grid.fit(values, ["v"])
    assert grid.step > 0
    assert grid.warnings(values, ["v"])
