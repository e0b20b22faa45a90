"""An image is taken only whole, of MicroPython, and for the right chip."""

import ast
import hashlib
import re
from pathlib import Path

import pytest
from esp_images import ROWS, VFS, part, program, table, whole_image
from esptool.targets import CHIP_DEFS
from hypothesis import given, settings
from hypothesis import strategies as st
from real_image import real_image

from dcka.boards.chips import CHIPS, RISC_V, Chip, chip_named
from dcka.boards.emulated.image import CHIPS as EMULATED
from dcka.boards.emulated.image import micropython_image
from dcka.boards.errors import WrongChip
from dcka.boards.images import (
    ImageError,
    ImageTooOld,
    check_chip,
    check_digest,
    check_version,
    parse_image,
    read_image,
)
from dcka.errors import UsageError

IMAGE = whole_image("esp32", size=2000)
START = CHIPS["esp32"].bootloader_offset
TABLE = 0x8000 - START
PROGRAM = 0x10000 - START
BOOT_END = len(part(CHIPS["esp32"], [bytes(range(256)) * 8, b"boot" * 300]))
MD5_ROW = TABLE + len(ROWS) * 32
CHECKED = (
    range(BOOT_END),
    range(TABLE, MD5_ROW + 2),
    range(MD5_ROW + 16, MD5_ROW + 32),
    range(PROGRAM, len(IMAGE)),
)
HASHED = (23, PROGRAM + 23)
"""What is checked: all but padding. HASHED say whether a SHA-256 follows; without one the checksum alone counts."""
WHERE = st.one_of(*(st.sampled_from(sorted({*places} - {*HASHED})) for places in CHECKED))


@pytest.mark.parametrize("chip", CHIPS.values(), ids=str)
def test_the_table_of_chips_is_esptools(chip: Chip) -> None:
    theirs = CHIP_DEFS[chip.name]
    assert (chip.title, chip.image_id) == (theirs.CHIP_NAME, theirs.IMAGE_CHIP_ID)
    assert chip.bootloader_offset == theirs.BOOTLOADER_FLASH_OFFSET
    assert chip_named(chip.title) is chip


def test_the_buttons_are_those_that_a_board_looks_at() -> None:
    source = (Path(__file__).parents[2] / "firmware" / "boot.py").read_text()
    found = re.search(r"_BUTTONS = (\{.*?\})", source)
    assert found is not None
    buttons = ast.literal_eval(found[1])
    assert {chip.name: chip.button_pin for chip in CHIPS.values()} == {
        chip.name: buttons.get(chip.title.partition("-")[2], 0) for chip in CHIPS.values()
    }


def test_a_chip_of_no_such_name_is_refused() -> None:
    with pytest.raises(UsageError, match="esp32s3"):
        chip_named("esp8266")


@pytest.mark.parametrize("chip", CHIPS.values(), ids=str)
def test_a_whole_image_is_known_for_what_it_is(chip: Chip) -> None:
    data = whole_image(chip.name, version="v1.30.0-preview.5.gabc123")
    image = parse_image(data, "x.bin")
    assert (image.chip, image.offset, image.data) == (chip, chip.bootloader_offset, data)
    assert (image.version, image.version_text) == ((1, 30, 0), "v1.30.0-preview.5.gabc123")
    assert [(row.name, row.kind, row.subtype, row.offset, row.size) for row in image.partitions] == list(ROWS)
    assert image.sha256 == hashlib.sha256(data).hexdigest()
    check_chip(image, chip, "/dev/ttyUSB0")
    check_version(image)


@pytest.mark.parametrize("chip", EMULATED)
def test_the_image_of_the_emulated_boards_passes(chip: str) -> None:
    image = parse_image(micropython_image(chip), "x.bin")
    assert image.chip.name == chip and image.version == (1, 29, 0)


@settings(max_examples=150, deadline=None)
@given(WHERE, st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    broken = bytearray(IMAGE)
    broken[place] ^= change
    with pytest.raises(ImageError):
        parse_image(bytes(broken), "x.bin")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(IMAGE) - 1))
def test_a_cut_file_is_noticed(size: int) -> None:
    with pytest.raises(ImageError):
        parse_image(IMAGE[:size], "x.bin")


def test_a_cut_file_is_called_so() -> None:
    with pytest.raises(ImageError, match="cut short"):
        parse_image(IMAGE[:-100], "x.bin")


@pytest.mark.parametrize("hashed", [True, False])
def test_without_a_hash_the_checksum_counts(hashed: bool) -> None:
    image = bytearray(whole_image("esp32s3", hashed=hashed))
    parse_image(bytes(image), "x.bin")
    image[100] ^= 4
    with pytest.raises(ImageError, match="checksum"):
        parse_image(bytes(image), "x.bin")


ESP32 = CHIPS["esp32"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no image for an ESP32"),
        (b"<html>not found</html>", "no image for an ESP32"),
        (b"UF2\n" + bytes(600), "take the .bin"),
        (b"\xe9" + bytes(5), "cut short"),
        (bytes([0xE9]) + bytes(17 << 20), "larger than"),
        (program(ESP32, "v1.29.0", 2000, 1), "without its bootloader"),
        (part(ESP32, [b"boot" * 100]), "no partition table"),
        (part(ESP32, [b"boot" * 100]).ljust(TABLE + 0x2000, b"\xff"), "no partition table"),
        (IMAGE[:PROGRAM] + part(ESP32, [b"\x32\x54\xcd\xab", b"other" * 40]), "no MicroPython"),
        (IMAGE[:PROGRAM] + program(CHIPS["esp32s3"], "v1.29.0", 2000, 1), "its program is not"),
        (IMAGE[:TABLE] + table(ROWS[:2]).ljust(0x8000, b"\xff") + IMAGE[PROGRAM:], "no program"),
        (IMAGE[:12] + b"\x63\x00" + IMAGE[14:], "number 99"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_image_to_flash_is_refused_in_a_line(data: bytes, why: str) -> None:
    with pytest.raises(ImageError, match=why) as refused:
        parse_image(data, "x.bin")
    assert str(refused.value).startswith("x.bin") and "\n" not in str(refused.value)


@pytest.mark.parametrize("chip", CHIPS.values(), ids=str)
def test_the_oldest_version_is_that_of_the_chip(chip: Chip) -> None:
    oldest = 24 if chip.march == RISC_V else 23
    check_version(parse_image(whole_image(chip.name, version=f"v1.{oldest}.0"), "x.bin"))
    with pytest.raises(ImageTooOld, match=rf"v1\.{oldest - 1}\.9, .* 1\.{oldest} or later .*--allow-old"):
        check_version(parse_image(whole_image(chip.name, version=f"v1.{oldest - 1}.9"), "x.bin"))


def test_another_chips_image_is_refused_by_name() -> None:
    with pytest.raises(
        WrongChip, match=r"for an ESP32, .*ttyUSB3 is an ESP32-C6.*ESP32_GENERIC_C6"
    ) as refused:
        check_chip(parse_image(IMAGE, "x.bin"), CHIPS["esp32c6"], "/dev/ttyUSB3")
    assert refused.value.exit_code == 7


def test_the_digest_is_of_the_whole_file() -> None:
    image = parse_image(IMAGE, "x.bin")
    check_digest(image, f" {hashlib.sha256(IMAGE).hexdigest().upper()}\n")
    with pytest.raises(ImageError, match="another file"):
        check_digest(image, "0" * 64)
    with pytest.raises(ImageError, match="no SHA-256"):
        check_digest(image, "0123")


def test_the_file_system_is_a_partition_or_what_follows_the_last() -> None:
    mebi = 1 << 20
    assert parse_image(IMAGE, "x.bin").file_system(8 * mebi) == (0x200000, 6 * mebi)
    with_row = parse_image(whole_image("esp32", rows=(*ROWS, VFS)), "x.bin")
    assert with_row.file_system(8 * mebi) == (0x200000, 2 * mebi)
    with pytest.raises(ImageError, match="no room"):
        parse_image(IMAGE, "x.bin").file_system(2 * mebi)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"none\.bin cannot be read"):
        read_image(tmp_path / "none.bin")


def test_a_real_image_passes_and_is_too_old() -> None:
    image = parse_image(real_image(), "real.bin")
    assert image.chip is CHIPS["esp32"] and image.version == (1, 16, 0)
    assert image.file_system(4 << 20) == (0x200000, 0x200000)
    with pytest.raises(ImageTooOld):
        check_version(image)
    with pytest.raises(ImageError):
        parse_image(real_image()[:-1], "real.bin")
