"""Readings that are numbers and yet may be none: warnings, for a person to decide."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import listed, shown
from dcka.inject.report import counted

# What loggers and sensors put where they have no reading: nines, −200 (air quality stations), −127 and 85
# (DS18B20: disconnected, not yet converted), the ends of 16- and 32-bit integers.
_KNOWN_MARKER = re.compile(r"-?9{2,}|-200|-127|85|-32768|32767|65535|-2147483648|2147483647")
_OFTEN = 3  # so many times the same far value is suspect even where it is no known marker
_FAR = 2.0  # gap to the nearest other reading, in spreads of all others
_COUNTER_ROWS = 3
_COUNTER_SHARE = 0.9  # a logger that lost rows still counts up by one on most of them


def marker_warnings(values: NDArray[np.float64], names: Sequence[str]) -> list[str]:
    """A sentence for each smallest or largest reading of a column that looks like a sign for "missing"."""
    found: dict[str, list[str]] = {}
    for name, column in zip(names, values.T, strict=True):
        for marker in (float(column.min()), float(column.max())):
            rest = column[column != marker]
            times = len(column) - len(rest)
            text = format(marker, ".10g")
            if len(rest) and _is_suspect(text, marker, times, rest):
                among = f"{rest.min():g} to {rest.max():g}"
                found.setdefault(text, []).append(f"{shown(name)} ({counted(times, 'time')}, others {among})")
    return [
        f"the reading {text} lies far outside the others in {listed(columns)}; if it stands for a missing "
        f"reading, pass --missing-marker {text}"
        for text, columns in found.items()
    ]


def _is_suspect(text: str, marker: float, times: int, rest: NDArray[np.float64]) -> bool:
    low, high = float(rest.min()), float(rest.max())
    gap = low - marker if marker < low else marker - high
    if gap <= _FAR * (high - low):
        return False
    if _KNOWN_MARKER.fullmatch(text):
        return True
    # Of two values alone, such as 0 and 1 of a switch, neither is a sign for the lack of the other.
    return marker.is_integer() and _OFTEN <= times < len(rest) and low < high


def counter_warnings(values: NDArray[np.float64], names: Sequence[str]) -> list[str]:
    """A sentence for each column that counts rows: it would drive the clusters, and says nothing."""
    if len(values) < _COUNTER_ROWS:
        return []
    by_one = (np.diff(values, axis=0) == 1.0).mean(axis=0)
    return [
        f"column {shown(name)} goes up by one from row to row; if it is a row number, "
        "leave it out with --columns"
        for name, share in zip(names, by_one, strict=True)
        if share >= _COUNTER_SHARE
    ]


def thousands_warnings(cells: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
    """A sentence for each column whose decimal commas could all be marks of thousands (`101,325`)."""
    said = []
    for name, column in zip(names, cells, strict=True):
        with_comma = [cell.strip() for cell in column if "," in cell]
        if with_comma and all(re.fullmatch(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}", cell) for cell in with_comma):
            said.append(
                f"column {shown(name)}: every comma is followed by three digits; read as a decimal comma, so "
                f"{with_comma[0]} is {with_comma[0].replace(',', '.')} (if it marks thousands, write the "
                "numbers without it)"
            )
    return said
