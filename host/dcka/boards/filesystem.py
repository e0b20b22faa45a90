"""A board's flash, seen from the host: its partition table, and its file system, LittleFS, built and read.

Formats: the partition table is ESP-IDF's (32-byte entries at 0x8000 of the flash), the file system LittleFS in blocks
of 4096 bytes with the settings of MicroPython's `vfs.VfsLfs2`.
"""

import logging
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from littlefs import LittleFS, LittleFSError, UserContext

from dcka.boards.errors import BoardError

BLOCK_BYTES = 4096
TABLE_OFFSET = 0x8000
TABLE_BYTES = 0xC00
FLASH_BYTES = 4 * 1024 * 1024
VFS_OFFSET = 0x200000
"""Where MicroPython's own images have the file system."""
VFS_NAME = "vfs"

_ENTRY = struct.Struct("<2sBBII16sI")
_ENTRY_MAGIC = b"\xaa\x50"
_DIGEST_MAGIC = b"\xeb\xeb"
_NO_SPACE = LittleFSError.Error.LFS_ERR_NOSPC

# As MicroPython mounts it. A file of up to cache_size bytes lies in its directory's block: one written with a larger
# cache than the reader's is cut there.
_SETTINGS: dict[str, Any] = {
    "block_size": BLOCK_BYTES,
    "read_size": 32,
    "prog_size": 32,
    "cache_size": 128,
    "lookahead_size": 32,
    "block_cycles": 100,
}
# What is built here is read by every MicroPython with LittleFS; one that writes 2.1 raises it on its first write.
_DISK_VERSION = 0x00020000

# It logs every block that it touches, and would make the texts even where nobody listens.
logging.getLogger("littlefs.context").setLevel(logging.WARNING)


class FilesystemError(BoardError):
    """The flash has no such partition or no file system, or the files have no room in it."""


@dataclass(frozen=True)
class Partition:
    """One entry of the partition table; offset and size in bytes of the flash."""

    name: str
    kind: int
    subtype: int
    offset: int
    size: int


class _Memory(UserContext):
    """The blocks in memory. The library's own takes a quarter of a second to log what it does."""

    def read(self, cfg: object, block: int, off: int, size: int) -> bytearray:
        start = block * BLOCK_BYTES + off
        return self.buffer[start : start + size]

    def prog(self, cfg: object, block: int, off: int, data: bytes) -> int:
        start = block * BLOCK_BYTES + off
        self.buffer[start : start + len(data)] = data
        return 0

    def erase(self, cfg: object, block: int) -> int:
        start = block * BLOCK_BYTES
        self.buffer[start : start + BLOCK_BYTES] = b"\xff" * BLOCK_BYTES
        return 0


def partitions(image: bytes, image_offset: int = 0) -> tuple[Partition, ...]:
    """The partition table in `image`, whose first byte lies at `image_offset` of the flash (0x1000 for an ESP32's).

    Raises `FilesystemError` where there is none.
    """
    start = TABLE_OFFSET - image_offset
    found = []
    for place in range(start, min(start + TABLE_BYTES, len(image) - _ENTRY.size + 1), _ENTRY.size):
        magic, kind, subtype, offset, size, name, _flags = _ENTRY.unpack_from(image, place)
        if magic != _ENTRY_MAGIC:
            break
        found.append(Partition(name.rstrip(b"\0").decode(errors="replace"), kind, subtype, offset, size))
    if not found:
        raise FilesystemError(f"the image has no partition table at {TABLE_OFFSET:#x} of the flash")
    return tuple(found)


def partition_table(entries: tuple[Partition, ...]) -> bytes:
    """The bytes of a partition table, as `partitions` reads them."""
    table = b"".join(
        _ENTRY.pack(_ENTRY_MAGIC, entry.kind, entry.subtype, entry.offset, entry.size, entry.name.encode(), 0)
        for entry in entries
    )
    return table.ljust(TABLE_BYTES, b"\xff")


def vfs_partition(image: bytes, image_offset: int = 0) -> Partition:
    """The partition of the file system. Raises `FilesystemError` where the image has none."""
    found = partitions(image, image_offset)
    for entry in found:
        if entry.name == VFS_NAME:
            return entry
    names = ", ".join(entry.name for entry in found)
    raise FilesystemError(
        f"the image has no partition {VFS_NAME!r} for files, only {names}: it is no MicroPython"
    )


def build_littlefs(files: Mapping[str, bytes], size: int) -> bytes:
    """A LittleFS of `size` bytes that holds `files` (path on the board, with or without "/" → content).

    Erased bytes are 0xFF. Raises `FilesystemError` where the files have no room, and for a path that is none.
    """
    disk = _Memory(buffer=bytearray(b"\xff" * size))
    filesystem = LittleFS(
        context=disk, mount=False, block_count=_blocks(size), disk_version=_DISK_VERSION, **_SETTINGS
    )
    filesystem.format()
    filesystem.mount()
    for name in sorted(files):
        _put(filesystem, name, files[name], size)
    filesystem.unmount()
    return bytes(disk.buffer)


def read_littlefs(image: bytes) -> dict[str, bytes]:
    """The files of a LittleFS: path without a leading "/" → content. Empty folders are left out.

    Raises `FilesystemError` where there is no LittleFS, or a damaged one.
    """
    try:
        filesystem = _mounted(bytearray(image))
        found = {}
        for folder, _, names in filesystem.walk("/"):
            for name in names:
                path = f"{folder.rstrip('/')}/{name}"
                with filesystem.open(path, "rb") as file:
                    found[path.lstrip("/")] = file.read()
        filesystem.unmount()
    except LittleFSError as error:
        raise FilesystemError(f"there is no whole LittleFS: {error}") from error
    return found


def change_littlefs(image: bytes, files: Mapping[str, bytes | None]) -> bytes:
    """The same LittleFS with `files` written, or removed where None. Raises `FilesystemError`."""
    disk = bytearray(image)
    try:
        filesystem = _mounted(disk)
        for name, content in files.items():
            if content is None:
                filesystem.remove("/" + name.lstrip("/"))
            else:
                _put(filesystem, name, content, len(disk))
        filesystem.unmount()
    except LittleFSError as error:
        raise FilesystemError(f"the LittleFS cannot be changed: {error}") from error
    return bytes(disk)


def free_blocks(image: bytes) -> int:
    """How many blocks of a LittleFS are not in use. Raises `FilesystemError` where there is none."""
    try:
        filesystem = _mounted(bytearray(image))
        free: int = filesystem.block_count - filesystem.used_block_count
        filesystem.unmount()
    except LittleFSError as error:
        raise FilesystemError(f"there is no whole LittleFS: {error}") from error
    return free


def _blocks(size: int) -> int:
    if size < 2 * BLOCK_BYTES or size % BLOCK_BYTES:
        raise FilesystemError(f"a file system of {size} bytes is no number of blocks of {BLOCK_BYTES} bytes")
    return size // BLOCK_BYTES


def _mounted(disk: bytearray) -> LittleFS:
    blocks = _blocks(len(disk))
    filesystem = LittleFS(context=_Memory(buffer=disk), mount=False, block_count=blocks, **_SETTINGS)
    filesystem.mount()
    return filesystem


def _put(filesystem: LittleFS, name: str, content: bytes, size: int) -> None:
    path = PurePosixPath("/" + name.lstrip("/"))
    if path == PurePosixPath("/") or ".." in path.parts:
        raise FilesystemError(f"{name!r} is no path of a file on a board")
    try:
        filesystem.makedirs(str(path.parent), exist_ok=True)
        with filesystem.open(str(path), "wb") as file:
            file.write(content)
    except LittleFSError as error:
        if error.code == _NO_SPACE:
            raise FilesystemError(
                f"{path} ({len(content)} bytes) has no room in the file system of {size} bytes"
            ) from error
        raise FilesystemError(f"{path} cannot be written into the file system: {error}") from error
