"""One K-means step on a node's points: exact sums, whatever their order and their blocks; and the update."""

from array import array

from bus import make_points
from plain_kmeans import distance, flat, half_up, nearest, tuples
from scenes import cloud

from dcka_core.lloyd import assign, update_centres
from dcka_core.starts import Stream

FLUSH = 32000


def points_in_blocks(readings, n, per_block, bits=14):
    points = make_points(n, bits, bytes(8), [0] * n, [])
    points.count = len(readings) // n
    points.per_block = per_block
    for start in range(0, points.count, per_block):
        here = min(per_block, points.count - start)
        points.blocks.append((array("H", readings[start * n : (start + here) * n]), here))
    return points


def by_hand(readings, n, centres):
    places = tuples(centres, n)
    sums = [[0] * (n + 1) for _ in places]
    ssd = 0
    for point in tuples(readings, n):
        best = nearest(point, places)
        ssd += distance(point, places[best])
        sums[best][0] += 1
        for j in range(n):
            sums[best][1 + j] += point[j]
    return flat(sums), ssd


def shuffled(stream, items):
    items = list(items)
    for last in range(len(items) - 1, 0, -1):
        other = stream.below(last + 1)
        items[last], items[other] = items[other], items[last]
    return items


def test_assign_is_k_means_by_hand():
    for n in range(1, 10):
        readings = cloud(n, 20, n, 13)
        for k in (1, 3):
            centres = cloud(50 + n, k, n, 13)
            found = assign(points_in_blocks(readings, n, 4096 // n), centres, k)
            assert found == by_hand(readings, n, centres), (n, k)


def test_the_order_of_the_points_is_irrelevant():
    stream = Stream(1, b"order")
    for n in (1, 2, 3):
        readings = cloud(n, 30, n, 14)
        centres = cloud(9, 3, n, 14)
        first = assign(points_in_blocks(readings, n, 100), centres, 3)
        for _ in range(5):
            other = flat(shuffled(stream, tuples(readings, n)))
            assert assign(points_in_blocks(other, n, 100), centres, 3) == first, n


def test_the_borders_of_the_blocks_are_irrelevant():
    for n in (1, 2, 3):
        readings = cloud(n, 25, n, 14)
        centres = cloud(9, 3, n, 14)
        first = assign(points_in_blocks(readings, n, 25), centres, 3)
        for per_block in (1, 2, 7, 24):
            assert assign(points_in_blocks(readings, n, per_block), centres, 3) == first, (n, per_block)


def test_a_second_step_begins_with_nothing():
    points = points_in_blocks(cloud(1, 20), 2, 7)
    centres = cloud(2, 3)
    assert assign(points, centres, 3) == assign(points, centres, 3)


def test_a_node_without_points_has_zeros():
    assert assign(points_in_blocks([], 2, 100), [1, 2, 3, 4], 2) == ([0] * 6, 0)


def test_more_points_than_the_accumulator_holds():
    # The distance whose low half is the largest that a square has, and a sum that leaves 30 bits.
    far = max([(x * x & 0xFFFF, x) for x in range(1, 32768, 2) if x * x & 0xFFFF > 65000])[1]
    low = far * far & 0xFFFF
    block = array("H", [far] * 4096)
    points = points_in_blocks([], 1, 4096, 15)
    points.blocks = [(block, 4096)] * 9
    points.count = 9 * 4096
    assert low * points.count >= 1 << 31
    assert assign(points, [0], 1) == ([points.count, points.count * far], points.count * far * far)


def test_the_accumulator_is_emptied_in_time():
    """A kernel of our own counts what lies between two flushes, so that many points cost nothing."""
    most = [0]

    def kernel(block, count, n, centres, k, sums):
        sums[0] += count
        sums[1] += 3 * count
        sums[2] += 5 * count
        sums[3] += count
        most[0] = max(most[0], sums[0])

    for sizes in ([4096] * 60, [FLUSH], [FLUSH, 1], [1, FLUSH], [FLUSH - 1, 1, 1], [4096] * 7 + [3328, 1]):
        points = points_in_blocks([], 1, 4096, 15)
        points.kernel = kernel
        points.blocks = [(None, size) for size in sizes]
        count = sum(sizes)
        assert assign(points, [0], 1) == ([count, 3 * count], 5 * count + (count << 16)), sizes
    assert most[0] == FLUSH, most


def test_means_are_rounded_half_up():
    cases = (
        (0, 5, 0),
        (1, 2, 1),
        (3, 2, 2),
        (5, 2, 3),
        (1, 3, 0),
        (2, 3, 1),
        (4, 3, 1),
        (7, 7, 1),
        (32767, 1, 32767),
    )
    for total, count, mean in cases:
        assert update_centres([count, total], 1, 1, [9]) == [mean], (total, count)


def test_the_update_is_the_mean_by_hand():
    stream = Stream(3, b"means")
    for _ in range(200):
        count = 1 + stream.below(1000)
        totals = [stream.below(32768 * count) for _ in range(3)]
        expected = [half_up(total, count) for total in totals]
        assert update_centres([count] + totals, 1, 3, [0, 0, 0]) == expected, (count, totals)


def test_large_sums_are_exact():
    count = (1 << 40) - 1
    total = count * 32767 - (count // 2)
    assert update_centres([count, total], 1, 1, [0]) == [half_up(total, count)]


def test_an_empty_cluster_keeps_its_centre():
    assert update_centres([2, 6, 8, 0, 0, 0, 1, 5, 5], 3, 2, [0, 0, 11, 12, 13, 14]) == [3, 4, 11, 12, 5, 5]


def test_the_ssd_never_rises():
    """Half up is the exact minimiser on the grid: many ties, until nothing moves."""
    for seed in range(12):
        stream = Stream(seed, b"ties")
        readings = [stream.below(5) for _ in range(24)]
        points = points_in_blocks(readings, 2, 5)
        centres = [stream.below(5) for _ in range(6)]
        last = None
        for _ in range(30):
            sums, ssd = assign(points, centres, 3)
            assert last is None or ssd <= last, (seed, ssd, last)
            after = update_centres(sums, 3, 2, centres)
            if after == centres:
                break
            centres, last = after, ssd
        else:
            raise AssertionError("seed %d: still moving after 30 steps" % seed)
