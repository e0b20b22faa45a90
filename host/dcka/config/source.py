"""Where a value stands: the text of a network file, and words for a place in it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dcka.config.checks import shown
from dcka.errors import UsageError

_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_NAMES = rf"({_NAME}(?:\s*\.\s*{_NAME})*)"
_HEADER = re.compile(rf"\s*\[\[?\s*{_NAMES}\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(rf"\s*{_NAMES}\s*=")
_POSITION = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.S
)
_TEXT_MARKS = ('"""', "'''")

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Source:
    """`name`: the file as a person knows it. `lines`: the line of each (section,) and (section, key).
    `flags`: the option of the command line that a (section, key) came from, where it came from one."""

    name: str
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    flags: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def place(self, *path: str) -> str:
        """`network.toml, line 7`; without the line where it is not known."""
        line = self.lines.get(path)
        return self.name if line is None else f"{self.name}, line {line}"

    def at(self, section: str, key: str) -> str:
        """`network.toml, line 7: [run] k`, or the flag that the value came from."""
        flag = self.flags.get((section, key))
        return flag or f"{self.place(section, key)}: [{section}] {key}"

    def stated(self, section: str, key: str, value: object) -> str:
        """`network.toml, line 7: [run] k = 0`, or `--k 0`."""
        if (section, key) in self.flags:
            return f"{self.at(section, key)} {value if isinstance(value, str) else shown(value)}"
        return f"{self.at(section, key)} = {shown(value)}"


def read_toml(file: Path) -> tuple[dict[str, object], Source]:
    """The tables of `file`, and where its keys stand.

    Raises UsageError for a file that is not there, cannot be read, is not UTF-8 or is not TOML, with line and
    column and the line itself.
    """
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no {file}; write one with: dcka init --network {file}") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    return parse_toml(_decoded(raw, str(file)), str(file))


def parse_toml(text: str, name: str) -> tuple[dict[str, object], Source]:
    """As `read_toml`, for a text whose errors shall speak of `name`."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_broken(text, name, str(error))) from error
    return tables, Source(name, key_lines(text))


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line (from 1) of each header (section,) and key (section, key) of a TOML text that parses.

    A key before the first header stands under (key,). Inside multi-line strings nothing is looked for.
    """
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    inside: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if inside is not None:
            inside = None if inside in line else inside
            continue
        header, assignment = _HEADER.fullmatch(line), _KEY.match(line)
        if header:
            section = _names(header[1])
            lines.setdefault(section, number)
        elif assignment:
            lines.setdefault(section + _names(assignment[1]), number)
        inside = next((mark for mark in _TEXT_MARKS if line.count(mark) % 2), None)
    return lines


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(name.strip().strip("\"'") for name in dotted.split("."))


def _decoded(raw: bytes, name: str) -> str:
    if raw.startswith(_UTF16_MARKS):
        raise UsageError(f"{name} is written in UTF-16; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{name}, line {line}: a byte that is not UTF-8 (0x{raw[error.start]:02x}); save it as UTF-8"
        ) from error


def _broken(text: str, name: str, message: str) -> str:
    found = _POSITION.fullmatch(message)
    if not found:
        return f"{name}: not TOML: {message}"
    lines = text.splitlines() or [""]
    if found["line"]:
        number, column = int(found["line"]), int(found["column"])
    else:
        number = max((index for index, line in enumerate(lines, start=1) if line.strip()), default=1)
        column = len(lines[number - 1]) + 1
    line = lines[number - 1].strip() if number <= len(lines) else ""
    shown = line if len(line) <= 60 else line[:59] + "…"
    return f"{name}, line {number}, column {column}: {_plainly(found['what'])}" + (
        f"; the line is: {shown}" if shown else ""
    )


def _plainly(what: str) -> str:
    """The parser's few messages that a person meets, in a person's words; the others as they are."""
    declared = re.fullmatch(r"Cannot declare \((.*?),?\) twice", what)
    if declared:
        section = ".".join(re.findall(r"'([^']*)'", declared[1]))
        return f"the section [{section}] is there twice; put its keys together"
    if what == "Cannot overwrite a value":
        return "this key is there twice in its section; remove one"
    if what == "Invalid value":
        return 'there is no value that TOML knows; a text needs quotes ("text"), a number has none'
    if what.startswith("Expected newline or end of document after a statement"):
        return "something follows the value; a text needs quotes, a number takes a point and no spaces"
    return what[:1].lower() + what[1:]
