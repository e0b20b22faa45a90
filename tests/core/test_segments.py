"""Segments: what was synced is there, whatever became of the power, the room or the clock."""

from array import array

from segment_files import Cut, MemoryFiles
from support import raises

from dcka_core.errors import CoreError
from dcka_core.segments import SEGMENT_BYTES, Segments

COLUMNS = "temperature/2 humidity/1"
EVER = (-(1 << 30), (1 << 30) - 1)


def reading(index):
    """The reading of one index: time, values."""
    return 200000000 + 60 * index, [2000 + index * 37 % 101 - 50, -5 * index]


def fill(segments, first, count, every=7):
    for index in range(first, first + count):
        time_s, values = reading(index)
        segments.append(time_s, values)
        if (index + 1) % every == 0:
            segments.sync()


def held(segments, since=EVER[0], until=EVER[1]):
    return [(row[0], list(row)[1:]) for row in segments.readings(since, until)]


def expected(first, last):
    return [reading(index) for index in range(first, last)]


def test_what_is_appended_comes_back_in_its_order_over_a_restart():
    files = MemoryFiles()
    segments = Segments(files, COLUMNS)
    fill(segments, 0, 100)
    assert held(segments) == expected(0, 100)
    assert segments.pending == 2 and segments.written == 98 and segments.syncs == 14
    again = Segments(files, COLUMNS)
    assert held(again) == expected(0, 98)
    assert (again.written, again.syncs, again.stored, again.erased) == (98, 14, 98, 0)
    assert (again.oldest, again.newest) == (reading(0)[0], reading(97)[0])


def test_every_number_of_32_bits_survives():
    extremes = [0, 1, -1, 63, 64, -64, -65, 0x3FFFFFFF, -0x40000000, 0x7FFFFFFF, -0x80000000]
    files = MemoryFiles()
    segments = Segments(files, "a/0 b/9")
    rows = [(-5, [first, second]) for first in extremes for second in extremes]
    for time_s, values in rows:
        segments.append(time_s, array("i", values))
    segments.sync()
    assert held(Segments(files, "a/0 b/9")) == rows


def test_a_window_has_its_first_moment_and_not_its_last():
    segments = Segments(MemoryFiles(), COLUMNS, 300)
    fill(segments, 0, 200)
    for first, last in ((0, 200), (13, 14), (50, 150), (199, 200), (70, 70)):
        assert held(segments, reading(first)[0], reading(last)[0]) == expected(first, last), (first, last)


def test_a_clock_that_steps_back_loses_no_reading():
    files = MemoryFiles()
    segments = Segments(files, "a/0", 70)
    times = [1000, 1060, 1120, 400, 460, 520, 580, 1200]
    for time_s in times:
        segments.append(time_s, [time_s])
        segments.sync()
    assert len(files.files) > 2
    for since in range(300, 1300, 20):
        assert held(Segments(files, "a/0", 70), since, 1180) == [
            (time_s, [time_s]) for time_s in times if since <= time_s < 1180
        ], since
    assert segments.newest == 1200


def test_the_power_may_go_at_any_byte():
    """Of every sync that returned all is there, and of the one in which it went all or nothing; then it goes on."""
    whole = MemoryFiles()
    fill(Segments(whole, COLUMNS, 200), 0, 60)
    total = sum([len(content) for content in whole.files.values()])
    seen = set()
    for cut in range(total + 1):
        files = MemoryFiles(cut_at=cut)
        segments = Segments(files, COLUMNS, 200)
        try:
            fill(segments, 0, 60)
        except Cut:
            pass
        files.cut_at = None
        again = Segments(files, COLUMNS, 200)
        found = held(again)
        assert found == expected(0, len(found)), cut
        assert len(found) in (segments.written, segments.written + segments.pending), cut
        seen.add(len(found))
        assert again.written == len(found), cut
        fill(again, len(found), 20, 5)
        again.sync()
        third = Segments(files, COLUMNS, 200)
        assert held(third) == expected(0, len(found) + 20), cut
        assert third.written == len(found) + 20, cut
    assert sorted(seen) == list(range(0, 57, 7)) + ([] if 56 in seen else [56])


def test_a_second_cut_while_it_goes_on_is_no_worse():
    for first in range(0, 400, 29):
        for second in range(0, 300, 13):
            files = MemoryFiles(cut_at=first)
            known = 0
            for cut in (second, None):
                segments = Segments(files, COLUMNS, 200)
                begin = len(held(segments))
                assert begin >= known
                try:
                    fill(segments, begin, 30, 3)
                    segments.sync()
                except Cut:
                    pass
                known = begin if segments.written < begin else segments.written
                files.cut_at = cut
            found = held(Segments(files, COLUMNS, 200))
            assert len(found) >= known and found == expected(0, len(found)), (first, second)


def test_any_byte_that_is_changed_costs_readings_and_makes_none():
    files = MemoryFiles()
    fill(Segments(files, COLUMNS, 200), 0, 42)
    for number in list(files.files):
        content = files.files[number]
        for place in range(len(content)):
            files.files[number] = content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
            found = held(Segments(files, COLUMNS, 200))
            assert len(found) < 42, (number, place)
            for row in found:
                assert row in expected(0, 42), (number, place)
        files.files[number] = content


def test_a_segment_under_another_number_is_none():
    files = MemoryFiles()
    fill(Segments(files, COLUMNS), 0, 7)
    files.files[3] = files.files[1]
    assert held(Segments(files, COLUMNS)) == expected(0, 7)


def test_the_oldest_go_where_room_runs_low():
    files = MemoryFiles(1000)
    segments = Segments(files, COLUMNS, 200)
    fill(segments, 0, 700)
    found = held(segments)
    assert found == expected(700 - len(found), 700) and 30 < len(found) < 700
    assert segments.written == 700 and segments.erased == min(files.files) - 1 > 0
    assert segments.stored == len(found) and segments.oldest == found[0][0]
    again = Segments(files, COLUMNS, 200)
    again.recover()
    assert (again.written, again.stored, again.erased) == (700, len(found), segments.erased)
    # Others may fill what is left, the last byte too.
    files.space = sum([len(content) for content in files.files.values()])
    fill(again, 700, 70)
    found = held(again)
    assert found == expected(770 - len(found), 770) and found


def test_a_flash_that_refuses_costs_no_old_reading():
    files = MemoryFiles()
    segments = Segments(files, COLUMNS, 200)
    fill(segments, 0, 70)
    files.broken = True
    segments.append(*reading(70))
    for _ in range(5):
        raises(OSError, segments.sync)
    assert held(segments) == expected(0, 71)
    files.broken = False
    segments.sync()
    assert held(Segments(files, COLUMNS, 200)) == expected(0, 71)


def test_no_room_at_all_is_told_and_what_waits_waits_on():
    files = MemoryFiles(0)
    segments = Segments(files, COLUMNS)
    segments.append(*reading(0))
    raises(OSError, segments.sync)
    raises(OSError, segments.sync)
    assert held(segments) == expected(0, 1)
    index = 1
    while True:
        try:
            segments.append(*reading(index))
        except OSError:
            break
        index += 1
    files.space = 10000
    segments.append(*reading(index))
    segments.sync()
    assert held(Segments(files, COLUMNS)) == expected(0, index + 1)


def test_no_more_than_is_wanted_is_kept():
    files = MemoryFiles()
    segments = Segments(files, COLUMNS, 200, 800)
    fill(segments, 0, 350)
    assert len(files.files) == 4
    assert held(segments)[-1] == reading(349)
    files = MemoryFiles()
    segments = Segments(files, COLUMNS, 200, 0, 3600)
    fill(segments, 0, 700)
    oldest = segments.oldest
    assert oldest is not None and reading(699)[0] - oldest >= 3600
    assert len(held(segments)) < 200


def test_other_columns_begin_a_segment_of_their_own():
    files = MemoryFiles()
    fill(Segments(files, COLUMNS), 0, 14)
    other = Segments(files, "temperature/2")
    assert held(other) == [] and other.written == 14
    other.append(5, [6])
    other.sync()
    assert held(Segments(files, "temperature/2")) == [(5, [6])]
    assert held(Segments(files, COLUMNS)) == expected(0, 14)
    for columns in ("", "c/0 " * 33):
        raises(CoreError, Segments, files, columns)


def test_what_waits_can_sleep_elsewhere_and_is_taken_once():
    files = MemoryFiles()
    segments = Segments(files, COLUMNS)
    fill(segments, 0, 9)
    waiting = bytes(segments.waiting())
    assert segments.pending == 2 and len(waiting) < 64
    again = Segments(files, COLUMNS)
    assert again.restore(waiting) and held(again) == expected(0, 9)
    fill(again, 9, 5)
    assert held(Segments(files, COLUMNS)) == expected(0, 14)
    # It is on flash meanwhile.
    late = Segments(files, COLUMNS)
    assert not late.restore(waiting) and held(late) == expected(0, 14)
    assert len(Segments(files, COLUMNS).waiting()) == 0
    other = Segments(MemoryFiles(), COLUMNS)
    for place in range(len(waiting)):
        damaged = waiting[:place] + bytes([waiting[place] ^ 1]) + waiting[place + 1 :]
        assert not other.restore(damaged), place
    assert not other.restore(b"") and not other.restore(waiting[:-1]) and other.pending == 0


def test_what_is_appended_meanwhile_is_not_among_the_readings():
    segments = Segments(MemoryFiles(), COLUMNS, 200)
    fill(segments, 0, 24)
    found = []
    for row in segments.readings(*EVER):
        found.append((row[0], list(row)[1:]))
        if len(found) % 3 == 0:
            segments.append(*reading(24 + len(found)))
            segments.sync()
    assert found == expected(0, 24)


def test_a_reading_allocates_nothing():
    try:
        import gc

        allocated = gc.mem_alloc
    except (ImportError, AttributeError):
        return
    segments = Segments(MemoryFiles(), COLUMNS)
    for index in range(80):
        segments.append(1000 + index, (index, -index))
    rows = segments.readings(0, 5000)
    next(rows)
    gc.collect()
    before = allocated()
    for _ in rows:
        pass
    assert allocated() == before


def test_a_frame_of_the_widest_reading_fits():
    columns = " ".join(["c%d/0" % index for index in range(32)])
    files = MemoryFiles(SEGMENT_BYTES * 4)
    segments = Segments(files, columns)
    rows = []
    for index in range(20):
        values = [(0x7FFFFFFF if (index + place) % 2 else -0x80000000) for place in range(32)]
        segments.append(index, values)
        rows.append((index, values))
    segments.sync()
    assert held(Segments(files, columns)) == rows
