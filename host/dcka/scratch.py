"""Temporary folders, in memory where the machine has a file system for that.

Nodes and brokers write many small files: making one takes some 10 µs in memory, and up to 0.5 ms on a disk.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")  # Linux; macOS has none
ROOM_BYTES = 32 * 1024 * 1024  # a hundred nodes and a broker; containers often have 64 MB there
PREFIX = "dcka-scratch-"
MARK = ".dcka-scratch"
"""The file in each folder that tells it from a user's own of such a name. Locked while it is in use."""


@contextlib.contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A new folder, `dcka-scratch-PURPOSE-…`, that is removed at the end of the block; for this user alone.

    It is in memory, unless the user names another place for temporary files (TMPDIR) or there is no room.
    What a program that was killed has left there is removed on the way.
    """
    place = _place()
    _remove_left_over(place)
    prefix = f"{PREFIX}{purpose}-"
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True) as name,
        _locked(Path(name) / "new", os.O_CREAT | os.O_EXCL),
    ):
        # Only now has it the name that others look for: an unlocked one would be taken for a left-over.
        (Path(name) / "new").rename(Path(name) / MARK)
        yield Path(name)


def _place() -> Path:
    chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if not chosen and os.access(MEMORY, os.W_OK | os.X_OK):
        status = os.statvfs(MEMORY)
        if status.f_bavail * status.f_frsize >= ROOM_BYTES:
            return MEMORY
    return Path(tempfile.gettempdir())


@contextlib.contextmanager
def _locked(mark: Path, flags: int = 0) -> Iterator[None]:
    """Hold this file's lock. The kernel lets go of it when this process ends, however it ends.

    Raises `FileNotFoundError`, and `BlockingIOError` where somebody holds it.
    """
    descriptor = os.open(mark, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_left_over(place: Path) -> None:
    for folder in place.glob(f"{PREFIX}*"):
        # In use, another user's, without the mark, or removed by another process in the meantime.
        with contextlib.suppress(OSError), _locked(folder / MARK):
            shutil.rmtree(folder)
