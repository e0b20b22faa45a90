"""Central K-means: values computed by hand, and laws."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference_data import MEANS, laws, nine_gaussians, tables

from dcka.reference import assign, cka, cka_grid, fit_grid, kmeans_plus_plus, random_points_start, ssd


def test_the_lowest_index_wins_a_tie() -> None:
    points = np.array([[2], [4], [3], [9]])
    assert assign(points, np.array([[2], [4], [4]])).tolist() == [0, 1, 0, 1]
    assert assign(points, np.array([[4], [2], [4]])).tolist() == [1, 0, 0, 0]
    assert assign(points + 0.5, np.array([[2.5], [4.5]])).tolist() == [0, 1, 0, 1]


def test_distances_of_uint16_do_not_wrap_around() -> None:
    points = np.array([[0, 0], [32767, 32767]], dtype=np.uint16)
    centres = np.array([[32767, 32767], [1, 0]], dtype=np.uint16)
    assert assign(points, centres).tolist() == [1, 0]
    assert cka_grid(points, centres).centres.tolist() == [[32767, 32767], [0, 0]]


def test_whole_numbers_too_large_to_square_are_compared_in_float64() -> None:
    assert assign(np.array([[2**40], [0]]), np.array([[0], [2**40]])).tolist() == [1, 0]
    assert assign(np.array([[-(2**40)], [5]]), np.array([[0], [-(2**40)]])).tolist() == [1, 0]


def test_two_steps_by_hand() -> None:
    points = np.array([[0], [1], [4], [5], [12]])
    run = cka_grid(points, np.array([[0], [4]]))
    # {0, 1 | 4, 5, 12}: 1/2 rounds up to 1, 21/3 = 7; then {0, 1, 4 | 5, 12}: 4 is nearer to 1 by a tie
    assert [step.centres[:, 0].tolist() for step in run.steps[:3]] == [[0, 4], [1, 7], [2, 9]]
    assert [step.counts.tolist() for step in run.steps[:2]] == [[2, 3], [3, 2]]
    assert [step.ssd for step in run.steps[:2]] == [0 + 1 + 0 + 1 + 64, 1 + 0 + 9 + 4 + 25]
    # {0, 1, 4, 5 | 12}: 10/4 rounds up to 3, 12; it stays
    assert run.centres[:, 0].tolist() == [3, 12]
    assert (run.counts.tolist(), run.ssd, run.converged) == ([4, 1], 9 + 4 + 1 + 4 + 0, True)
    assert run.labels.tolist() == [0, 0, 0, 0, 1]


def test_an_empty_cluster_keeps_its_centre() -> None:
    points = np.array([[0, 0], [2, 0]])
    run = cka_grid(points, np.array([[1, 0], [9, 9], [1, 0]]))
    assert run.centres.tolist() == [[1, 0], [9, 9], [1, 0]]
    assert run.counts.tolist() == [2, 0, 0]
    assert np.array_equal(cka(points, [[1.0, 0.0], [9.0, 9.0]]).centres, [[1, 0], [9, 9]])


def test_the_step_limit_ends_a_run_with_labels_of_its_last_centres() -> None:
    points = np.array([[0], [1], [4], [5], [12]])
    run = cka_grid(points, np.array([[0], [4]]), max_steps=1)
    assert (run.converged, len(run.steps), run.centres[:, 0].tolist()) == (False, 1, [1, 7])
    assert (run.counts.tolist(), run.ssd) == ([3, 2], 39)


@laws
@given(tables(20), tables(5), st.randoms(use_true_random=False))
def test_grid_laws(points: NDArray[np.int64], start: NDArray[np.int64], random: object) -> None:
    """The SSD never rises, the run ends, the counts add up, and the order of points is irrelevant."""
    assume(len(start) > 0)
    run = cka_grid(points, start)
    trace = [step.ssd for step in run.steps] + [run.ssd]
    assert all(later <= earlier for earlier, later in pairwise(trace))
    assert run.converged
    assert int(run.counts.sum()) == len(points)
    order = np.random.default_rng(len(points)).permutation(len(points))
    other = cka_grid(points[order], start)
    assert np.array_equal(other.centres, run.centres)
    assert (other.ssd, other.counts.tolist(), len(other.steps)) == (
        run.ssd,
        run.counts.tolist(),
        len(run.steps),
    )


@laws
@given(tables(12, n=3, largest=16383), tables(4, n=3, largest=16383))
def test_assignment_against_the_definition(points: NDArray[np.int64], centres: NDArray[np.int64]) -> None:
    assume(len(centres) > 0)
    for point, label in zip(points.tolist(), assign(points, centres).tolist(), strict=True):
        distances = [sum((a - b) ** 2 for a, b in zip(point, c, strict=True)) for c in centres.tolist()]
        assert label == distances.index(min(distances))


def test_blocks_of_points_give_what_one_block_gives() -> None:
    rng = np.random.default_rng(5)
    points = rng.integers(0, 32768, (3000, 2))
    centres = rng.integers(0, 32768, (100, 2))
    whole = ((points[:, None, :] - centres) ** 2).sum(axis=2)
    assert np.array_equal(assign(points, centres), whole.argmin(axis=1))


def test_c01_fewer_distinct_points_than_clusters() -> None:
    points = np.repeat([[0, 0], [10, 0], [0, 10]], 4, axis=0)
    for run in (cka(points, points[:5]), cka_grid(points, points[:5])):
        assert run.converged
        assert len(run.steps) <= 10
        assert not np.isnan(run.centres).any()
        assert int(run.counts.sum()) == 12
        # Four equal centres at the origin. The first takes all but (10, 0) and moves to (0, 5); the second,
        # left where it was, then takes the origin, and the first moves on to (0, 10).
        assert run.counts.tolist() == [4, 4, 0, 0, 4]
        assert run.ssd == 0


def test_c03_a_large_common_offset_leaves_the_centres_within_their_data() -> None:
    values = np.tile([[101325.00], [101325.05]], (1000, 1))
    run = cka(values, values[:2])
    assert np.abs(run.centres - values[:2]).max() <= 0.008
    assert run.counts.tolist() == [1000, 1000]
    grid = fit_grid(values)
    on_grid = cka_grid(grid.quantise(values)[0], grid.quantise(values[:2])[0])
    assert np.abs(grid.to_units(on_grid.centres) - values[:2]).max() <= 0.008
    assert on_grid.counts.tolist() == [1000, 1000]


def test_c04_squares_that_single_precision_cannot_hold() -> None:
    values = np.array([[2e19], [-2e19], [2.1e19], [-2.1e19]])
    assert cka(values, values[:2]).labels.tolist() == [0, 1, 0, 1]
    grid = fit_grid(values)
    points = grid.quantise(values)[0]
    assert cka_grid(points, points[:2]).labels.tolist() == [0, 1, 0, 1]
    for bad in (1e200, float("1e400")):
        with pytest.raises(ValueError, match="the points"):
            cka([[bad], [-bad]], [[0.0]])


def test_the_grid_loses_nothing_on_nine_gaussians() -> None:
    points = np.concatenate(nine_gaussians(1))
    grid = fit_grid(points)
    start, _ = grid.quantise(MEANS)
    on_grid = cka_grid(grid.quantise(points)[0], start)
    in_float = cka(points, grid.to_units(start))
    assert abs(ssd(points, grid.to_units(on_grid.centres)) / in_float.ssd - 1) < 1e-6
    assert abs(on_grid.ssd * grid.step**2 / in_float.ssd - 1) < 1e-4
    assert np.abs(in_float.centres - MEANS).max() < 0.3


def test_kmeans_plus_plus_starts_lower_than_random_points() -> None:
    points = np.concatenate(nine_gaussians(2))
    rng = np.random.default_rng(4)
    plain = np.mean([ssd(points, random_points_start(points, 9, rng)) for _ in range(40)])
    seeded = np.mean([ssd(points, kmeans_plus_plus(points, 9, rng)) for _ in range(40)])
    assert seeded < plain


@pytest.mark.parametrize(
    ("points", "start", "says"),
    [
        ([[0.0, 1.0]], [[0, 1]], "quantise first"),
        ([[0, 1]], [[0, 40000]], "0 to 40000"),
        ([[0, -1]], [[0, 1]], "-1"),
        ([[0, 1]], [[0]], "2 dimensions and the centres 1"),
        ([[0, 1]], np.empty((0, 2)), "no centre"),
    ],
)
def test_what_is_not_on_the_grid_is_refused(points: object, start: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cka_grid(points, start)
