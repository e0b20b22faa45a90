"""What comes out of a board, byte by byte, as lines that a person can read and a terminal cannot obey."""

import re
from collections.abc import Mapping

from dcka.emulation.tracebacks import with_real_names

MAX_LINE_BYTES = 4096  # of a board that prints without an end of line
_MAX_TRACEBACK = 100  # lines; MicroPython's stack is shallow
_TRACEBACK = "Traceback (most recent call last):"
_CRASH = "dcka: crash: "
_BOOT_LINE = re.compile(r"dcka: node (\d{1,5}) of (\S{1,64}), boot \d+, firmware (\S+)")


class Lines:
    """Cuts bytes into lines, wherever the reads happened to end."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def begun(self) -> bool:
        """Whether there is a piece of a line whose end has not come."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """The lines that end in `data`, without their ends; one that grows too long is cut."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > MAX_LINE_BYTES:
            whole.append(self._rest[:MAX_LINE_BYTES])
            self._rest = self._rest[MAX_LINE_BYTES:]
        return [readable(line.rstrip(b"\r")) for line in whole]

    def take(self) -> list[str]:
        """What has come of a line, although its end has not: a prompt, say, or the last words before a reset."""
        rest, self._rest = self._rest.rstrip(b"\r"), b""
        return [readable(rest)] if rest else []


def readable(line: bytes) -> str:
    r"""The line's text. Bytes that are no UTF-8, and signs that a terminal would obey, become \x1b and the like."""
    text = line.decode("utf-8", "backslashreplace")
    return "".join(
        sign if sign.isprintable() or sign == "\t" else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


def node_in(line: str) -> tuple[int, str] | None:
    """The id and the network that a node tells when it starts; None for any other line."""
    found = _BOOT_LINE.search(line)
    return (int(found[1]), found[2]) if found else None


class RealNames:
    """Gives the lines of tracebacks, as they come, the names that the sources have.

    `names` is `Prepared.names` of the firmware that the board runs: module → {short name: real name}.
    """

    def __init__(self, names: Mapping[str, Mapping[str, str]]) -> None:
        self._names = names
        self._before: list[str] = []
        self._ended = False

    def line(self, text: str) -> str:
        """The line, translated where it belongs to a traceback, or repeats its last line."""
        if text.startswith(_TRACEBACK):
            self._before, self._ended = [text], False
            return text
        if not self._before:
            return text
        inside = not self._ended or text.startswith(_CRASH)
        if not inside or len(self._before) > _MAX_TRACEBACK:
            self._before = []
            return text
        self._ended = not text.startswith("  ")
        self._before.append(text)
        return with_real_names(self._before, self._names)[-1]
