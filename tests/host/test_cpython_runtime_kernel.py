"""The numpy kernel has the bits of the plain one, which every node's has."""

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.emulation import numpy_kernel
from dcka_core import kernel
from dcka_core.lloyd import assign
from dcka_core.points import Points, new_points

LAW = settings(deadline=None, derandomize=True)
BITS = {1: 15, 2: 15, 3: 14, 9: 13, 40: 12}


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, list[int], list[int], list[int]]:
    """n, k, points, centres, and what is in the accumulator already; ties and extremes are frequent."""
    n = draw(st.sampled_from(sorted(BITS)))
    top = 2 ** BITS[n] - 1
    number = st.one_of(st.sampled_from([0, 1, 2, top - 1, top]), st.integers(0, top))
    k, count = draw(st.integers(1, 6)), draw(st.integers(0, 12))
    numbers = [
        draw(st.lists(number, min_size=size, max_size=size)) for size in (count * n, k * n, k * (n + 1) + 2)
    ]
    return n, k, numbers[0], numbers[1], numbers[2]


@LAW
@given(cases(), st.sampled_from([0, numpy_kernel._FEW]))
def test_it_adds_what_the_plain_kernel_adds(
    case: tuple[int, int, list[int], list[int], list[int]], few: int
) -> None:
    n, k, points, centres, before = case
    arguments = (array("H", points), len(points) // n, n, array("H", centres), k)
    sums, expected = array("i", before), array("i", before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_kernel, "_FEW", few)
        numpy_kernel.accumulate(*arguments, sums)
    kernel.accumulate(*arguments, expected)
    assert sums == expected
    if n == 2:
        expected = array("i", before)
        kernel.accumulate_2d(*arguments, expected)
        assert sums == expected


def test_a_block_longer_than_the_points_that_count() -> None:
    sums, expected = array("i", bytes(32)), array("i", bytes(32))
    block, centres = array("H", [5, 6, 7, 8, 900, 900]), array("H", [5, 5, 8, 8])
    numpy_kernel.accumulate(block, 2, 2, centres, 2, sums)
    kernel.accumulate(block, 2, 2, centres, 2, expected)
    assert sums == expected


def test_pieces_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (array("H", range(0, 300, 3)), 50, 2, array("H", [10, 20, 250, 260, 10, 20]), 3)
    found = []
    for cells in (1, 7, 30, 1 << 20):
        monkeypatch.setattr(numpy_kernel, "_CELLS", cells)
        sums = array("i", bytes(4 * 11))
        numpy_kernel.accumulate(*arguments, sums)
        found.append(sums)
    assert all(sums == found[0] for sums in found)
    assert found[0][0] + found[0][3] == 50 and found[0][6] == 0  # of equal centres the first has all


def points_of(numbers: list[int], n: int) -> Points:
    made = new_points(n, BITS[n], len(numbers) // n, bytes(8), [2 ** BITS[n] - 1] * n)
    for start in range(0, made.count, made.per_block):
        here = min(made.per_block, made.count - start)
        made.blocks.append((array("H", numbers[start * n : (start + here) * n]), here))
    return made


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_whole_step_over_many_blocks_at_the_edge_of_the_accumulator(n: int) -> None:
    """The most points between two flushes, all at the far end: nothing leaves 31 bits unseen."""
    top = 2 ** BITS[n] - 1
    made = points_of([top] * (40_000 * n), n)
    made.kernel = numpy_kernel.accumulate
    assert assign(made, [0] * n, 1) == ([40_000] + [40_000 * top] * n, 40_000 * n * top * top)


def test_the_core_takes_it_without_knowing_it() -> None:
    numbers = [(index * 7919) % 32768 for index in range(2 * 3000)]
    centres = [(index * 104729) % 32768 for index in range(2 * 9)]
    plain, fast = points_of(numbers, 2), points_of(numbers, 2)
    fast.kernel = numpy_kernel.accumulate
    assert assign(fast, centres, 9) == assign(plain, centres, 9)
