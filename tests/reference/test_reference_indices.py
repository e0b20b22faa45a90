"""The reference's indices: by hand, and against scikit-learn and the formulas in floating point."""

from fractions import Fraction

import numpy as np
import pytest

from dcka.reference import indices
from dcka.reference.indices import LOG2_2PI, LOG2_E, bic, log2_bits, silhouettes

BY_HAND = np.array([[0], [2], [10], [12]]), np.array([[1], [11]])


def test_four_points_by_hand():
    found = indices(*BY_HAND)
    assert found.counts.tolist() == [2, 2]
    assert (found.ssd, found.spread) == (4, 104)
    assert found.calinski_harabasz == 50
    assert found.silhouettes == 2 * (2 * 32768 - 32768 // 11 - 32768 // 9)
    assert found.bic == -20 * 2**32 - 4 * LOG2_2PI - 2 * LOG2_E


def test_what_has_no_index():
    exact = indices([[1], [11], [11]], [[1], [11]])
    assert (exact.ssd, exact.calinski_harabasz, exact.bic) == (0, None, None)
    few = indices([[0], [9]], [[1], [11]])
    assert (few.calinski_harabasz, few.bic) == (None, None)
    one = indices([[0], [9]], [[5]])
    assert one.calinski_harabasz is None and one.bic is not None and one.silhouettes == 0
    none = indices(np.empty((0, 2), np.int64), [[1, 2], [3, 4]])
    assert (none.ssd, none.spread, none.silhouettes, none.bic) == (0, 0, 0, None)
    with pytest.raises(ValueError, match="more points than clusters"):
        bic([1, 1], 2, 5)
    with pytest.raises(ValueError, match="outside a grid"):
        indices([[40000, 1]], [[1, 2]])


def test_silhouettes_of_ties_and_of_points_on_centres():
    centres = np.array([[0, 0], [10, 0], [10, 0]])
    found = silhouettes(np.array([[0, 0], [5, 0], [10, 0], [4, 0]]), centres)
    assert found.tolist() == [32768, 0, 0, 32768 - 32768 * 4 // 6]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_beside_scikit_learn_and_the_formulas(n):
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(n)
    points = np.concatenate([draw.normal(size=(90, n)) * 300 + place for place in (2000, 4000, 7500)])
    points = np.clip(points.round(), 0, 2**14 - 1).astype(np.int64)
    centres = np.array([points[90 * i : 90 * i + 90].mean(axis=0).round() for i in range(3)]).astype(np.int64)
    found = indices(points, centres)
    labels = np.square(points[:, None] - centres[None]).sum(axis=2).argmin(axis=1)
    wanted = metrics.calinski_harabasz_score(points, labels)
    assert float(found.calinski_harabasz) == pytest.approx(wanted, rel=1e-5)  # its centres are not rounded
    near = np.sort(np.sqrt(np.square(points[:, None] - centres[None]).sum(axis=2)), axis=1)
    assert found.silhouettes / 2**15 == pytest.approx(
        (1 - near[:, 0] / near[:, 1]).sum(), abs=len(points) / 2**15
    )
    total, k = len(points), 3
    variance = found.ssd / (n * (total - k))
    fit = (found.counts * np.log(found.counts / total)).sum()
    fit -= total * n / 2 * np.log(2 * np.pi * variance) + n * (total - k) / 2
    assert found.bic / 2**33 * np.log(2) == pytest.approx(fit - k * (n + 1) / 2 * np.log(total), rel=1e-8)
    assert isinstance(found.calinski_harabasz, Fraction)


def test_logarithms_are_cut_off_below():
    assert [log2_bits(1 << e) for e in (0, 1, 62, 70)] == [0, 1 << 32, 62 << 32, 70 << 32]
    for value in (3, 10, 12345, 10**15 + 7):
        assert log2_bits(value) / 2**32 == pytest.approx(np.log2(float(value)), abs=1e-8)
