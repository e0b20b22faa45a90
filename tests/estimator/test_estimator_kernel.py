"""The kernel for large blocks has the bits of the core's: ties, empty clusters, extremes, parts of a block."""

from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sklearn")

from dcka.estimator.kernel import Kernel
from dcka.reference import bits_for
from dcka_core import kernel as core

LAWS = settings(derandomize=True, deadline=None, max_examples=100)


def sums_of(accumulate, points, count, centres, start=0):
    k, n = centres.shape
    sums = array("i", [start] * (k * (n + 1) + 2))
    block = array("H", points.astype(np.uint16).tobytes())
    accumulate(block, count, n, array("H", centres.astype(np.uint16).tobytes()), k, sums)
    return sums.tolist()


@LAWS
@given(st.data())
def test_it_is_the_cores(data):
    n = data.draw(st.sampled_from([1, 2, 3, 8, 40]))
    top = 2 ** bits_for(n) - 1
    few = data.draw(st.sampled_from([1, 5, top]))
    draw = np.random.default_rng(data.draw(st.integers(0, 1000)))
    points = draw.integers(top - few, top + 1, (data.draw(st.integers(1, 600)), n))
    centres = draw.integers(top - few, top + 1, (data.draw(st.integers(1, 12)), n))
    if data.draw(st.booleans()):
        points, centres = top - points, top - centres
    count = data.draw(st.integers(0, len(points)))
    for start in (0, 7):
        assert sums_of(Kernel(), points, count, centres, start) == sums_of(
            core.accumulate, points, count, centres, start
        )


@pytest.mark.parametrize("n", [1, 2, 512])
def test_the_ends_of_the_range(n):
    top = 2 ** bits_for(n) - 1
    points = np.array([[0] * n, [top] * n, [top // 2] * n, [top // 2 + 1] * n])
    for centres in (np.array([[top] * n]), np.array([[0] * n, [top] * n, [0] * n])):
        assert sums_of(Kernel(), points, 4, centres) == sums_of(core.accumulate, points, 4, centres)


def test_a_block_that_is_seen_again_is_not_another():
    kernel = Kernel()
    blocks = [array("H", range(first, first + 20)) for first in (0, 100)]
    for _ in range(2):
        for block in blocks:
            ours, theirs = array("i", [0] * 8), array("i", [0] * 8)
            kernel(block, 10, 2, array("H", [0, 0, 110, 111]), 2, ours)
            core.accumulate(block, 10, 2, array("H", [0, 0, 110, 111]), 2, theirs)
            assert ours == theirs
