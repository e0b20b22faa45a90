"""A person's CSV to a table of readings: nothing guessed silently, nothing wrong let through.

docs/data.md is the description for people: what a file may look like, and every refusal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcka.inject.columns import choose
from dcka.inject.errors import DataError, shown
from dcka.inject.oddities import counter_warnings, marker_warnings, thousands_warnings
from dcka.inject.report import Excluded, Report
from dcka.inject.sieve import Missing, Sieve, Sifted
from dcka.inject.text_table import TextTable, read_text_table


@dataclass(frozen=True, eq=False)
class Table:
    """The readings of one file, M rows of n columns, in the file's order.

    `lines[i]` is the line on which row i begins; `groups` and `labels` are the text of the split and of the
    label column, where they were asked for.
    """

    source: str
    columns: tuple[str, ...]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]
    groups: tuple[str, ...] | None
    labels: tuple[str, ...] | None
    report: Report


def read_csv(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: Missing = "refuse",
    missing_marker: Sequence[str] | None = None,
    split_by: str | None = None,
    label: str | None = None,
) -> Table:
    """Read the readings of a CSV file, plain or gzip.

    `columns`: their names; None takes all columns of numbers but the split and the label column.
    `delimiter` (a character, or "tab", "space", "none" …), `decimal` ("." or ","), `header`: None finds out.
    `missing`: what happens to a row with a cell that is no number. `missing_marker`: texts that stand for a
    missing reading; rows with one are left out and counted under either rule.
    Raises DataError with file, line, column, value and what to do; nothing is returned half read.
    """
    if missing not in ("refuse", "drop"):
        raise DataError(f'missing {shown(missing)}: it is "refuse" or "drop"')
    text = read_text_table(Path(path), delimiter, decimal, header)
    split_at = None if split_by is None else text.columns.find(split_by)
    label_at = None if label is None else text.columns.find(label)
    used = {at: what for at, what in ((label_at, "the labels"), (split_at, "the split")) if at is not None}
    chosen, excluded = choose(text.columns, columns, text.dialect.decimal, used)
    sieve = Sieve(text.columns, text.lines, chosen, split_at, text.dialect.decimal, missing_marker or ())
    sifted = sieve.sift(missing)
    names = tuple(text.columns.names[index] for index in chosen)
    warnings = list(text.warnings + sifted.warnings) + marker_warnings(sifted.values, names)
    if columns is None:
        warnings += counter_warnings(sifted.values, names)
    if text.dialect.decimal == "," and decimal is None:
        warnings += thousands_warnings([text.columns.cells[index] for index in chosen], names)
    lines = np.array(text.lines, dtype=np.int64)[sifted.kept]
    groups, labels = _texts(text, split_at, sifted), _texts(text, label_at, sifted)
    report = _report(text, sifted, excluded, warnings)
    return Table(text.columns.source, names, sifted.values, lines, groups, labels, report)


def _texts(text: TextTable, at: int | None, sifted: Sifted) -> tuple[str, ...] | None:
    if at is None:
        return None
    cells = text.columns.cells[at]
    return tuple(cells[row].strip() for row in sifted.kept)


def _report(text: TextTable, sifted: Sifted, excluded: Sequence[Excluded], warnings: Sequence[str]) -> Report:
    rows = list(zip(*text.columns.cells, strict=True))
    distinct = {rows[row] for row in sifted.kept}
    return Report(
        source=text.columns.source,
        rows=len(sifted.kept),
        dropped=sifted.dropped,
        blank=text.blank,
        excluded=tuple(excluded),
        repeated=len(sifted.kept) - len(distinct),
        delimiter=text.dialect.delimiter,
        decimal=text.dialect.decimal,
        header=text.header,
        encoding=text.encoding,
        warnings=tuple(warnings),
    )
