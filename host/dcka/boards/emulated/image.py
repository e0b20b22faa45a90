"""An image for an emulated chip: what esptool, the partition table's reader and a person take for MicroPython.

No chip can run it. It has what a real one has and this host looks at: the bootloader's header, segment, checksum and
SHA-256, the partition table, and an application with its description and MicroPython's version text.
Formats: Espressif's "Firmware Image Format", "Partition Tables" and esp_app_desc_t.
"""

import hashlib
import struct

from dcka.boards.chips import CHIPS as ALL_CHIPS
from dcka.boards.images import TABLE_ADDRESS, ImageError, Partition, parse_image

FLASH_BYTES = 4 * 1024 * 1024
VFS_OFFSET = 0x200000
"""Where MicroPython's own images for this flash have the file system."""
APP_OFFSET = 0x10000
VERSION = "1.29.0"
MAGIC = 0xE9

_HEADER = struct.Struct("<BBBBIB3sHBHH4sB")
_SEGMENT = struct.Struct("<II")
_ROW = struct.Struct("<2sBBII16sI")
_TABLE_BYTES = 0xC00
_APP_DESCRIPTION = struct.Struct("<II8s32s32s16s16s32s32s80s")
_APP_MAGIC = 0xABCD5432
_CHECKSUM_SEED = 0xEF
_DIO = 2
_SIZE_4MB_40MHZ = 0x20


# Chip → an address that it maps to constants in flash, and one of the memory that the bootloader is loaded to.
_ADDRESSES = {
    "esp32": (0x3F400020, 0x40080400),
    "esp32s3": (0x3C000020, 0x40378000),
    "esp32c3": (0x3C000020, 0x40380000),
    "esp32c6": (0x42800020, 0x40810000),
}

CHIPS = tuple(_ADDRESSES)


def bootloader_offset(chip: str) -> int:
    """Where an image for this chip begins in the flash."""
    return ALL_CHIPS[chip].bootloader_offset


def micropython_image(chip: str, version: str = VERSION, size: int = 64 * 1024) -> bytes:
    """An image for `chip` (one of `CHIPS`), to be written at its bootloader's offset; `size` of the application."""
    title = ALL_CHIPS[chip].title
    data, code = _ADDRESSES[chip]
    start = bootloader_offset(chip)
    text = f"MicroPython v{version} on 2026-09-01; Generic {title} module with {title}\0".encode()
    app = _image(chip, data, _description(version) + text + _filling(size))
    whole = bytearray(b"\xff" * (APP_OFFSET - start)) + app
    boot = _image(chip, code, _filling(1024))
    table = _table()
    whole[: len(boot)] = boot
    whole[TABLE_ADDRESS - start : TABLE_ADDRESS - start + len(table)] = table
    return bytes(whole)


def file_system(flash: bytes, chip: str) -> tuple[int, int] | None:
    """(address, bytes) of the file system of the MicroPython that a chip with this flash starts; None where it starts
    none: there is another program, a damaged one, one for another chip, or nothing.
    """
    try:
        found = parse_image(flash[bootloader_offset(chip) :], "the flash")
        return found.file_system(len(flash)) if found.chip.name == chip else None
    except ImageError:
        return None


def bootable(flash: bytes, chip: str) -> bool:
    """Whether the ROM finds a bootloader for this chip."""
    start = bootloader_offset(chip)
    header = flash[start : start + _HEADER.size]
    return header[0] == MAGIC and int.from_bytes(header[12:14], "little") == ALL_CHIPS[chip].image_id


def _table() -> bytes:
    """The partitions of MicroPython's images for 4 MiB, and the MD5 of their rows."""
    entries = (
        Partition("nvs", 1, 2, 0x9000, 0x6000),
        Partition("phy_init", 1, 1, 0xF000, 0x1000),
        Partition("factory", 0, 0, APP_OFFSET, VFS_OFFSET - APP_OFFSET),
        Partition("vfs", 1, 0x81, VFS_OFFSET, FLASH_BYTES - VFS_OFFSET),
    )
    rows = b"".join(
        _ROW.pack(b"\xaa\x50", entry.kind, entry.subtype, entry.offset, entry.size, entry.name.encode(), 0)
        for entry in entries
    )
    digest = b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(rows).digest()
    return (rows + digest).ljust(_TABLE_BYTES, b"\xff")


def _image(chip: str, address: int, content: bytes) -> bytes:
    """One segment, its checksum at the end of a block of 16 bytes, and the SHA-256 of all before it."""
    content += bytes(-len(content) % 4)
    entry, image_id = _ADDRESSES[chip][1], ALL_CHIPS[chip].image_id
    header = _HEADER.pack(
        MAGIC, 1, _DIO, _SIZE_4MB_40MHZ, entry, 0xEE, bytes(3), image_id, 0, 0, 0xFFFF, bytes(4), 1
    )
    body = header + _SEGMENT.pack(address, len(content)) + content
    body += bytes(15 - len(body) % 16)
    checksum = _CHECKSUM_SEED
    for byte in content:
        checksum ^= byte
    body += bytes((checksum,))
    return body + hashlib.sha256(body).digest()


def _description(version: str) -> bytes:
    texts = (version, "micropython", "00:00:00", "Sep  1 2026", "v5.5.1")
    return _APP_DESCRIPTION.pack(
        _APP_MAGIC, 0, bytes(8), *(text.encode() for text in texts), bytes(32), bytes(80)
    )


def _filling(size: int) -> bytes:
    """Bytes that don't compress to nothing, the same each time."""
    blocks = (hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(size // 32))
    return b"".join(blocks)
