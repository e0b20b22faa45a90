"""What a node printed before it ended, in the words of its sources."""

import re
from collections.abc import Mapping, Sequence

_FRAME = re.compile(r'(\s*File "([^"]*)"), line (\d+)(?:, in (.*))?')
_SHORT = re.compile(r"(?<!\w)_[0-9]+(?!\w)")

# Without a traceback, so many of the last lines are shown.
_LAST_LINES = 20


def last_traceback(lines: Sequence[str]) -> list[str]:
    """From the last traceback on (it may come on stdout or stderr); without one the last lines."""
    for position in range(len(lines) - 1, -1, -1):
        if lines[position].startswith("Traceback"):
            return list(lines[position:])
    return list(lines[-_LAST_LINES:])


def with_real_names(lines: Sequence[str], names: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The same lines with the names that the sources have; `names` is `Build.names`.

    `File "dcka_core.gossip", line 1, in _7` names the module; what was compiled for a node has no line numbers, and
    MicroPython says 1. The error's own line (`no attribute '_7'`) speaks of names in the code of the last frame: a
    name that two files use is never shortened.
    """
    found: list[str] = []
    here: Mapping[str, str] = {}
    for line in lines:
        frame = _FRAME.fullmatch(line)
        if frame and not _is_source(frame):
            here = names.get(frame[2], {})
            found.append(frame[1] + _renamed(f", in {frame[4]}" if frame[4] else "", here))
        else:
            found.append(line if frame else _renamed(line, here))
    return found


def _is_source(frame: "re.Match[str]") -> bool:
    return frame[2].endswith(".py")


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with its short names replaced."""
    return _SHORT.sub(lambda word: names.get(word[0], word[0]), text)


def last_place(lines: Sequence[str]) -> str:
    """` (dcka_core.gossip, take)`: where the last traceback ends, once its names are real; nothing without one."""
    places = [line.strip() for line in lines if line.lstrip().startswith('File "')]
    if not places:
        return ""
    place = places[-1].removeprefix("File ").replace('"', "").replace(", in ", ", ")
    return f" ({place})"
