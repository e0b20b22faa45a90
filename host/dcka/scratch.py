"""Temporary folders, in memory where the machine has a file system for that.

Nodes and brokers write many small files: making one takes some 10 µs in memory, and up to 0.5 ms on a disk.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")  # Linux; macOS has none
ROOM_BYTES = 32 * 1024 * 1024  # a hundred nodes and a broker; containers often have 64 MB there


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A new folder that is removed at the end of the block, for this user alone.

    It is in memory, unless the user names another place for temporary files (TMPDIR) or there is no room.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, dir=_place(), ignore_cleanup_errors=True) as name:
        yield Path(name)


def _place() -> Path | None:
    chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if chosen or not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    status = os.statvfs(MEMORY)
    return MEMORY if status.f_bavail * status.f_frsize >= ROOM_BYTES else None
