"""An image for an emulated chip: what esptool, the partition table's reader and a person take for MicroPython.

No chip can run it. It has what a real one has and this host looks at: the bootloader's header, segment, checksum and
SHA-256, the partition table, and an application with its description and MicroPython's version text.
Formats: Espressif's "Firmware Image Format" and esp_app_desc_t.
"""

import hashlib
import struct
from dataclasses import dataclass

from dcka.boards.filesystem import (
    FLASH_BYTES,
    TABLE_OFFSET,
    VFS_NAME,
    VFS_OFFSET,
    Partition,
    partition_table,
)

APP_OFFSET = 0x10000
VERSION = "1.29.0"
MARK = b"MicroPython v"
"""What the flash must hold for MicroPython to start."""
MAGIC = 0xE9

_HEADER = struct.Struct("<BBBBIB3sHBHH4sB")
_SEGMENT = struct.Struct("<II")
_APP_DESCRIPTION = struct.Struct("<II8s32s32s16s16s32s32s80s")
_APP_MAGIC = 0xABCD5432
_CHECKSUM_SEED = 0xEF
_DIO = 2
_SIZE_4MB_40MHZ = 0x20


@dataclass(frozen=True)
class _Layout:
    """image_id: bytes 12 and 13 of an image. data: an address that the chip maps to constants in flash; code: one of
    the memory that the bootloader is loaded to."""

    name: str
    image_id: int
    bootloader_offset: int
    data: int
    code: int


_LAYOUTS = {
    "esp32": _Layout("ESP32", 0, 0x1000, 0x3F400020, 0x40080400),
    "esp32s3": _Layout("ESP32S3", 9, 0, 0x3C000020, 0x40378000),
    "esp32c3": _Layout("ESP32C3", 5, 0, 0x3C000020, 0x40380000),
    "esp32c6": _Layout("ESP32C6", 13, 0, 0x42800020, 0x40810000),
}

CHIPS = tuple(_LAYOUTS)


def bootloader_offset(chip: str) -> int:
    """Where an image for this chip begins in the flash."""
    return _LAYOUTS[chip].bootloader_offset


def micropython_image(chip: str, version: str = VERSION, size: int = 64 * 1024) -> bytes:
    """An image for `chip` (one of `CHIPS`), to be written at its bootloader's offset; `size` of the application."""
    layout = _LAYOUTS[chip]
    start = layout.bootloader_offset
    table = partition_table(
        (
            Partition("nvs", 1, 2, 0x9000, 0x6000),
            Partition("phy_init", 1, 1, 0xF000, 0x1000),
            Partition("factory", 0, 0, APP_OFFSET, VFS_OFFSET - APP_OFFSET),
            Partition(VFS_NAME, 1, 0x81, VFS_OFFSET, FLASH_BYTES - VFS_OFFSET),
        )
    )
    boot = _image(layout, layout.code, hashlib.sha256(layout.name.encode()).digest() * 32)
    text = f"MicroPython v{version} on 2026-09-01; Generic {layout.name} module with {layout.name}\0".encode()
    app = _image(layout, layout.data, _description(version) + text + _filling(size))
    whole = bytearray(b"\xff" * (APP_OFFSET - start)) + app
    whole[: len(boot)] = boot
    whole[TABLE_OFFSET - start : TABLE_OFFSET - start + len(table)] = table
    return bytes(whole)


def holds_micropython(flash: bytes, chip: str) -> bool:
    """Whether a chip with this flash starts MicroPython."""
    app = flash[APP_OFFSET:VFS_OFFSET]
    return bootable(flash, chip) and app[:1] == bytes((MAGIC,)) and MARK in app


def bootable(flash: bytes, chip: str) -> bool:
    """Whether the ROM finds a bootloader for this chip."""
    layout = _LAYOUTS[chip]
    header = flash[layout.bootloader_offset : layout.bootloader_offset + _HEADER.size]
    return header[0] == MAGIC and int.from_bytes(header[12:14], "little") == layout.image_id


def _image(layout: _Layout, address: int, content: bytes) -> bytes:
    """One segment, its checksum at the end of a block of 16 bytes, and the SHA-256 of all before it."""
    content += bytes(-len(content) % 4)
    header = _HEADER.pack(
        MAGIC,
        1,
        _DIO,
        _SIZE_4MB_40MHZ,
        layout.code,
        0xEE,
        bytes(3),
        layout.image_id,
        0,
        0,
        0xFFFF,
        bytes(4),
        1,
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
