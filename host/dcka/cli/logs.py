"""Which lines go to stderr, and how they look: for a person, for a log file, or for the journal of systemd.

A verb's words and the log records of libraries go through the same sieve. Levels are the standard library's.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TextIO

from dcka.errors import UsageError

LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
VARIABLE = "DCKA_LOG"
DEFAULT = "info"

# What sd-daemon(3) has for these: journald takes the number off, and keeps it as the line's priority.
_PRIORITIES = {logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}
# Their records of level debug are a dump of what they compile or which fonts they look at.
_CHATTERERS = ("numba", "matplotlib", "PIL", "fontTools")


class _Settings:
    level = LEVELS[DEFAULT]
    service = False


def set_level(name: str) -> None:
    """Show lines of level `name`, a key of LEVELS, and more serious ones."""
    _Settings.level = LEVELS[name]
    # Libraries have their say at debug: below that what they call a warning is mostly a note to programmers.
    logging.getLogger().setLevel(logging.DEBUG if name == "debug" else max(logging.WARNING, LEVELS[name]))


def level_of_environment() -> str:
    """What DCKA_LOG says; the default where it says nothing. Raises UsageError."""
    said = os.environ.get(VARIABLE, "").strip().lower() or DEFAULT
    if said not in LEVELS:
        raise UsageError(f"{VARIABLE} is {said}: it can be {', '.join(LEVELS)}")
    return said


def shows(level: int) -> bool:
    """Whether a line of that level is to be shown."""
    return level >= _Settings.level


def begin_service() -> None:
    """From here on this verb runs until it is told to end: off a terminal its lines get a time and a level."""
    _Settings.service = True


def is_plain(stream: TextIO) -> bool:
    """Whether lines go to `stream` as they are: not into the journal, or a long-running verb's log file."""
    return not is_journal(stream) and not (_Settings.service and not stream.isatty())


def is_journal(stream: TextIO) -> bool:
    """Whether systemd reads `stream`: it says so by device and inode in JOURNAL_STREAM (systemd.exec(5))."""
    said = os.environ.get("JOURNAL_STREAM")
    if not said:
        return False
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return said == f"{status.st_dev}:{status.st_ino}"


def lines(text: str, level: int, stream: TextIO, at: datetime | None = None) -> str:
    """`text` as `stream` is to have it, without the last line end. `at`: when it was, now if not given."""
    if is_plain(stream):
        return text
    if is_journal(stream):
        start = f"<{_PRIORITIES[level]}>"
    else:
        moment = (at or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        start = f"{moment} {logging.getLevelName(level).lower()}: "
    return "\n".join(start + line for line in text.strip("\n").splitlines() or [""])


def put(text: str, level: int, stream: TextIO, at: datetime | None = None) -> None:
    """Write it, if it is to be shown."""
    if shows(level):
        # In one piece, or another thread's line comes between the text and its end.
        stream.write(lines(text, level, stream, at) + "\n")
        stream.flush()


class _Records(logging.Handler):
    """Log records of libraries, and of our own modules that know of no command line."""

    def emit(self, record: logging.LogRecord) -> None:
        level = max((known for known in _PRIORITIES if known <= record.levelno), default=logging.DEBUG)
        try:
            text = f"{record.name}: {record.getMessage()}"
            put("".join(sign if sign.isprintable() else " " for sign in text), level, sys.stderr)
        except Exception:
            self.handleError(record)


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Show log records for the time of the block; at its end all settings are the default ones again."""
    handler, root = _Records(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    for name in _CHATTERERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    set_level(DEFAULT)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        _Settings.level, _Settings.service = LEVELS[DEFAULT], False
