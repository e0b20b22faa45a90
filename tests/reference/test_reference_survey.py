"""The survey's reference, against small cases worked out by hand and against exact fractions."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_data import laws

from dcka.reference import ReadingsGrid, deviations, readings_grid, survey_run

whole = st.integers(-(2**31), 2**31 - 1)


def test_ranks_by_hand() -> None:
    found = survey_run([[[5, 0], [1, 0]], [[9, 0], [-3, 4], [2, 0]]], 15, tail_ppm=200_000)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 0], [5, 0])
    assert found.grid == ReadingsGrid((1, 0), (4, 1), (32767, 0), 15)
    assert found.steps == 8


def test_a_node_that_is_only_in_the_first_step() -> None:
    """Its reading sets the first digit of both ends; below that, what is left of the others counts."""
    tables = [[[0], [10]], [[-(2**31)]]]
    present = [[0, 1]] + [[0]] * 7
    found = survey_run(tables, 15, present=present)
    # The low end stays in the lowest sixteenth, where nobody is left: so its lowest bounds have all above them, and
    # every digit is the last.
    assert (found.low.tolist(), found.high.tolist()) == ([-(2**31) + 2**28 - 1], [10])


def test_deviations_by_hand() -> None:
    # Half of the readings at each end: the deviation is half the range. One in four: √(3/16) of it.
    assert deviations([[0], [7]], [0], [7]) == (2**31,)
    assert deviations([[0], [0], [0], [8]], [0], [8]) == (floor(Fraction(2**64 * 3, 16) ** 0.5),)
    assert deviations([[3], [3]], [3], [3]) == (0,)


def test_widths_by_hand() -> None:
    low, high = [0, -10, 4], [100, 10, 4]
    assert readings_grid(low, high, "one", 11).width == (100, 100, 100)
    assert readings_grid(low, high, "minmax", 11).width == (100, 20, 1)
    # A third of its range and a half of its range: the first has the finer levels for its deviation.
    assert readings_grid(low, high, "std", 11, [2**32 // 3, 2**31, 0]).width == (100, 31, 1)


@laws
@given(st.lists(whole, min_size=1, max_size=8), whole, st.integers(1, 2**63), st.integers(1, 15))
def test_levels_are_the_nearest_half_up(readings: list[int], low: int, width: int, bits: int) -> None:
    grid = ReadingsGrid((low,), (width,), (0,), bits)
    levels, clipped = grid.quantise(np.array(readings, dtype=np.int64)[:, None])
    top = 2**bits - 1
    exact = [floor(Fraction((x - low) * top, width) + Fraction(1, 2)) for x in readings]
    assert levels[:, 0].tolist() == [min(max(q, 0), top) for q in exact]
    assert clipped.tolist() == [sum(not 0 <= q <= top for q in exact)]


def test_back_to_units() -> None:
    grid = ReadingsGrid((-150, 20), (400, 3), (32767, 32767), 15)
    assert grid.exact([0, 32767], 2) == [Fraction(-3, 2), Fraction(23, 100)]
    assert grid.to_units([[0, 0], [32767, 32767]], 1).tolist() == [[-15.0, 2.0], [25.0, 2.3]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bins": 8}, "8 bins"),
        ({"tail_ppm": 500_000}, "500000 ppm"),
        ({"scale": "two"}, "two"),
        ({"bits": 16}, "16 bits"),
        ({"present": [[0]]}, "8"),
        ({"node_readings": [[[0.5]]]}, "whole numbers"),
        ({"node_readings": [[[2**31]]]}, "32 bits"),
        ({"node_readings": []}, "no nodes"),
    ],
)
def test_what_is_refused(change: dict[str, object], words: str) -> None:
    asked: dict[str, object] = {"node_readings": [[[1], [2]]], "bits": 15, **change}
    with pytest.raises(ValueError, match=words):
        survey_run(asked.pop("node_readings"), asked.pop("bits"), **asked)  # type: ignore[arg-type]
