"""What a value of the network file has to be: one `Check` a kind, with the words for people.

A check turns the raw TOML value into what the program uses, or raises `Unfit`. It knows nothing of files,
sections and flags; who calls it says where the value stands.
"""

import difflib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dcka.topology.graph import MAX_ID, TopologyError, checked_ids

_SHOWN_CHARACTERS = 60

_HEAP_UNITS = {"": 1, "K": 1024, "M": 1024**2}
_HEAP_LOW = 32 * 1024
_HEAP_HIGH = 1024**3


class Unfit(ValueError):
    """The value is not what it has to be. Its text, where there is one, says more than the allowed range."""


@dataclass(frozen=True)
class Check:
    """`allowed` completes the sentence "it must be …"; `convert` returns the value to use or raises Unfit."""

    allowed: str
    convert: Callable[[object], object]


def whole(low: int, high: int, also: str = "") -> Check:
    """An integer from `low` to `high`; `also` is said after the range."""

    def convert(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit
        return value

    return Check(f"a whole number from {low} to {high}{also}", convert)


def slot_time(least: int, most: int) -> Check:
    """Milliseconds of a slot: 0 for none, or from `least` to `most`."""

    def convert(value: object) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not (value == 0 or least <= value <= most):  # type: ignore[operator]
            raise Unfit
        return value  # type: ignore[return-value]

    return Check(
        f"0 (nodes stay awake) or {least} to {most}: a slot has to hold 4 times what a message may be late, which is "
        f"{least // 4} ms between emulated nodes",
        convert,
    )


def real(low: float, high: float, also: str = "") -> Check:
    """A number, whole or not, from `low` to `high`; never NaN."""

    def convert(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise Unfit
        return float(value)

    return Check(f"a number from {low:g} to {high:g}{also}", convert)


def choice(*words: str) -> Check:
    """One of two or more words, as it is written."""
    allowed = ", ".join(shown(word) for word in words[:-1]) + " or " + shown(words[-1])

    def convert(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        nearest = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
        if nearest:
            raise Unfit(
                f"{shown(value)} is not known; did you mean {shown(nearest[0])}? It must be {allowed}"
            )
        raise Unfit

    return Check(allowed, convert)


def flag() -> Check:
    """A truth value."""

    def convert(value: object) -> bool:
        if not isinstance(value, bool):
            raise Unfit
        return value

    return Check("true or false", convert)


def text(pattern: str, allowed: str) -> Check:
    """A string that the whole of `pattern` matches; `allowed` says so in words."""
    form = re.compile(pattern)

    def convert(value: object) -> str:
        if not isinstance(value, str) or not form.fullmatch(value):
            raise Unfit
        return value

    return Check(allowed, convert)


def path() -> Check:
    """The name of a file, as a path. Whether it is there is looked at where its folder is known."""

    def convert(value: object) -> Path:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise Unfit
        return Path(value)

    return Check("the name of a file", convert)


def texts(allowed: str) -> Check:
    """A list of different, non-empty strings, as a tuple."""

    def convert(value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise Unfit
        for position, word in enumerate(value):
            if not isinstance(word, str) or not word.strip():
                raise Unfit(f"{shown(word)} does not fit; it must be {allowed}")
            if word in value[:position]:
                raise Unfit(f"{shown(word)} is there twice; remove one of the two")
        return tuple(value)

    return Check(allowed, convert)


def node_ids() -> Check:
    """A count N for the ids 1 … N, or a list of ids; as a tuple of ids, ascending."""
    allowed = f"a number of nodes from 1 to {MAX_ID}, or a list of their ids"

    def convert(value: object) -> tuple[int, ...]:
        if isinstance(value, list):
            for node in value:
                if isinstance(node, bool) or not isinstance(node, int):
                    raise Unfit(f"{shown(node)} is no node id; ids are whole numbers from 1 to {MAX_ID}")
            try:
                return checked_ids(value)
            except TopologyError as error:
                raise Unfit(str(error)) from error
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_ID:
            raise Unfit
        return tuple(range(1, value + 1))

    return Check(allowed, convert)


def link_phases() -> Check:
    """A list of phases, each a list of links [a, b]; as nested tuples. The nodes need not exist."""
    allowed = "a list of phases, each a list of links, such as [[[1, 2], [3, 4]], [[2, 3]]]"

    def convert(value: object) -> tuple[tuple[tuple[int, int], ...], ...]:
        if not isinstance(value, list) or not value:
            raise Unfit
        if all(_is_link(item) for item in value):
            raise Unfit(
                f"the links stand in no phase; put one more pair of brackets around them: [{shown(value)}]"
            )
        phases = []
        for number, links in enumerate(value):
            if not isinstance(links, list):
                raise Unfit(f"phase {number} is {shown(links)}; a phase is a list of links, such as [[1, 2]]")
            for link in links:
                if not _is_link(link):
                    raise Unfit(f"phase {number} has {shown(link)}; a link is two node ids, such as [1, 2]")
            phases.append(tuple((link[0], link[1]) for link in links))
        return tuple(phases)

    return Check(allowed, convert)


def heap() -> Check:
    """Bytes as a whole number or as text such as "128K" or "1M"; as bytes."""

    def convert(value: object) -> int:
        size = value
        if isinstance(value, str):
            found = re.fullmatch(r"([0-9]+)([KM]?)", value.upper())
            if not found:
                raise Unfit
            size = int(found[1]) * _HEAP_UNITS[found[2]]
        if isinstance(size, bool) or not isinstance(size, int) or not _HEAP_LOW <= size <= _HEAP_HIGH:
            raise Unfit
        return size

    return Check('a size from "32K" to "1024M"', convert)


def shown(value: object) -> str:
    """A value as TOML writes it, cut where it is long."""
    if isinstance(value, bool):
        words = "true" if value else "false"
    elif isinstance(value, str):
        words = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list | tuple):
        words = "[" + ", ".join(shown(item) for item in value) + "]"
    elif isinstance(value, dict):
        words = "{" + ", ".join(f"{bare(name)} = {shown(item)}" for name, item in value.items()) + "}"
    else:
        words = str(value)
    return words if len(words) <= _SHOWN_CHARACTERS else words[: _SHOWN_CHARACTERS - 1] + "…"


def bare(name: object) -> str:
    """A key as TOML writes it: bare where it can be, else quoted."""
    return str(name) if re.fullmatch("[A-Za-z0-9_-]+", str(name)) else shown(str(name))


def _is_link(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(node, int) and not isinstance(node, bool) for node in value)
    )
