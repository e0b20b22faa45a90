"""The parts of a survey: counting, narrowing, deviations, the grid, readings on it."""

from array import array
from hashlib import sha256
from io import BytesIO

from bus import make_readings
from scenes import DATASET
from support import raises
from survey_scenes import LOWEST, record, spread

from dcka_core.errors import CoreError
from dcka_core.points import load
from dcka_core.record import read_run, survey_shape
from dcka_core.starts import Stream
from dcka_core.survey import below, counts, deviations, narrowed, root, shift_of, squares
from dcka_core.survey_grid import SurveyGrid, grid_of
from dcka_core.survey_points import data_file

HIGHEST = (1 << 31) - 1
EXTREMES = [LOWEST, HIGHEST, LOWEST, -1, 0, HIGHEST - 1, 1, LOWEST + 1]
SETS = ([7], EXTREMES, [-5] * 9, list(range(-20, 20)), spread(3, 60, 1), [0, 1], [0] * 99 + [1])


def search(shares, n, bins, tail_ppm):
    """The whole search over the readings of those who are in each step, as flat lists; with one, that is in all."""
    run = read_run(record(n, 1000, bins=bins))
    lower = [LOWEST] * (2 * n)
    for step in range(run.max_steps):
        values = shares[step % len(shares)]
        shift = shift_of(run, step)
        rows = counts([(array("i", values), len(values) // n)], n, lower, shift, bins - 1)
        rows[0] = len(values) // n
        lower = narrowed(rows, n, lower, shift, bins - 1, tail_ppm)
    return lower


def test_the_ends_are_the_readings_of_their_rank():
    for values in SETS:
        for bins in (2, 4, 16):
            for tail_ppm in (0, 1000, 130000, 499999):
                column = sorted(values)
                tail = tail_ppm * len(column) // 1000000
                wanted = [column[tail], column[-1 - tail]]
                assert search([values], 1, bins, tail_ppm) == wanted, (values, bins, tail_ppm)


def test_each_dimension_has_its_own_ends():
    values = spread(1, 50, 3)
    wanted = [min(values[j::3]) for j in range(3)] + [max(values[j::3]) for j in range(3)]
    assert search([values], 3, 4, 0) == wanted


def test_members_that_come_and_go_shift_the_ends_and_nothing_else():
    """Whatever the readings of each step are, even none: low is never above high, and both stay in 32 bits."""
    stream = Stream(5, b"members")
    for case in range(40):
        shares = []
        for _ in range(8):
            few = [stream.below(200) - 100 for _ in range(stream.below(6))]
            shares.append(few if stream.below(2) else [value * 20000000 for value in few])
        for bins in (4, 16):
            low, high = search(shares, 1, bins, (0, 250000)[case % 2])
            assert LOWEST <= low <= high <= HIGHEST, (shares, low, high)


def test_nothing_is_found_where_there_are_no_readings():
    assert search([[]], 2, 16, 0) == [LOWEST] * 4


def test_counts_add_up_over_blocks_and_nodes():
    values = spread(2, 40)
    lower = [-50, -1600, 20, -1600]
    whole = counts([(array("i", values), 40)], 2, lower, 8, 3)
    parts = [(array("i", values[:22]), 11), (array("i", values[22:]), 29)]
    assert counts(parts, 2, lower, 8, 3) == whole
    apart = [counts([part], 2, lower, 8, 3) for part in parts]
    assert [a + b for a, b in zip(apart[0], apart[1])] == whole
    assert counts([], 2, lower, 8, 3) == [0] * len(whole)


def test_a_count_is_of_the_readings_below_each_bound():
    block = array("i", [-9, 0, 3, 4, 7, 8, 11, 12, 100])
    assert below(block, range(9), 0, 2, 3) == [3, 5, 7]
    assert below(block, range(9), 4, 0, 1) == [4]
    assert below(array("i", EXTREMES), range(8), LOWEST, 30, 3) == [3, 4, 6]


def test_the_shape_of_a_survey():
    shapes = {(2, "one"): (5, 32), (4, "minmax"): (6, 16), (16, "one"): (30, 8)}
    shapes.update({(2, "std"): (7, 33), (4, "std"): (7, 17), (16, "std"): (30, 9)})
    for bins, scale in shapes:
        assert survey_shape(bins, scale) == shapes[(bins, scale)], (bins, scale)
        run = read_run(record(3, 9, bins=bins, scale=scale))
        assert (run.k, run.max_steps) == shapes[(bins, scale)], (bins, scale)
        assert run.centres == [0] * (run.k * 3) and run.rows == run.k * 4
    assert (run.bits, run.grid_bits, run.data_bits) == (16, 11, 32)


def test_records_that_are_refused():
    for changes in (
        {"bins": 8},
        {"bins": 1},
        {"bins": 32},
        {"tail_ppm": 500000},
        {"tail_ppm": -1},
        {"scale": "two"},
        {"scale": None},
        {"n": 513},
        {"bits": 16},
        {"root": 7},
        {"dataset": "00"},
    ):
        wrong = record(2, 9)
        wrong.update(changes)
        text = str(raises(CoreError, read_run, wrong))
        assert [key for key in changes if key in text], (changes, text)


def test_the_root_of_a_number():
    stream = Stream(1, b"roots")
    for bits in (1, 2, 3, 31, 64, 107, 168):
        for _ in range(20):
            value = stream.below(1 << 32)
            while 1 << bits > value << 1:
                value = value << 32 | stream.below(1 << 32)
            value &= (1 << bits) - 1
            found = root(value)
            assert found * found <= value < (found + 1) * (found + 1), value
    assert [root(value) for value in (0, 1, 2, 3, 4, 8, 9)] == [0, 1, 1, 1, 2, 2, 3]


def test_deviations_are_those_of_the_coarse_grid():
    """sigma is the whole part of the deviation over the range, times 2^32: checked by its square."""
    for values in SETS:
        for tail in (0, len(values) // 5):
            column = sorted(values)
            low, high = column[tail], column[-1 - tail]
            rows = squares([(array("i", values), len(values))], 1, [low, high])
            rows[0] = total = len(values)
            sigma = deviations(rows, 1)[0]
            extent = high - low
            inside = [max(low, min(high, x)) - low for x in values]
            levels = [(2 * x * 4095 + extent) // (2 * extent) if extent else 0 for x in inside]
            spread_ = total * sum([q * q for q in levels]) - sum(levels) ** 2
            assert (sigma * 4095 * total) ** 2 <= spread_ << 64 < ((sigma + 1) * 4095 * total) ** 2, values
            assert sigma < 1 << 32 and (sigma > 0) == (spread_ > 0), values
    assert deviations([0] * 6, 1) == [0]


def state(low, high, sigma=None):
    """A final commit's centres."""
    rows = [[x + (1 << 31) for x in low], [x + (1 << 31) for x in high]]
    centres = []
    for row in rows:
        centres += [x >> 16 for x in row] + [x & 0xFFFF for x in row]
    centres += [9] + [0] * (len(low) - 1)
    return centres + ([x >> 16 for x in sigma] + [x & 0xFFFF for x in sigma] if sigma else [])


def grid(scale, low, high, sigma=None):
    return grid_of(read_run(record(len(low), 9, scale=scale)), state(low, high, sigma))


def test_the_widths_of_each_scale():
    low, high = [-10, 5, 7], [90, 25, 7]
    assert grid("one", low, high).width == [100, 100, 100]
    assert grid("minmax", low, high).width == [100, 20, 1]
    # A deviation is a half of the first range and a third of the second: 100 and 20 · 2/3 would be alike, but 20 · 2/3
    # is less than the range.
    assert grid("std", low, high, [1 << 31, 3 << 29, 0]).width == [134, 20, 1]
    assert grid("std", low, high, [0, 0, 0]).width == [100, 20, 1]
    widest = grid("std", [LOWEST], [HIGHEST], [1])
    assert widest.width == [(1 << 32) - 1]
    assert grid("std", [LOWEST, 0], [HIGHEST, 1], [1 << 31, 1]).width[0] == ((1 << 32) - 1) << 31
    for scale in ("one", "minmax"):
        assert grid(scale, [4, 4], [4, 4]).width == [1, 1], scale
    assert grid("one", low, high).extents == [2047, 409, 0]
    assert grid("minmax", low, high).extents == [2047, 2047, 0]


def test_the_name_of_the_points():
    found = grid("minmax", [-10, LOWEST], [90, HIGHEST])
    words = [DATASET, bytes([11]), b"\xf6\xff\xff\xff" + bytes([100]) + bytes(7)]
    words.append(b"\x00\x00\x00\x80" + b"\xff\xff\xff\xff" + bytes(4))
    assert found.dataset(DATASET) == sha256(b"".join(words)).digest()[:8]


def test_readings_are_rounded_half_up_clipped_and_counted():
    one = SurveyGrid(2, [10], [6], [6])
    out = array("H", bytes(2 * 12))
    values = [10, 11, 12, 13, 14, 16, 17, 18, 9, 8, LOWEST, HIGHEST]
    one.quantise(array("i", [0] + values), 1, 12, out)
    assert list(out) == [0, 1, 1, 2, 2, 3, 3, 3, 0, 0, 0, 3]
    # 9 and 17 are half a step beyond the ends: half up is level 0 for the one, and level 4 for the other.
    assert one.clipped == [5]
    one.quantise(array("i", [18]), 0, 1, out)
    assert one.clipped == [6]


def test_the_file_of_the_points():
    """Whatever the blocks are: what is read back is what was written, and its checks hold."""
    for n, count in ((1, 0), (1, 5000), (2, 2049), (3, 1366), (100, 45), (512, 9), (2, 1024), (2, 2048)):
        stream = Stream(n, b"file")
        values = [stream.below(5000) - 2500 for _ in range(n * count)]
        found = SurveyGrid(11, [-2400] * n, [4000] * n, [4000] * n)
        pieces = [bytes(piece) for piece in data_file(make_readings(n, DATASET, values), found)]
        points = load(BytesIO(b"".join(pieces)))
        assert (points.n, points.bits, points.count) == (n, 11, count)
        assert points.dataset == found.dataset(DATASET) and points.extents == [2047] * n
        levels = [max(0, min(2047, (2 * (x + 2400) * 2047 + 4000) // 8000)) for x in values]
        got = [block[place] for block, here in points.blocks for place in range(here * n)]
        assert got == levels, (n, count)
        assert sum(found.clipped) == len([x for x in values if not -2401 < x < 1601]), (n, count)
