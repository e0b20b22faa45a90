"""What a node printed before it ended, in the words of its sources."""

import re
from collections.abc import Mapping, Sequence

_FRAME = re.compile(r'(\s*File "([^"]*)", line (\d+)).*')
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

    `File "dcka_core.gossip", line 88, in _7` names the module. The error's own line (`no attribute '_7'`) speaks
    of names in the code of the last frame: a name that two files use is never shortened.
    """
    found: list[str] = []
    here: Mapping[str, str] = {}
    for line in lines:
        frame = _FRAME.fullmatch(line)
        if frame:
            here = names.get(frame[2], {})
        found.append(_renamed(line, here, after=frame[1] if frame else ""))
    return found


def _renamed(line: str, names: Mapping[str, str], after: str) -> str:
    """The line, with the short names that stand after its beginning `after` replaced."""
    return after + _SHORT.sub(lambda word: names.get(word[0], word[0]), line[len(after) :])


def last_place(lines: Sequence[str]) -> str:
    """` (dcka_core.gossip, line 88)`: where the last traceback ends; nothing where there is none."""
    places = [frame for line in lines if (frame := _FRAME.fullmatch(line))]
    return f" ({places[-1][2]}, line {places[-1][3]})" if places else ""
