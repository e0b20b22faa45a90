"""A first-install image has MicroPython and every file in the places where MicroPython looks for them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.boards.emulated import image as emulated
from dcka.boards.filesystem import BLOCK_BYTES, FilesystemError, read_littlefs
from dcka.boards.first_install import in_one_piece, native_march, parts_for, used_stretches
from dcka.boards.images import ImageError, Partition, parse_image
from dcka.boards.versions import Version
from dcka.emulation.build import host_march

FILES = {"dcka_core/node.mpy": b"M" * 5000, "node.json": b"{}"}
VERSION = Version(FILES, "fw-0123456789ab", b"main", b"boot", "x64", "0.1.0", 3, "home", data=b"data" * 900)
MIB = 1024 * 1024


def flashed(parts, size=4 * MIB):
    """A flash that was full of something else, with the parts written to it."""
    flash = bytearray(b"\x5a" * size)
    for address, content in parts:
        flash[address : address + len(content)] = content
    return bytes(flash)


@pytest.mark.parametrize("chip", emulated.CHIPS)
def test_all_files_are_where_micropython_looks(chip):
    image = parse_image(emulated.micropython_image(chip), "image")
    flash = flashed(parts_for(image, VERSION, 4 * MIB))
    assert emulated.file_system(flash, chip) == (emulated.VFS_OFFSET, 2 * MIB)
    assert flash[image.offset : image.offset + len(image.data)] == image.data
    # Whatever was in the blocks that are left out.
    assert read_littlefs(flash[emulated.VFS_OFFSET :]) == {
        "fw-0123456789ab/dcka_core/node.mpy": b"M" * 5000,
        "fw-0123456789ab/node.json": b"{}",
        "boot.py": b"boot",
        "main.py": b"main",
        "data.bin": b"data" * 900,
    }


def test_one_piece_is_the_same():
    image = parse_image(emulated.micropython_image("esp32"), "image")
    parts = parts_for(image, VERSION, 4 * MIB)
    whole = flashed([(image.offset, in_one_piece(parts))])
    for address, content in parts:
        assert whole[address : address + len(content)] == content
    assert read_littlefs(whole[emulated.VFS_OFFSET :]) == read_littlefs(flashed(parts)[emulated.VFS_OFFSET :])


def test_without_a_partition_of_its_own_the_file_system_takes_the_rest_of_the_flash():
    table = parse_image(emulated.micropython_image("esp32s3"), "image")
    image = replace(table, partitions=table.partitions[:-1])
    flash = flashed(parts_for(image, VERSION, 8 * MIB), 8 * MIB)
    assert "main.py" in read_littlefs(flash[emulated.VFS_OFFSET : 8 * MIB])
    with pytest.raises(ImageError, match="does not tell how much flash"):
        parts_for(image, VERSION, 0)


def test_what_has_no_room_is_refused():
    table = parse_image(emulated.micropython_image("esp32"), "image")
    small = replace(table, partitions=(Partition("vfs", 1, 0x81, 0x3F0000, 4 * BLOCK_BYTES),))
    with pytest.raises(FilesystemError, match="has no room"):
        parts_for(small, VERSION, 4 * MIB)


def test_parts_that_overlap_are_refused():
    with pytest.raises(ImageError, match="overlap at 0x1004"):
        in_one_piece([(0x1000, b"12345678"), (0x1004, b"1")])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), max_size=80))
def test_stretches_have_every_block_that_is_not_blank(used):
    content = b"".join(
        bytes([index + 1]) * BLOCK_BYTES if block else b"\xff" * BLOCK_BYTES
        for index, block in enumerate(used)
    )
    again = bytearray(b"\xff" * len(content))
    ends = [0]
    for start, piece in used_stretches(content):
        assert start % BLOCK_BYTES == len(piece) % BLOCK_BYTES == 0
        assert start >= ends[-1]
        again[start : start + len(piece)] = piece
        ends.append(start + len(piece))
    assert again == content


def test_an_emulated_board_runs_the_code_of_this_computer():
    assert native_march("xtensawin", "/dev/ttyUSB0") == "xtensawin"
    assert native_march("xtensawin", "/dev/pts/3") in (host_march(), None)
