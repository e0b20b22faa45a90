"""A node's data on LittleFS: whatever the power cuts off, the old data set or the new; and none without room."""

import gc
import os
import sys
from array import array

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/core")

from chip import away, blank, mount
from data_files import data_file
from support import raises

from dcka_core import points
from dcka_core.actions import ADOPT
from dcka_core.blocks import FileBlocks
from dcka_core.intake import ASIDE
from dcka_device import storing
from dcka_device.store import Store

PIECE = 1000
OLD = data_file(list(range(200)), dataset=b"old data")
NEW = data_file([number % 32768 for number in range(9000)], dataset=b"new data")


def mounted(chip):
    """Whatever was mounted has lost its power; the same chip anew."""
    mount(chip)
    return Store(lambda name: points)


def made(blocks):
    """A chip with the old data on it."""
    chip = blank(blocks)
    take(mounted(chip), OLD)
    return chip


def take(store, file):
    """What an intake's actions ask for."""
    for offset in range(0, len(file), PIECE):
        storing.append(ASIDE, file[offset : offset + PIECE], offset, len(file))
    return storing.adopt(store, ASIDE, "data.bin")


def free():
    return os.statvfs("/chip")[3]


def test_a_power_cut_at_any_write_leaves_the_old_data_or_the_new():
    chip = made(24)
    before = bytes(chip.content)
    chip.writes = 0
    take(mounted(chip), NEW)
    writes = chip.writes
    found = []
    for left in range(writes + 1):
        chip.content = bytearray(before)
        chip.left = left
        try:
            take(mounted(chip), NEW)
        except OSError:
            pass
        chip.left = None
        store = mounted(chip)
        found.append(store.points().dataset)
        assert found[-1] in (b"old data", b"new data"), left
        if left % 40 == 0:
            assert take(store, NEW).digest == NEW[-32:], left
            assert sorted(os.listdir()) == ["data.bin"]
    assert found[0] == b"old data" and found[-1] == b"new data", (writes, found)
    assert sorted(found) == sorted(found, key=lambda name: name == b"old data"), found
    away()


def test_a_file_without_room_is_refused_before_anything_is_written():
    chip = made(14)
    store = mounted(chip)
    large = data_file([1] * 20000)
    before = bytes(chip.content)
    text = str(raises(OSError, storing.append, ASIDE, large[:PIECE], 0, len(large)))
    assert text == "no room: 60 KB needed, %d KB free" % (free() * 4), text
    assert bytes(chip.content) == before and store.points().dataset == b"old data"
    away()


def test_with_the_old_data_removed_there_is_room():
    chip = made(20)
    store = mounted(chip)
    take(store, NEW)
    raises(OSError, storing.append, ASIDE, data_file([1] * 25000)[:PIECE], 0, 50060)
    storing.drop()
    assert store.points() is None and os.listdir() == []
    assert take(store, data_file([1] * 25000)).count == 12500
    away()


def test_what_an_earlier_transfer_has_left_makes_room():
    chip = made(20)
    store = mounted(chip)
    for offset in range(0, 40000, PIECE):
        storing.append(ASIDE, bytes(PIECE), offset, 40000)
    assert take(store, data_file([2] * 20000)).count == 10000
    away()


def test_a_flash_that_fills_up_keeps_nothing_aside():
    chip = made(12)
    store = mounted(chip)
    raises(
        OSError,
        lambda: [storing.append(ASIDE, bytes(PIECE), offset, PIECE) for offset in range(0, 90000, PIECE)],
    )
    assert os.listdir() == ["data.bin"] and store.points().dataset == b"old data"
    away()


class Told:
    """A node that is only told."""

    points = None

    def forget_data(self):
        pass

    def data_failed(self, error, now):
        return [error]

    def data_loaded(self, data, now):
        return [data.dataset]


def test_where_neither_the_new_data_nor_the_old_can_be_read_the_node_says_so_and_lives():
    chip = made(40)
    store = mounted(chip)
    for name, whole in (("data.new", NEW), ("data.bin", OLD)):
        with open(name, "wb") as file:
            file.write(whole[:60] + b"?" + whole[61:])
    new, old = storing.perform((ADOPT, "data.new", "data.bin"), store, Told(), print, 0)
    assert new.startswith("the data can't be stored: ") and old.startswith("the data can't be read: "), (
        new,
        old,
    )
    storing.append("data.bin", OLD, 0, len(OLD))
    assert storing.perform((ADOPT, "data.new", "data.bin"), store, Told(), print, 0)[1:] == [b"old data"]
    away()


def test_a_large_file_is_read_again_from_where_it_lies_then():
    chip = made(40)
    store = mounted(chip)
    numbers = array("H", bytes(2 * 20000))
    for number in range(len(numbers)):
        numbers[number] = number
    file = data_file(numbers)
    gc.collect()
    # One piece large enough for the buffer; the rest of the heap is taken, but for crumbs.
    taken = [bytearray(20000)]
    while gc.mem_free() > 60000:
        taken.append(bytearray(5000))
    taken[0] = None
    large = take(store, file)
    taken = None
    assert isinstance(large.blocks, FileBlocks)
    for _ in range(2):
        at = 0
        for held, here in large.blocks:
            assert list(held[: 2 * here]) == list(numbers[at : at + 2 * here]), at
            at += 2 * here
        assert at == len(numbers)
    away()
