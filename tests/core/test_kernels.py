"""Every kernel that this interpreter runs adds the bits of the plain one, and the plain one does K-means."""

from array import array

from plain_kmeans import distance, nearest, tuples
from support import skip

from dcka_core import kernel, kernels
from dcka_core.lloyd import assign, update_centres
from dcka_core.points import new_points
from dcka_core.starts import Stream

# n where the bits of a reading change, and the bits (protocol, section 1).
BITS = ((1, 15), (2, 15), (3, 14), (8, 14), (9, 13), (32, 13), (33, 12), (128, 12), (129, 11), (512, 11))


def machine_kernels(n):
    """(module's name, module) of all in machine code that take n dimensions; none where there is no emitter."""
    names = ["kernel_viper", "kernel_viper_bare"]
    if 2 <= n <= 8 or n == 16:
        names.append("kernel_viper_%d" % n)
    if n <= 3:
        names.append("kernel_viper_sorted_%d" % n)
    try:
        return [(name, getattr(__import__("dcka_core." + name), name)) for name in names]
    except (ImportError, ValueError, SyntaxError):
        return []


def points_of(blocks, n, bits):
    """Points in these blocks, lists of numbers."""
    made = new_points(n, bits, sum([len(block) for block in blocks]) // n, bytes(8), [(1 << bits) - 1] * n)
    made.blocks = [(array("H", block), len(block) // n) for block in blocks]
    return made


def bits_for(n):
    """The bits of a reading (protocol, section 1)."""
    bits = 15
    while n * ((1 << bits) - 1) ** 2 >= 1 << 31:
        bits -= 1
    return bits


def added_by(name, module, points, centres, k, where):
    """The accumulator after one step of a kernel in machine code over all blocks, as a list."""
    rows = array("i", [0] * (k * (points.n + 1) + 2))
    flat = array("H", centres)
    if where is None:
        where = flat
    else:
        module.prepare(flat, points.n, k, where)
    for block, count in points.blocks:
        module.accumulate(block, count, points.n, where, k, rows)
    return list(rows)


def added(function, block, n, centres, k):
    """The accumulator after one call of a plain kernel, as a list."""
    rows = array("i", [0] * (k * (n + 1) + 2))
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


def check(block, n, centres, k, steps=1):
    """The plain kernel against the hand-made sums, all others against the plain one: over several steps, in two blocks,
    with labels and without.
    """
    here = len(block) // n // 2 * n
    points = points_of([block[:here], block[here:]] if here else [block], n, bits_for(n))
    wheres = []
    for name, module in machine_kernels(n):
        for labels in (False, True):
            if name == "kernel_viper_bare":
                wheres.append((name, module, None))
            elif k <= 256 or not labels:
                wheres.append((name, module, kernels.where_for(name, points, k, labels)))
    for step in range(steps if wheres else 1):
        plain = added(kernel.accumulate, block, n, centres, k)
        if step == 0:
            assert plain == expected(block, n, centres, k), (block, n, centres)
        if n == 2:
            assert added(kernel.accumulate_2d, block, n, centres, k) == plain, (block, centres)
        for name, module, where in wheres:
            assert added_by(name, module, points, centres, k, where) == plain, (name, step, block, n, centres)
        centres = update_centres(plain, k, n, centres)


def drawn(stream, count, top):
    return [stream.below(top + 1) for _ in range(count)]


def test_random_points_in_few_and_many_dimensions():
    stream = Stream(1, b"kernels")
    for n in list(range(1, 10)) + [11, 16, 17]:
        top = (1 << bits_for(n)) - 1
        for k in (1, 2, 5, 40):
            check(drawn(stream, 23 * n, top), n, drawn(stream, k * n, top), k, 3)


def test_clusters_that_settle():
    """Labels of the step before are right, and then wrong; separations end the search."""
    stream = Stream(5, b"kernels")
    for n in (1, 2, 3, 4, 8, 9):
        middles = drawn(stream, 12 * n, 8000)
        block = []
        for _ in range(120):
            one = stream.below(12) * n
            block += [middles[one + j] + stream.below(300) for j in range(n)]
        check(block, n, block[: 12 * n], 12, 6)
        check(block, n, block[-12 * n :], 12, 2)


def test_ties_go_to_the_lowest_index():
    stream = Stream(2, b"kernels")
    for n in list(range(1, 10)) + [16]:
        # Numbers so small that most distances tie, and centres that are equal.
        check(drawn(stream, 30 * n, 2), n, drawn(stream, 9 * n, 2), 9, 3)
        check(drawn(stream, 4 * n, 9), n, [3] * (3 * n), 3, 2)
    assert added(kernel.accumulate, [5, 5], 1, [4, 6, 4], 3) == [2, 10, 0, 0, 0, 0, 2, 0]
    assert added(kernel.accumulate_2d, [5, 5], 2, [4, 5, 6, 5, 5, 6], 3) == [1, 5, 5, 0, 0, 0, 0, 0, 0, 1, 0]


def test_as_many_clusters_as_points():
    stream = Stream(3, b"kernels")
    for n in (1, 2, 3, 5):
        for m in (9, 70):
            points = drawn(stream, m * n, 8191)
            check(points, n, points, m, 2)


def test_points_and_centres_on_one_line():
    """Equal first coordinates: the sorted kernels find nothing to prune, and give up within the pass."""
    stream = Stream(6, b"kernels")
    for n in (1, 2, 3):
        for axis in range(n):
            block = []
            for value in drawn(stream, 200, 16383):
                block += [value if j == axis else 77 for j in range(n)]
            check(block, n, block[: 40 * n], 40, 3)


def test_the_ends_of_the_range_for_every_number_of_bits():
    for n, bits in BITS:
        top = (1 << bits) - 1
        assert n * top * top < 1 << 31
        corners = [0] * n + [top] * n + [top * (j % 2) for j in range(n)]
        check(corners, n, [top] * n, 1)
        check(corners, n, [0] * n, 1)
        check(corners, n, [top * (j % 2) for j in range(n)] + [0] * n, 2, 2)
        # The farthest that there is, with and without another centre: 2^31 − 1 is not far below.
        check([0] * (2 * n), n, [top] * (3 * n), 3)


def test_the_accumulator_at_the_most_points_between_two_flushes():
    """32,000 points at the far end, or where the SSD's low halves are largest: all just stay below 2^31."""
    # 255² + 22² + 5² + 1² is 0xFFFF. Sums of fewer squares have no such low half.
    for n, point in ((1, [32767]), (2, [32767] * 2), (3, [16383] * 3), (4, [255, 22, 5, 1]), (9, [8191] * 9)):
        block = array("H", point * 500)
        distance = sum([value * value for value in point])
        for name, function, prepare in every_kernel(n):
            points = points_of([block], n, bits_for(n))
            where = array("H", [0] * n)
            if prepare:
                where = kernels.where_for(name, points, 1, False)
                prepare(array("H", [0] * n), n, 1, where)
            rows = array("i", [0] * (n + 3))
            for _ in range(64):
                function(block, 500, n, where, 1, rows)
            assert list(rows[: n + 1]) == [32000] + [32000 * value for value in point], name
            assert list(rows[n + 1 :]) == [32000 * (distance & 0xFFFF), 32000 * (distance >> 16)], name


def every_kernel(n):
    """(name, kernel, its prepare or None) of all that take n dimensions."""
    found = [("plain", kernel.accumulate, None)]
    if n == 2:
        found.append(("plain 2d", kernel.accumulate_2d, None))
    return found + [(name, one.accumulate, getattr(one, "prepare", None)) for name, one in machine_kernels(n)]


def test_a_kernel_adds_to_what_is_there_and_no_points_add_nothing():
    for n in (1, 2, 3, 4, 9):
        points = points_of([list(range(10, 10 + 4 * n))], n, bits_for(n))
        block, count = points.blocks[0]
        flat = array("H", range(2 * n))
        for name, function, prepare in every_kernel(n):
            where = flat
            if prepare:
                where = kernels.where_for(name, points, 2, False)
                prepare(flat, n, 2, where)
            once = array("i", [0] * (2 * n + 4))
            function(block, count, n, where, 2, once)
            before = list(range(100, 100 + 2 * n + 4))
            twice = array("i", before)
            function(block, 0, n, where, 2, twice)
            assert list(twice) == before, name
            function(block, count, n, where, 2, twice)
            assert list(twice) == [a + b for a, b in zip(before, once)], name


def test_the_choice():
    fast = bool(machine_kernels(2))
    for n, k, name in (
        (1, 9, "kernel_viper_sorted_1"),
        (2, 2, "kernel_viper_2"),
        (2, 100, "kernel_viper_sorted_2"),
        (2, 5000, "kernel_viper_2"),
        (3, 40, "kernel_viper_sorted_3"),
        (4, 100, "kernel_viper_4"),
        (8, 16, "kernel_viper_8"),
        (9, 16, "kernel_viper"),
        (512, 2, "kernel_viper"),
    ):
        plan = kernels.plan(points_of([[0] * (4 * n)], n, bits_for(n)), k)
        assert (plan[0], plan[4]) == (k, name if fast else "plain")
        assert (plan[2] is None) == (not fast)


def test_labels_are_for_few_clusters_and_few_points():
    if not machine_kernels(2):
        skip("no machine code on this interpreter")
    for n, count, k, kept in (
        (2, 900, 9, 1),
        (2, 900, 1, 0),
        (2, 900, 256, 1),
        (2, 900, 257, 0),
        (2, 9000, 9, 0),
        (4, 900, 112, 1),
        (4, 900, 113, 0),
    ):
        points = points_of([[0] * n], n, bits_for(n))
        points.count = count
        assert kernels.plan(points, k)[3][2] == kept, (n, count, k)


def test_where_memory_is_short_a_smaller_kernel_is_taken():
    if not machine_kernels(2):
        skip("no machine code on this interpreter")
    points = points_of([[0] * 1800], 2, 15)
    real = kernels.where_for

    def chosen(fits):
        def short(name, points, k, labels):
            if not fits(name, labels):
                raise MemoryError
            return real(name, points, k, labels)

        kernels.where_for = short
        try:
            plan = kernels.plan(points, 9)
        finally:
            kernels.where_for = real
        return plan[4], plan[3] and plan[3][2]

    assert chosen(lambda name, labels: True) == ("kernel_viper_sorted_2", 1)
    assert chosen(lambda name, labels: not labels) == ("kernel_viper_sorted_2", 0)
    assert chosen(lambda name, labels: False) == ("kernel_viper_bare", None)


def test_with_little_free_heap_nothing_is_taken_for_speed():
    if not machine_kernels(2):
        skip("no machine code on this interpreter")

    class Heap:
        free = 0

        def collect(self):
            pass

        def mem_free(self):
            return self.free

    points = points_of([[0] * 6000], 2, 15)
    real, kernels.gc = kernels.gc, Heap()
    try:
        for free, name, labels in (
            (4095, "kernel_viper_bare", None),
            (4096, "kernel_viper_sorted_2", 0),
            (23999, "kernel_viper_sorted_2", 0),
            (24000, "kernel_viper_sorted_2", 1),
        ):
            Heap.free = free
            plan = kernels.plan(points, 9)
            assert (plan[4], plan[3] and plan[3][2]) == (name, labels), free
    finally:
        kernels.gc = real


def test_a_run_with_another_k_gets_another_plan():
    stream = Stream(7, b"kernels")
    block = drawn(stream, 2 * 300, 32767)
    points = points_of([block[:300], block[300:]], 2, 15)
    for k in (3, 40, 40, 5):
        centres = block[: 2 * k]
        for _ in range(3):
            plain = expected(block, 2, centres, k)
            sums, ssd = assign(points, centres, k)
            assert (sums, ssd) == (plain[:-2], plain[-2] + (plain[-1] << 16))
            assert points.plan[0] == k
            centres = update_centres(sums, k, 2, centres)


def test_machine_code_allocates_nothing():
    if not machine_kernels(2):
        skip("no machine code on this interpreter")
    import gc

    stream = Stream(4, b"kernels")
    for n in (1, 2, 3, 4, 5, 8, 9, 16):
        k = 12
        points = points_of([drawn(stream, 60 * n, 8191)], n, bits_for(n))
        block, count = points.blocks[0]
        centres = array("H", drawn(stream, k * n, 8191))
        rows = array("i", [0] * (k * (n + 1) + 2))
        for name, module in machine_kernels(n):
            if name == "kernel_viper_bare":
                continue
            for labels in (False, True):
                where = kernels.where_for(name, points, k, labels)
                prepare, accumulate = module.prepare, module.accumulate
                gc.collect()
                gc.disable()
                before = gc.mem_alloc()
                prepare(centres, n, k, where)
                accumulate(block, count, n, where, k, rows)
                prepare(centres, n, k, where)
                accumulate(block, count, n, where, k, rows)
                after = gc.mem_alloc()
                gc.enable()
                assert after == before, (name, labels, after - before)
        if machine_kernels(n)[1][0] == "kernel_viper_bare":
            accumulate = machine_kernels(n)[1][1].accumulate
            gc.collect()
            gc.disable()
            before = gc.mem_alloc()
            accumulate(block, count, n, centres, k, rows)
            after = gc.mem_alloc()
            gc.enable()
            assert after == before, after - before
