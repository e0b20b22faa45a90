"""A MicroPython image file: what it is, whether it is whole, and which chip it is for.

What micropython.org offers as `.bin` for a first installation is one piece of flash, from the bootloader to the end of
the program: an ESP image (the bootloader), padding, the partition table at 0x8000 of the flash, padding, and a second
ESP image (MicroPython). Each ESP image has a header, segments, a checksum byte and a SHA-256 of all before it
(Espressif's "App Image Format"); the table ends with the MD5 of its rows ("Partition Tables"). All of them are checked.
That proves the file to be as it was built, not who built it: the digest of a file from somewhere has to come from
somewhere else (`expected` of `check_digest`).
"""

import hashlib
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dcka.boards.chips import RISC_V, Chip, chip_of_image
from dcka.boards.errors import BoardError, WrongChip

MINIMUM = (1, 23)
"""The oldest MicroPython whose native code has the form of ours: .mpy sub-version 6.3 (their pull request 14177)."""
MINIMUM_RISC_V = (1, 24)
"""The oldest that runs native code on a RISC-V chip (their pull request 15395)."""

TABLE_ADDRESS = 0x8000
"""Where in the flash every image of the esp32 port has its partition table."""

_HEADER_BYTES = 24
_MAGIC = 0xE9
_CHECKSUM_SEED = 0xEF
_APP_MAGIC = 0xABCD5432  # of the application's description, at the start of an application's first segment
_MAX_SEGMENTS = 16  # esp_image_format.h
_ROW = struct.Struct("<HBBII16sI")
_TABLE_BYTES = 0xC00
_ROW_MAGIC, _MD5_MAGIC, _END_MAGIC = 0x50AA, 0xEBEB, 0xFFFF
_APP = 0  # a row's kind
_VERSION = re.compile(
    rb"MicroPython v(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?([^\s\x00]{0,60}) on \d{4}-\d\d-\d\d"
)
MAX_BYTES = 16 * 1024 * 1024
"""More than any image; a file that is larger is not read."""


class ImageError(BoardError):
    """The file is no MicroPython image that could be flashed; names the file and what is wrong."""


class ImageTooOld(ImageError):
    """The image holds a MicroPython that our firmware does not run on."""


@dataclass(frozen=True)
class Partition:
    """A row of the partition table; `offset` is an address in the flash, `size` in bytes."""

    name: str
    kind: int
    subtype: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.offset + self.size


@dataclass(frozen=True)
class Image:
    """A whole image, checked. `data` belongs at `offset` of the flash of a `chip`.

    `version` is MicroPython's, as (1, 29, 0); `version_text` as it says it itself, "v1.29.0" or "v1.30.0-preview.5".
    """

    name: str
    data: bytes
    chip: Chip
    version: tuple[int, int, int]
    version_text: str
    partitions: tuple[Partition, ...]

    @property
    def offset(self) -> int:
        """The address in the flash that it is written to."""
        return self.chip.bootloader_offset

    @cached_property
    def sha256(self) -> str:
        """Of the whole file, in hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()

    def file_system(self, flash_bytes: int) -> tuple[int, int]:
        """(address, bytes) of the file system that this MicroPython uses on a board with `flash_bytes` of flash.

        That is the partition "vfs"; where the table has none, MicroPython (from 1.26, their pull request 17337) takes
        all that follows the last partition. Raises ImageError where no room is left.
        """
        for partition in self.partitions:
            if partition.name in ("vfs", "ffat"):
                return partition.offset, partition.size
        start = max(partition.end for partition in self.partitions)
        if start >= flash_bytes:
            raise ImageError(f"{self.name}: the flash of {flash_bytes} bytes has no room for a file system")
        return start, flash_bytes - start


def read_image(path: Path) -> Image:
    """The image in a file. Raises ImageError where it cannot be read, or is not a whole MicroPython image."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror}") from error
    return parse_image(data, str(path))


def parse_image(data: bytes, name: str) -> Image:
    """The image that `data` is; `name` stands in errors. Raises ImageError."""
    chip = _chip_of(data, name)
    first = _checked_part(data, 0, f"{name}: the bootloader")
    if _is_application(data, 0):
        raise ImageError(
            f"{name} is MicroPython without its bootloader, as for an update over the air; take the file for a "
            f"first installation from the same page: its name ends in .bin and has no .app in it"
        )
    partitions = _partitions(data, TABLE_ADDRESS - chip.bootloader_offset, first, name)
    program = next((row for row in partitions if row.kind == _APP), None)
    if program is None:
        raise ImageError(f"{name}: its partition table has no program")
    start = program.offset - chip.bootloader_offset
    _checked_part(data, start, f"{name}: the program")
    if struct.unpack_from("<H", data, start + 12)[0] != chip.image_id:
        raise ImageError(f"{name}: its bootloader is for an {chip.title}, its program is not")
    version, text = _version(data[start:], name)
    return Image(name, data, chip, version, text, partitions)


def check_chip(image: Image, chip: Chip, port: str) -> None:
    """Raises WrongChip where the image is not for the chip of the board on `port`."""
    if image.chip != chip:
        raise WrongChip(
            f"{image.name} is for an {image.chip.title}, and the board on {port} is an {chip.title}: "
            f"it needs an image of {chip.board}"
        )


def check_version(image: Image) -> None:
    """Raises ImageTooOld for a MicroPython that our firmware does not run on; see MINIMUM."""
    minimum = MINIMUM_RISC_V if image.chip.march == RISC_V else MINIMUM
    if image.version[:2] < minimum:
        needed = ".".join(map(str, minimum))
        raise ImageTooOld(
            f"{image.name} is MicroPython {image.version_text}, and the firmware of the nodes needs {needed} or later "
            f"on an {image.chip.title}; take a newer image, or say --allow-old to flash it all the same"
        )


def check_digest(image: Image, expected: str) -> None:
    """Raises ImageError where the SHA-256 of the whole file is not `expected` (hexadecimal, in either case)."""
    wanted = expected.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise ImageError(f'"{expected}" is no SHA-256: it has 64 hexadecimal digits')
    if image.sha256 != wanted:
        raise ImageError(
            f"{image.name} has the SHA-256 {image.sha256}, expected is {wanted}: it is another file; do not use it"
        )


def _chip_of(data: bytes, name: str) -> Chip:
    """What the header says. Raises ImageError for what is no ESP image at all, and for a chip that is not known."""
    if len(data) > MAX_BYTES:
        raise ImageError(f"{name} is larger than {MAX_BYTES // 1024 // 1024} MiB: it is no MicroPython image")
    if data[:1] != bytes([_MAGIC]):
        hint = "; from a .uf2 nothing can be flashed here, take the .bin" if data[:4] == b"UF2\n" else ""
        raise ImageError(f"{name} is no image for an ESP32: it does not begin with 0xE9{hint}")
    if len(data) < _HEADER_BYTES:
        raise ImageError(f"{name} is cut short: it has {len(data)} bytes")
    image_id = struct.unpack_from("<H", data, 12)[0]
    chip = chip_of_image(image_id)
    if chip is None:
        raise ImageError(
            f"{name} is for the chip with the number {image_id}, which MicroPython does not run on"
        )
    return chip


def _checked_part(data: bytes, start: int, what: str) -> int:
    """Check the ESP image at `start` of `data`; where it ends. Raises ImageError."""
    if len(data) < start + _HEADER_BYTES:
        raise ImageError(f"{what} is missing: the file is cut short, with {len(data)} bytes")
    magic, segments = data[start], data[start + 1]
    if magic != _MAGIC or not 1 <= segments <= _MAX_SEGMENTS:
        raise ImageError(f"{what} is no ESP image: the file is damaged at byte {start}")
    place, checksum = start + _HEADER_BYTES, _CHECKSUM_SEED
    for _ in range(segments):
        length = struct.unpack_from("<I", data, place + 4)[0] if place + 8 <= len(data) else len(data)
        content = data[place + 8 : place + 8 + length]
        if len(content) != length:
            raise ImageError(f"{what} is not all there: the file is cut short, with {len(data)} bytes")
        checksum ^= _xor(content)
        place += 8 + length
    # The checksum is the last byte of a block of 16, counted from the start of the image.
    end = start + ((place - start) | 15) + 1
    if end > len(data):
        raise ImageError(f"{what} is not all there: the file is cut short, with {len(data)} bytes")
    if data[end - 1] != checksum:
        raise ImageError(
            f"{what} is damaged: its checksum is {data[end - 1]:#04x}, that of its content {checksum:#04x}"
        )
    return _checked_hash(data, start, end, what) if data[start + 23] == 1 else end


def _checked_hash(data: bytes, start: int, end: int, what: str) -> int:
    """Check the SHA-256 that follows an ESP image; where it ends."""
    stored = data[end : end + 32]
    if len(stored) != 32:
        raise ImageError(f"{what} is not all there: the file is cut short, with {len(data)} bytes")
    if stored != hashlib.sha256(data[start:end]).digest():
        raise ImageError(f"{what} is damaged: its SHA-256 does not match its content")
    return end + 32


def _xor(content: bytes) -> int:
    """All bytes, xored."""
    # Two halves at a time, as whole numbers: a loop over the bytes of an image takes a fifth of a second.
    while len(content) > 64:
        half = (len(content) + 1) // 2
        folded = int.from_bytes(content[:half], "little") ^ int.from_bytes(content[half:], "little")
        content = folded.to_bytes(half, "little")
    result = 0
    for byte in content:
        result ^= byte
    return result


def _is_application(data: bytes, start: int) -> bool:
    """Whether the ESP image at `start` is a program, and not a bootloader."""
    place = start + _HEADER_BYTES + 8
    return data[place : place + 4] == struct.pack("<I", _APP_MAGIC)


def _partitions(data: bytes, start: int, bootloader_end: int, name: str) -> tuple[Partition, ...]:
    """The rows of the partition table. Raises ImageError where there is none, or its MD5 is wrong."""
    table = data[start : start + _TABLE_BYTES]
    if bootloader_end > start or len(table) < _ROW.size:
        raise ImageError(f"{name} has no partition table: it is a bootloader alone, or cut short")
    rows: list[Partition] = []
    for place in range(0, len(table) - _ROW.size + 1, _ROW.size):
        magic, kind, subtype, offset, size, label, _flags = _ROW.unpack_from(table, place)
        if magic == _MD5_MAGIC and table[place + 16 : place + 32] != hashlib.md5(table[:place]).digest():
            raise ImageError(f"{name}: its partition table is damaged, the MD5 does not match")
        if magic in (_MD5_MAGIC, _END_MAGIC):
            break
        if magic != _ROW_MAGIC:
            raise ImageError(f"{name}: its partition table is damaged at row {len(rows) + 1}")
        rows.append(Partition(label.rstrip(b"\0").decode("ascii", "replace"), kind, subtype, offset, size))
    if not rows:
        raise ImageError(f"{name} has no partition table: it is a bootloader alone")
    return tuple(rows)


def _version(program: bytes, name: str) -> tuple[tuple[int, int, int], str]:
    """What MicroPython says of itself at its start, found in the program. Raises ImageError."""
    found = _VERSION.search(program)
    if found is None:
        raise ImageError(
            f'{name} is an ESP32 program, and no MicroPython: there is no "MicroPython v…" in it'
        )
    major, minor, patch = (int(part or 0) for part in found.groups()[:3])
    return (major, minor, patch), found[0].split()[1].decode("ascii", "replace")
