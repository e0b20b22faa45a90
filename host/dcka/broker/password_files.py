"""Passwords in files that their owner alone may read: one line a file."""

import os
import stat
from pathlib import Path

from dcka.errors import UsageError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_password_file(file: Path) -> str:
    """The first line of a file that its owner alone may read. Raises UsageError."""
    try:
        with file.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & _OTHERS:
                raise UsageError(f"{file} can be read by others than its owner: chmod 600 {file}")
            line = stream.readline()
    except OSError as error:
        raise UsageError(f"the password file {file} cannot be read: {error.strerror}") from error
    try:
        return line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the password file {file} is no UTF-8 text") from None
