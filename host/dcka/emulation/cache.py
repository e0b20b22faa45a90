"""Where this user's programs keep what they can make again."""

import os
import stat
import sys
import tempfile
from pathlib import Path

from dcka.emulation.errors import BuildError

KEEP_S = 14 * 24 * 3600.0
"""What nobody has used for two weeks leaves the cache."""


def user_cache() -> Path:
    """The user's cache folder; a private temporary one without. Raises `BuildError`."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "dcka"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass  # no home, or one that is read-only, as in many containers
    folder = Path(tempfile.gettempdir()) / f"dcka-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise BuildError(f"{folder} belongs to somebody else: remove it, or set XDG_CACHE_HOME")
    return folder
