"""A grid with a step for each column: its laws, its exact way back to the user's units, and what it points out."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dcka.datasets import gaussians, suthaharan
from dcka.inject.dataset import from_values, grid_of
from dcka.inject.errors import DataError
from dcka.inject.fixed_point import decimals_for, to_fixed
from dcka.inject.quantise import Grid, bits_for
from dcka.inject.whole_grid import WholeGrid, fit_whole
from dcka.reference import cka, shared_start, tree_run

SCALES = ["minmax", "std"]
tables = st.tuples(st.integers(1, 30), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-20_000, 20_000))
)


def names_of(values):
    return [f"c{place}" for place in range(values.shape[1])]


def levels_of(values, scale):
    return Grid.fit(values, names_of(values), scale=scale).quantise(values)[0].astype(int)


def test_one_step_for_all_is_what_it_was():
    """Ids of data sets of versions before there was a scale: the grid, and all points on it."""
    assert [data.id.hex() for data in (gaussians(1), gaussians(7, 3, 10), suthaharan())] == [
        "5e2a542254b7a378",
        "904556d88f4d73eb",
        "c0c7109c2e080c9d",
    ]
    grid = gaussians(1).grid
    assert (grid.scale, grid.unit, grid.whole) == ("one", grid.step, None)
    assert "scale" not in gaussians(1).record()


@given(
    st.lists(
        st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(1, 2**50), st.integers(-20, 20)),
        min_size=1,
        max_size=3,
    ),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_a_level_comes_back_as_the_float_nearest_to_its_exact_value(columns, draw):
    bits = bits_for(len(columns))
    top = 2**bits - 1
    low, width, decimals = zip(*columns, strict=True)
    grid = Grid.of_whole(WholeGrid(low, width, (top,) * len(low), decimals, bits), "minmax", ())
    whole = st.integers(0, top)
    level = draw.draw(st.tuples(*[whole | st.floats(0, top)] * len(low)))
    for j, found in enumerate(grid.to_units([level])[0].tolist()):
        ten = Fraction(10) ** decimals[j]
        assert found == float((low[j] + Fraction(width[j]) * Fraction(level[j]) / top) / ten)
    assert grid.offset == tuple(grid.to_units([0] * len(low)).tolist())


@given(tables, st.data())
@settings(max_examples=150, deadline=None)
def test_shift_and_positive_scaling_of_a_column_change_nothing(values, draw):
    columns = values.shape[1]
    factor = np.array(draw.draw(st.tuples(*[st.integers(1, 1000)] * columns)))
    shift = np.array(draw.draw(st.tuples(*[st.integers(-(10**4), 10**4)] * columns)))
    before, after = values.astype(float), (values * factor + shift).astype(float)
    assert (levels_of(after, "minmax") == levels_of(before, "minmax")).all()
    # The deviations are the same to the bit; a width is rounded up to a whole number of readings.
    assert np.abs(levels_of(after, "std") - levels_of(before, "std")).max() <= 1
    # In other decimal places the whole numbers are the same, and so is everything.
    tens = 10.0 ** np.array(draw.draw(st.tuples(*[st.integers(-3, 3)] * columns)))
    for scale in SCALES:
        moved = np.where(tens < 1, before / (1 / tens), before * tens)
        assert np.abs(levels_of(moved, scale) - levels_of(before, scale)).max() <= (scale == "std")


@given(tables)
@settings(max_examples=100, deadline=None)
def test_minmax_is_min_max_scaling_up_to_half_a_level(values):
    values = values / 7
    grid = Grid.fit(values, names_of(values), scale="minmax")
    levels, clipped = grid.quantise(values)
    span = np.ptp(values, axis=0)
    unit = (values - values.min(axis=0)) / np.where(span > 0, span, 1)
    # A decimal place is below a thirtieth of a level here.
    assert np.abs(levels / (2**grid.bits - 1) - unit).max() <= 0.53 * grid.unit
    assert clipped == (0,) * values.shape[1]
    error = np.abs(grid.to_units(levels) - values)
    assert (error <= np.where(span > 0, np.array(grid.steps) * 0.53, 1e-6)).all()


def mixed(rows=600):
    """Three clouds whose columns have nothing in common: strain, pressure in Pa, light in lux."""
    stream = np.random.default_rng(5)
    clouds = np.array([[0, 0, 0], [6, 2, 9], [3, 9, 1]])[np.arange(rows) % 3] + stream.normal(size=(rows, 3))
    return clouds * [1e-6, 40.0, 5e4] + [2e-5, 101325.0, 0.0]


def test_clustering_on_it_is_clustering_of_min_max_scaled_readings():
    values = mixed()
    data = from_values("mixed", ("strain", "pressure", "light"), {1: values}, scale="minmax")
    made = tree_run([data.points[1]], [1], 3, "shared", 3, data.grid.extents, 100)
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    start = (data.grid.to_units(shared_start(data.grid.extents, 3, 3)) - low) / span
    central = cka((values - low) / span, start, 100)
    centres = (data.grid.to_units(made.centres) - low) / span
    assert np.abs(centres - central.centres).max() < 2e-4
    assert made.ssd * data.grid.unit**2 == pytest.approx(central.ssd, rel=1e-4)


def test_std_gives_every_column_the_same_deviation_and_fills_the_grid():
    values = mixed()
    grid = Grid.fit(values, ["a", "b", "c"], scale="std")
    levels = grid.quantise(values)[0]
    deviations = levels.std(axis=0)
    assert deviations == pytest.approx([deviations[0]] * 3, rel=1e-3)
    assert max(grid.extents) == 2**grid.bits - 1
    assert levels.max(axis=0).tolist() == list(grid.extents)


@pytest.mark.parametrize("scale", SCALES)
def test_columns_of_any_size_keep_their_levels(scale):
    names = ["strain", "pressure", "light"]
    grid = Grid.fit(mixed(), names, scale=scale)
    assert grid.warnings(mixed(), names) == ()
    assert min(grid.extents) > 8000
    assert len(Grid.fit(mixed(), names).warnings(mixed(), names)) == 2  # all but light are lost beside it


@pytest.mark.parametrize("scale", SCALES)
def test_the_record_gives_the_grid_back(scale):
    data = from_values("mixed", ("a", "b", "c"), {1: mixed(), 2: np.zeros((0, 3))}, scale=scale)
    record = json.loads(json.dumps(data.record()))
    assert grid_of(record) == data.grid
    assert (record["scale"], "step" in record) == (scale, False)
    assert [float(text) for text in record["steps"]] == list(data.grid.steps)
    with pytest.raises(ValueError, match="has a step for each dimension"):
        _ = data.grid.step


@pytest.mark.parametrize(
    "change",
    [{"scale": "two"}, {"low": [1, 2]}, {"width": [0, 1, 1]}, {"decimals": [10**9, 0, 0]}],
)
def test_a_record_that_states_no_grid_is_refused(change):
    record = from_values("mixed", ("a", "b", "c"), {1: mixed()}, scale="std").record()
    with pytest.raises(ValueError):
        grid_of({**record, **change})


@pytest.mark.parametrize("scale", SCALES)
def test_a_constant_column_is_named_and_takes_no_part(scale):
    values = np.column_stack([np.full(50, 14.62), np.arange(50.0)])
    grid = Grid.fit(values, ["v", "t"], scale=scale)
    levels, _ = grid.quantise(values)
    assert grid.constant == ("v",) and not levels[:, 0].any()
    assert levels[:, 1].tolist() == levels_of(values[:, 1:], scale)[:, 0].tolist()
    (warning,) = grid.warnings(values, ["v", "t"])
    assert warning.startswith('column "v" is constant: there is no spread to scale it by')


def test_readings_beyond_a_given_range_are_clipped_and_counted():
    values = np.array([[0.0, 1.0], [50.0, 2.0], [-3.0, 9.0], [1e38, 3.0]])
    grid = Grid.fit(values, ["a", "b"], range=[(0.0, 100.0), (0.0, 4.0)], scale="minmax")
    levels, clipped = grid.quantise(values)
    assert clipped == (2, 1)
    assert levels[:, 0].tolist() == [0, 16384, 0, 32767]


def test_a_few_readings_far_outside_are_pointed_out():
    values = np.append(np.linspace(0, 1, 300), 1e6)[:, None]
    (warning,) = Grid.fit(values, ["t"], scale="minmax").warnings(values, ["t"])
    assert 'column "t": 301 distinct readings fall on 2 levels' in warning
    assert 'range = "quantile"' in warning


def test_a_constant_that_takes_the_room_is_pointed_out():
    values = (1e15 + np.arange(100.0))[:, None]
    (warning, _) = Grid.fit(values, ["ns"], scale="minmax").warnings(values, ["ns"])
    assert warning.startswith('column "ns": its readings are kept to') and "take it off" in warning


@pytest.mark.parametrize(
    ("values", "most", "found"),
    [
        ([21.5, -3.25], 9, (2, True)),
        ([0.1, 0.2, 0.30000000000000004], 9, (9, False)),
        ([1 / 3], 9, (9, False)),
        ([100.5, 1 / 3], 9, (7, False)),
        ([5.0, 7.0], 9, (0, True)),
        ([2.0**31], 9, None),
    ],
)
def test_decimals_are_the_fewest_that_are_exact(values, most, found):
    assert decimals_for(np.array(values), 2.0**31 - 1, 0, most) == found


@given(st.lists(st.decimals(-2000, 2000, places=4), min_size=1, max_size=20))
@settings(deadline=None)
def test_decimal_texts_are_whole_numbers_of_their_places(texts):
    values = np.array([float(text) for text in texts])
    found = decimals_for(values, 2.0**31 - 1, 0, 9)
    assert found is not None and found[1] and found[0] <= 4
    assert to_fixed(values, 4).tolist() == [int(text * 10**4) for text in texts]


def test_numbers_of_no_size_that_fits_are_refused():
    with pytest.raises(DataError, match="too large to be scaled"):
        fit_whole(np.array([[1e60], [0.0]]), None, "minmax", 15)
