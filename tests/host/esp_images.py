"""Images for tests, built from Espressif's description of the format: whole ones, and parts to break."""

import hashlib
import random
import struct
from collections.abc import Sequence

from dcka.boards.chips import CHIPS, Chip

APP_MAGIC = struct.pack("<I", 0xABCD5432)
Row = tuple[str, int, int, int, int]
ROWS: tuple[Row, ...] = (
    ("nvs", 1, 2, 0x9000, 0x6000),
    ("phy_init", 1, 1, 0xF000, 0x1000),
    ("factory", 0, 0, 0x10000, 0x1F0000),
)
VFS: Row = ("vfs", 1, 0x81, 0x200000, 0x200000)


def part(chip: Chip, segments: Sequence[bytes], hashed: bool = True) -> bytes:
    """An ESP image: header, segments, checksum, SHA-256."""
    header = struct.pack("<BBBBI", 0xE9, len(segments), 2, 0x20, 0x40080000)
    header += struct.pack("<BBBBHBHH4xB", 0xEE, 0, 0, 0, chip.image_id, 0, 0, 0, hashed)
    assert len(header) == 24
    body, checksum = b"", 0xEF
    for segment in segments:
        body += struct.pack("<II", 0x3F400020, len(segment)) + segment
        for byte in segment:
            checksum ^= byte
    image = header + body
    image += bytes(15 - len(image) % 16) + bytes([checksum])
    return image + hashlib.sha256(image).digest() if hashed else image


def table(rows: Sequence[Row]) -> bytes:
    """A partition table: the rows, their MD5, and erased flash up to a sector's end."""
    packed = b"".join(
        struct.pack("<HBBII16sI", 0x50AA, kind, subtype, offset, size, name.encode(), 0)
        for name, kind, subtype, offset, size in rows
    )
    packed += b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(packed).digest()
    return packed.ljust(0x1000, b"\xff")


def program(chip: Chip, version: str, size: int, seed: int) -> bytes:
    """A program that does not run, and says of itself what MicroPython says, between `size` bytes of noise."""
    noise = random.Random(seed).randbytes(size // 4 * 4)
    words = f"MicroPython {version} on 2026-08-24; Generic {chip.title} module with {chip.title}".encode()
    words = words.ljust((len(words) + 4) // 4 * 4, b"\0")
    return part(chip, [APP_MAGIC + bytes(252) + words, noise])


def whole_image(
    chip_name: str,
    *,
    version: str = "v1.29.0",
    size: int = 60_000,
    rows: Sequence[Row] = ROWS,
    seed: int = 1,
    hashed: bool = True,
) -> bytes:
    """What micropython.org offers for a first installation, in small."""
    chip = CHIPS[chip_name]
    start = chip.bootloader_offset
    image = part(chip, [bytes(range(256)) * 8, b"boot" * 300], hashed).ljust(0x8000 - start, b"\xff")
    image = (image + table(rows)).ljust(0x10000 - start, b"\xff")
    return image + program(chip, version, size, seed)
