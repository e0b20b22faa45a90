"""Every kernel that this interpreter runs adds the same bits as the plain one, and the plain one does K-means."""

from array import array

from plain_kmeans import distance, nearest, tuples
from support import skip

from dcka_core import kernel
from dcka_core.lloyd import kernel_for
from dcka_core.starts import Stream

# n where the bits of a reading change, and the bits (protocol, section 1).
BITS = ((1, 15), (2, 15), (3, 14), (8, 14), (9, 13), (32, 13), (33, 12), (128, 12), (129, 11), (512, 11))


def viper_kernels():
    """(name, kernel, the n that it takes or 0 for any) of those in machine code; none where there is no emitter."""
    try:
        from dcka_core import kernel_viper, kernel_viper_2d
    except (ImportError, ValueError, SyntaxError):
        return []
    return [("viper", kernel_viper.accumulate, 0), ("viper 2d", kernel_viper_2d.accumulate, 2)]


KERNELS = [("plain 2d", kernel.accumulate_2d, 2)] + viper_kernels()


def added(function, block, n, centres, k, sums=None):
    """The accumulator after one call, as a list."""
    rows = array("i", sums or [0] * (k * (n + 1) + 2))
    function(array("H", block), len(block) // n, n, array("H", centres), k, rows)
    return list(rows)


def expected(block, n, centres, k):
    """The accumulator by hand."""
    rows = [0] * (k * (n + 1) + 2)
    places = tuples(centres, n)
    for point in tuples(block, n):
        best = nearest(point, places)
        rows[best * (n + 1)] += 1
        for j in range(n):
            rows[best * (n + 1) + 1 + j] += point[j]
        rows[-2] += distance(point, places[best]) & 0xFFFF
        rows[-1] += distance(point, places[best]) >> 16
    return rows


def check(block, n, centres, k):
    """The plain kernel against the hand-made sums, all others against the plain one."""
    plain = added(kernel.accumulate, block, n, centres, k)
    assert plain == expected(block, n, centres, k), (block, n, centres)
    for name, function, only in KERNELS:
        if only in (0, n):
            assert added(function, block, n, centres, k) == plain, (name, block, n, centres)


def drawn(stream, count, top):
    return [stream.below(top + 1) for _ in range(count)]


def test_random_points_in_one_to_nine_dimensions():
    stream = Stream(1, b"kernels")
    for n in range(1, 10):
        top = (1 << {1: 15, 2: 15, 9: 13}.get(n, 14)) - 1
        for k in (1, 2, 5):
            check(drawn(stream, 7 * n, top), n, drawn(stream, k * n, top), k)


def test_ties_go_to_the_lowest_index():
    stream = Stream(2, b"kernels")
    for n in range(1, 10):
        # Numbers so small that most distances tie, and centres that are equal.
        check(drawn(stream, 12 * n, 2), n, drawn(stream, 4 * n, 2), 4)
        check(drawn(stream, 4 * n, 9), n, [3] * (3 * n), 3)
    assert added(kernel.accumulate, [5, 5], 1, [4, 6, 4], 3) == [2, 10, 0, 0, 0, 0, 2, 0]
    assert added(kernel.accumulate_2d, [5, 5], 2, [4, 5, 6, 5, 5, 6], 3) == [1, 5, 5, 0, 0, 0, 0, 0, 0, 1, 0]


def test_as_many_clusters_as_points():
    stream = Stream(3, b"kernels")
    for n in (1, 2, 3):
        points = drawn(stream, 9 * n, 16383)
        check(points, n, points, 9)


def test_the_ends_of_the_range_for_every_number_of_bits():
    for n, bits in BITS:
        top = (1 << bits) - 1
        assert n * top * top < 1 << 31
        corners = [0] * n + [top] * n + [top * (j % 2) for j in range(n)]
        check(corners, n, [top] * n, 1)
        check(corners, n, [0] * n, 1)
        check(corners, n, [top * (j % 2) for j in range(n)] + [0] * n, 2)


def test_a_kernel_adds_to_what_is_there():
    for name, function, only in [("plain", kernel.accumulate, 0)] + KERNELS:
        n = only or 3
        points = list(range(10, 10 + 4 * n))
        centres = list(range(2 * n))
        before = list(range(100, 100 + 2 * (n + 1) + 2))
        once = added(function, points, n, centres, 2)
        twice = [a + b for a, b in zip(before, once)]
        assert added(function, points, n, centres, 2, before) == twice, name


def test_no_points_add_nothing():
    for name, function, only in [("plain", kernel.accumulate, 0)] + KERNELS:
        n = only or 3
        rows = array("i", range(2 * (n + 1) + 2))
        function(array("H", [9] * n), 0, n, array("H", [7] * (2 * n)), 2, rows)
        assert list(rows) == list(range(2 * (n + 1) + 2)), name


def test_the_fastest_kernel_is_taken():
    fast = viper_kernels()
    for n in (1, 2, 3, 512):
        function, name = kernel_for(n)
        assert name == ("viper" if fast else "plain")
        if fast:
            assert function is fast[n == 2][1], n
        else:
            assert function is (kernel.accumulate_2d if n == 2 else kernel.accumulate), n


def test_machine_code_allocates_nothing():
    fast = viper_kernels()
    if not fast:
        skip("no machine code on this interpreter")
    import gc

    stream = Stream(4, b"kernels")
    for name, function, only in fast:
        n = only or 5
        points = array("H", drawn(stream, 60 * n, 16383))
        centres = array("H", drawn(stream, 4 * n, 16383))
        rows = array("i", [0] * (4 * (n + 1) + 2))
        gc.collect()
        gc.disable()
        before = gc.mem_alloc()
        function(points, 60, n, centres, 4, rows)
        function(points, 60, n, centres, 4, rows)
        after = gc.mem_alloc()
        gc.enable()
        assert after == before, (name, after - before)
        assert sum([rows[cluster * (n + 1)] for cluster in range(4)]) == 120, name
