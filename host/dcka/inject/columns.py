"""Which columns of a table are taken, and a sentence where that cannot be done."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import DataError, listed, shown
from dcka.inject.number_text import is_like_number, is_missing, is_moment, parse_column
from dcka.inject.report import Excluded

MAX_COLUMNS = 512  # the rule of bits (docs/protocol.md, section 1) has none left beyond

_TIME_NAME = re.compile(
    r"(?:unix|epoch)?_?(?:ts|time|timestamp|epoch|unix|date|datetime)(?:_?(?:s|sec|ms|us|ns))?"
)
_EPOCH_UNITS = ((1.0, "seconds"), (1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds"))
_EPOCH_RANGE = (3e8, 5e9)  # 1979 … 2128, in seconds


@dataclass(frozen=True)
class Columns:
    """The columns of a file: `names` by position, and the cells below them, one tuple a column."""

    source: str
    names: Sequence[str]
    cells: Sequence[Sequence[str]]

    def find(self, name: str) -> int:
        """The position of the column `name`. Raises DataError: unknown (with the nearest name), or twice."""
        places = [index for index, known in enumerate(self.names) if known == name.strip() and known]
        if len(places) == 1:
            return places[0]
        if places:
            where = " and ".join(str(index + 1) for index in places)
            raise DataError(
                f"{self.source}: columns {where} are both named {shown(name)}; give one another name"
            )
        known = [one for one in self.names if one]
        folded = {one.casefold(): one for one in reversed(known)}
        near = difflib.get_close_matches(name.strip().casefold(), list(folded), 1)
        meant = f"; did you mean {shown(folded[near[0]])}?" if near else ""
        raise DataError(
            f"{self.source}: no column {shown(name)}{meant or '.'} Its columns: {listed(known, 40)}"
        )


def choose(
    table: Columns, wanted: Sequence[str] | None, decimal: str, used: dict[int, str]
) -> tuple[list[int], list[Excluded]]:
    """The positions of the columns to take, and the ones not taken.

    `wanted` names them; None takes every column of numbers but those in `used` (position → what for).
    Raises DataError: nothing to take, a name unknown or twice, more than `MAX_COLUMNS`.
    """
    if wanted is None:
        chosen, excluded = _all_numeric(table, decimal, used)
    else:
        chosen, excluded = [table.find(name) for name in wanted], []
        if not chosen:
            raise DataError(f"{table.source}: no column is named; give at least one")
    if len(chosen) > MAX_COLUMNS:
        raise DataError(
            f"{table.source}: {len(chosen)} columns of numbers, and a node takes at most {MAX_COLUMNS}; "
            "name those you want with --columns"
        )
    names = [table.names[index] for index in chosen]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        table.find(double)  # raises where the file has the name twice; otherwise it was asked for twice
        raise DataError(f"column {shown(double)} is named twice; name each column once")
    return chosen, excluded


def _all_numeric(table: Columns, decimal: str, used: dict[int, str]) -> tuple[list[int], list[Excluded]]:
    chosen: list[int] = []
    excluded: list[Excluded] = []
    for index, (name, cells) in enumerate(zip(table.names, table.cells, strict=True)):
        reason = used.get(index) or ("no name" if not name else _why_not_numeric(name, cells, decimal))
        if reason:
            excluded.append(Excluded(name or "column %s" % (index + 1), reason))
        else:
            chosen.append(index)
    if not chosen:
        reasons = listed([f"{name} ({reason})" for name, reason in excluded])
        raise DataError(
            f"{table.source}: no column of numbers. Not taken: {reasons}. Check the delimiter and the "
            "decimal sign, or name the columns with --columns"
        )
    return chosen, excluded


def _why_not_numeric(name: str, cells: Sequence[str], decimal: str) -> str | None:
    """None for a column of numbers; a few bad cells do not make it another, for they must be told."""
    values = parse_column(cells, decimal)
    bad = [cell for cell, lost in zip(cells, np.isnan(values), strict=True) if lost]
    numbers = len(cells) - len(bad)
    said = [cell for cell in bad if not is_missing(cell)]
    if not numbers and not said:
        return "empty"
    if said and not numbers and all(is_moment(cell) for cell in said):
        return "date or time"
    meant = numbers + sum(is_like_number(cell) for cell in said)
    if not numbers or 2 * meant < numbers + len(said):
        return f"text, numbers in {numbers} of {len(cells)} rows" if numbers else "text"
    return _why_time(name, values[~np.isnan(values)])


def _why_time(name: str, values: NDArray[np.float64]) -> str | None:
    """Seconds since 1970 are numbers, but a clustering of them is seldom meant."""
    if _TIME_NAME.fullmatch(name.casefold()) is None:
        return None
    for unit, word in _EPOCH_UNITS:
        if np.all((values >= _EPOCH_RANGE[0] * unit) & (values <= _EPOCH_RANGE[1] * unit)):
            return f"date or time, in {word} since 1970"
    return None
