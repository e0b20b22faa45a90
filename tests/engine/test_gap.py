"""The gap statistic: by hand where there is nothing to draw, and on data whose K is known."""

import math

import numpy as np
import pytest

from dcka.engine import EngineError
from dcka.engine.gap import Gap, gap_statistic, plus_plus


def clouds(seed=1, places=((0, 0), (9, 0), (0, 9))):
    draw = np.random.default_rng(seed)
    return np.concatenate([draw.normal(place, 0.6, (60, 2)) for place in places])


def test_one_cluster_by_hand():
    """K = 1 has one optimum: W is the SSD around the mean, of the readings and of each set."""
    points, seed, sets = clouds(), 4, 6
    [found] = gap_statistic(points, [1], sets, seed)
    around = lambda table: math.log(np.square(table - table.mean(axis=0)).sum())  # noqa: E731
    streams = np.random.default_rng(seed).spawn(sets + 1)
    logs = [around(one.uniform(points.min(axis=0), points.max(axis=0), points.shape)) for one in streams[1:]]
    assert found.gap == pytest.approx(np.mean(logs) - around(points), rel=1e-9)
    assert found.se == pytest.approx(np.std(logs) * math.sqrt(1 + 1 / sets), rel=1e-9)


def test_three_clouds_have_their_largest_jump_at_three():
    found = gap_statistic(clouds(), range(1, 6), 8, 1)
    gaps = [one.gap for one in found]
    assert max(range(5), key=gaps.__getitem__) == 2
    assert gaps[2] >= gaps[3] - found[3].se
    assert all(gaps[i] < gaps[i + 1] - found[i + 1].se for i in range(2))


def test_uniform_points_have_no_gap():
    points = np.random.default_rng(2).uniform(0, 1, (300, 2))
    assert all(abs(one.gap) < 0.1 for one in gap_statistic(points, range(1, 5), 10, 3))


def test_the_seed_decides_and_progress_is_told():
    told = []
    first = gap_statistic(clouds(), [2, 3], 3, 5, lambda done, total: told.append((done, total)))
    assert first == gap_statistic(clouds(), [2, 3], 3, 5)
    assert first != gap_statistic(clouds(), [2, 3], 3, 6)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert isinstance(first[0], Gap)


@pytest.mark.parametrize(
    ("ks", "sets", "words"),
    [
        ([3], 3, "from 1 to 2, less than the 3 distinct"),
        ([0], 3, "from 1 to 2"),
        ([], 3, "from 1"),
        ([2], 1, "1 reference"),
    ],
)
def test_what_it_refuses(ks, sets, words):
    with pytest.raises(EngineError, match=words):
        gap_statistic([[0, 0], [0, 0], [1, 1], [2, 2]], ks, sets, 1)


def test_plus_plus_takes_points_far_apart():
    table = np.array([[0.0, 0.0]] * 50 + [[9.0, 0.0]] + [[0.0, 9.0]])
    for seed in range(5):
        picked = plus_plus(table, 3, np.random.default_rng(seed))
        assert len(np.unique(picked, axis=0)) == 3
