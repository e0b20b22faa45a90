"""Segments on LittleFS: whatever the power cuts off, what was synced is there; and the room that others need stays."""

import os
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/core")

from bench import Folder
from support import skip

from dcka_core.segments import Segments
from dcka_device.segment_files import SegmentFiles

try:
    import vfs
except ImportError:
    vfs = None

BLOCK = 4096
COLUMNS = "temperature/2 humidity/1"
EVER = (0, (1 << 30) - 1)
SEGMENT = 400
MOST = 3 * SEGMENT
FIRST, LAST = 160, 240


class Chip:
    """A flash chip; `left`: writes and erases until the power fails, None for ever. The last is done by half."""

    def __init__(self, blocks):
        self.content = bytearray(b"\xff" * (BLOCK * blocks))
        self.left = None
        self.dead = False
        self.operations = 0

    def readblocks(self, number, buffer, offset=0):
        start = number * BLOCK + offset
        buffer[:] = self.content[start : start + len(buffer)]

    def writeblocks(self, number, buffer, offset=0):
        size = self.powered(len(buffer))
        start = number * BLOCK + offset
        self.content[start : start + size] = buffer[:size]
        return 0 if size == len(buffer) else -5

    def ioctl(self, what, argument):
        if what == 4:
            return len(self.content) // BLOCK
        if what == 5:
            return BLOCK
        if what == 6:
            size = self.powered(BLOCK)
            self.content[argument * BLOCK : argument * BLOCK + size] = b"\xff" * size
            return 0 if size == BLOCK else -5
        return 0

    def powered(self, size):
        """How many of so many bytes are still done."""
        if self.dead:
            return 0
        self.operations += 1
        if self.left is None:
            return size
        self.left -= 1
        if self.left >= 0:
            return size
        self.dead = True
        return size // 2


def mounted(chip):
    """Whatever was mounted has lost its power; the same chip anew."""
    os.chdir("/")
    try:
        vfs.umount("/chip")
    except OSError:
        pass
    vfs.mount(vfs.VfsLfs2(chip, readsize=32, progsize=32, lookahead=32), "/chip")
    os.chdir("/chip")


def away():
    os.chdir("/")
    vfs.umount("/chip")


def formatted(blocks):
    if vfs is None:
        skip("CPython has no LittleFS")
    chip = Chip(blocks)
    vfs.VfsLfs2.mkfs(chip, readsize=32, progsize=32, lookahead=32)
    return chip


def opened(most=0, reserve=0):
    return Segments(SegmentFiles(reserve), COLUMNS, SEGMENT, most)


def reading(index):
    return 1000 + 60 * index, [2000 + index * 37 % 101, -3 * index]


def keep(segments, first, last, every=4):
    """Readings `first` to `last`, synced at each multiple of `every`; how many are synced when the flash gives up."""
    synced = first
    try:
        for index in range(first, last):
            segments.append(*reading(index))
            if (index + 1) % every == 0:
                segments.sync()
                synced = index + 1
    except OSError:
        pass
    return synced


def held(segments):
    return [(row[0], list(row)[1:]) for row in segments.readings(*EVER)]


def newest(segments):
    found = None
    for row in segments.readings(*EVER):
        found = row
    return found[0], list(found)[1:]


def is_run(found, first, last):
    """Whether these are readings one after the other, from `first` or before to `last` or after."""
    if not found:
        return first == last
    begin = (found[0][0] - 1000) // 60
    return found == [reading(index) for index in range(begin, begin + len(found))] and (
        begin <= first and begin + len(found) >= last
    )


def test_a_power_cut_at_any_write_leaves_what_was_synced():
    chip = formatted(24)
    mounted(chip)
    # Of some hundred readings: the oldest are dropped while it goes on.
    assert keep(opened(MOST), 0, FIRST) == FIRST
    before = bytes(chip.content)
    chip.operations = 0
    mounted(chip)
    segments = opened(MOST)
    oldest = (held(segments)[0][0] - 1000) // 60
    erased = segments.erased
    assert keep(segments, FIRST, LAST) == LAST
    kept = (held(segments)[0][0] - 1000) // 60
    assert kept > oldest and segments.erased > erased
    operations = chip.operations
    assert operations > 60
    cuts = 0
    for left in range(operations + 1):
        chip.content = bytearray(before)
        chip.left, chip.dead = left, False
        mounted(chip)
        synced = keep(opened(MOST), FIRST, LAST)
        cuts += chip.dead
        chip.left, chip.dead = None, False
        mounted(chip)
        again = opened(MOST)
        found = held(again)
        # What may be gone is what the whole run drops, at most.
        assert is_run(found, kept, synced), (left, synced, found[:1], found[-1:])
        assert len(found) <= synced + 4 - oldest
        if left % 25 == 0:
            last = (found[-1][0] - 1000) // 60 + 1
            assert keep(again, last, last + 40, 1) == last + 40, left
            assert is_run(held(opened(MOST)), last + 40 - 20, last + 40), left
    assert cuts == operations, (cuts, operations)
    away()


def test_the_first_sync_of_all_may_be_cut_too():
    chip = formatted(16)
    before = bytes(chip.content)
    mounted(chip)
    chip.operations = 0
    assert keep(opened(), 0, 8) == 8
    for left in range(chip.operations + 1):
        chip.content = bytearray(before)
        chip.left, chip.dead = left, False
        mounted(chip)
        try:
            synced = keep(opened(), 0, 8)
        except OSError:
            synced = 0
        chip.left, chip.dead = None, False
        mounted(chip)
        again = opened()
        assert is_run(held(again), 0, synced), left
        assert keep(again, 100, 104) == 104
        assert held(opened())[-1] == reading(103)
    away()


def test_the_room_that_others_need_stays():
    chip = formatted(32)
    mounted(chip)
    reserve = 12 * BLOCK
    segments = Segments(SegmentFiles(reserve), COLUMNS, 2 * BLOCK)
    keep(segments, 0, 20000, 50)
    assert segments.erased > 1
    block, _, free = os.statvfs(".")[1:4]
    # One segment may have begun with just enough.
    assert free * block >= reserve - 3 * BLOCK
    with open("data.new", "wb") as file:
        for _ in range(8):
            file.write(bytes(BLOCK))
    assert newest(Segments(SegmentFiles(reserve), COLUMNS, 2 * BLOCK)) == reading(19999)
    # Others have filled it to the brim: the oldest go, and what comes has its place.
    try:
        with open("more", "wb") as file:
            while True:
                file.write(bytes(BLOCK))
    except OSError:
        pass
    segments = Segments(SegmentFiles(reserve), COLUMNS, 2 * BLOCK)
    assert keep(segments, 20000, 20200, 50) == 20200
    assert newest(segments) == reading(20199)
    away()


def test_segments_are_files_in_a_folder():
    with Folder() as folder:
        segments = Segments(SegmentFiles(0), COLUMNS, SEGMENT)
        assert keep(segments, 0, 160) == 160
        names = sorted(os.listdir("segments"))
        assert names[0] == "00000001" and len(names) > 2
        assert held(Segments(SegmentFiles(0), COLUMNS, SEGMENT)) == [reading(index) for index in range(160)]
        for name in names:
            os.remove("segments/" + name)
        os.rmdir("segments")
        assert folder.read("segments") is None
