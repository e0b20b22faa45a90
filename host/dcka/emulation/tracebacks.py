"""What a node printed before it ended, in the words of its sources."""

import re
from collections.abc import Mapping, Sequence
from functools import partial

_FRAME = re.compile(r'(\s*File "([^"]*)"), line (\d+)(?:, in (.*))?')
_QUOTED = re.compile(r"(attribute )?'([A-Za-z_][A-Za-z0-9_]*)'")

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

    `File "dcka_device.shell", line 1, in bq` names the file of the build and MicroPython says 1, as what was compiled
    for a node has no line numbers; it becomes `File "dcka_core.gossip", in take`. The error's own line (`no attribute
    'bq'`) speaks of names in the file of the last frame; where one name stands for several there, all are shown.
    """
    found: list[str] = []
    here: Mapping[str, str] = {}
    for line in lines:
        frame = _FRAME.fullmatch(line)
        if frame is None:
            found.append(_QUOTED.sub(partial(_real, names=here), line) if here else line)
        elif _is_source(frame):
            here = {}
            found.append(line)
        else:
            here = names.get(frame[2], {})
            found.append(_real_frame(frame, here))
    return found


def _is_source(frame: "re.Match[str]") -> bool:
    return frame[2].endswith(".py")


def _real_frame(frame: "re.Match[str]", names: Mapping[str, str]) -> str:
    if not frame[4]:
        return frame[1]
    functions = [one for one in names.get(frame[4], "").split("/") if ":" in one]
    modules = {one.partition(":")[0] for one in functions}
    function = functions[0].partition(":")[2] if functions else frame[4]
    # Methods that share their name in the sources share it in the build; of others none does.
    place = frame[1].replace(f'"{frame[2]}"', f'"{modules.pop()}"') if len(modules) == 1 else frame[1]
    return f"{place}, in {function.removeprefix('.')}"


def _real(said: "re.Match[str]", names: Mapping[str, str]) -> str:
    """A quoted word, as attributes or as globals have it."""
    labels = [one.rpartition(":")[2] for one in names.get(said[2], said[2]).split("/")]
    fitting = [label for label in labels if label.startswith(".") == bool(said[1])] or labels
    return f"{said[1] or ''}'{'/'.join(label.removeprefix('.') for label in fitting)}'"


def last_place(lines: Sequence[str]) -> str:
    """` (dcka_core.gossip, take)`: where the last traceback ends, once its names are real; nothing without one."""
    places = [line.strip() for line in lines if line.lstrip().startswith('File "')]
    if not places:
        return ""
    place = places[-1].removeprefix("File ").replace('"', "").replace(", in ", ", ")
    return f" ({place})"
