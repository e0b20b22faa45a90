"""Times such as "90s", "30m", "24h", "7d", and ranges of columns, as the network file has them."""

import re
from collections.abc import Mapping

from dcka.config.checks import Check, Unfit, bare, shown

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_READING = 2**31
MOST_S = 10 * 366 * 86_400

Ranges = tuple[tuple[str, float, float], ...]


def seconds(text: object) -> int:
    """A duration in whole seconds. Raises Unfit."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", text) if isinstance(text, str) else None
    value = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 1 <= value <= MOST_S:
        raise Unfit
    return value


def duration() -> Check:
    """Text such as "24h"; in whole seconds."""
    return Check('a time such as "90s", "30m", "24h" or "7d"', seconds)


def in_words(value_s: int) -> str:
    """The text of a duration, in the largest unit that fits."""
    unit = next(name for name in reversed(_UNITS) if value_s % _UNITS[name] == 0)
    return f"{value_s // _UNITS[unit]}{unit}"


def ranges() -> Check:
    """A table of columns, each [low, high]; as (name, low, high) of each, in the order of the table."""
    allowed = "a table with the ends of each column, such as { temperature = [-10, 50] }"

    def convert(value: object) -> Ranges:
        if not isinstance(value, Mapping):
            raise Unfit
        return tuple(_ends(name, pair) for name, pair in value.items())

    return Check(allowed, convert)


def _ends(name: str, pair: object) -> tuple[str, float, float]:
    fits = isinstance(pair, list) and len(pair) == 2 and all(_is_number(end) for end in pair)
    if not fits or not pair[0] < pair[1]:  # type: ignore[index]
        raise Unfit(f"{bare(name)} = {shown(pair)}: it must be [low, high], the lower end first")
    return name, float(pair[0]), float(pair[1])  # type: ignore[index]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _READING
