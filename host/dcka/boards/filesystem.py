"""A board's file system, LittleFS, built and read on the host: as MicroPython's `vfs.VfsLfs2` mounts it."""

import logging
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from littlefs import LittleFS, LittleFSError, UserContext

from dcka.boards.errors import BoardError

BLOCK_BYTES = 4096
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
    """There is no whole file system, or the files have no room in it."""


class _Memory(UserContext):
    """The blocks in memory. The library's own spends its time on a log."""

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
