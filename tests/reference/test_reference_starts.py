"""Starting centres."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference_data import laws, tables

from dcka.reference import Stream, kmeans_plus_plus, local_start, random_points_start, shared_start


@laws
@given(tables(12), st.integers(1, 6), st.integers(0, 2**63 - 1), st.integers(1, 65535))
def test_local_draws_k_rows_of_different_index(
    points: NDArray[np.int64], k: int, seed: int, node: int
) -> None:
    centres = local_start(points, k, seed, node)
    if len(points) < k:
        assert centres is None
        return
    assert centres is not None
    stream = Stream(seed, b"local" + bytes([node % 256, node // 256, 0, 0]))
    order: dict[int, None] = {}
    while len(order) < k:
        order[stream.below(len(points))] = None
    assert centres.tolist() == points[list(order)].tolist()


def test_local_with_k_points_takes_them_all_and_differs_by_node() -> None:
    points = np.arange(20).reshape(10, 2)
    assert sorted(map(tuple, local_start(points, 10, 1, 1).tolist())) == sorted(map(tuple, points.tolist()))  # type: ignore[union-attr]
    draws = {tuple(local_start(points, 4, 1, node).ravel().tolist()) for node in range(1, 9)}  # type: ignore[union-attr]
    assert len(draws) > 1


@laws
@given(st.lists(st.integers(0, 32767), min_size=1, max_size=4), st.integers(1, 6), st.integers(0, 2**63 - 1))
def test_shared_is_cluster_by_cluster_within_the_extents(extents: list[int], k: int, seed: int) -> None:
    centres = shared_start(extents, k, seed)
    stream = Stream(seed, b"shared")
    assert centres.tolist() == [[stream.below(e + 1) for e in extents] for _ in range(k)]
    assert (centres <= np.array(extents)).all()


def test_random_points_are_distinct_rows() -> None:
    points = np.arange(12.0).reshape(6, 2)
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = {tuple(row) for row in random_points_start(points, 6, rng).tolist()}
        assert len(rows) == 6
    with pytest.raises(ValueError, match="7 starting points"):
        random_points_start(points, 7, rng)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_kmeans_plus_plus_draws_by_squared_distance(kind: type) -> None:
    points: NDArray[np.int64] = np.array([[0], [0], [1], [3]], dtype=kind)
    rng = np.random.default_rng(7)
    draws = 6000
    seen: dict[tuple[int, int], int] = {}
    for _ in range(draws):
        a, b = kmeans_plus_plus(points, 2, rng)[:, 0]
        seen[int(a), int(b)] = seen.get((int(a), int(b)), 0) + 1
    expected = {
        (0, 1): 0.5 * 1 / 10, (0, 3): 0.5 * 9 / 10,
        (1, 0): 0.25 * 2 / 6, (1, 3): 0.25 * 4 / 6,
        (3, 0): 0.25 * 18 / 22, (3, 1): 0.25 * 4 / 22,
    }  # fmt: skip
    assert set(seen) == set(expected)
    chi_square = sum((seen[pair] - draws * p) ** 2 / (draws * p) for pair, p in expected.items())
    assert chi_square < 20.5  # 5 degrees of freedom: exceeded once in a thousand seeds


def test_kmeans_plus_plus_needs_k_distinct_points() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="Only 2 of the points are distinct"):
        kmeans_plus_plus(np.array([[1, 1], [1, 1], [2, 2]]), 3, rng)
    with pytest.raises(ValueError, match="from 1 points"):
        kmeans_plus_plus(np.array([[1, 1]]), 2, rng)
    with pytest.raises(ValueError, match="uint16"):
        kmeans_plus_plus(np.array([[1, 1], [2, 2]], dtype=np.uint16), 1, rng)  # type: ignore[type-var]


def test_kmeans_plus_plus_is_exact_where_float64_is_not() -> None:
    """A weight of 1 beside 2^60 stays a weight: every draw is either, none falls beside."""
    points = np.array([[0], [1], [2**30]], dtype=np.int64)
    rng = np.random.default_rng(3)
    for _ in range(50):
        start = kmeans_plus_plus(points, 3, rng)
        assert sorted(start[:, 0].tolist()) == [0, 1, 2**30]
