"""A file to a table of text: names, and rows that all have one width."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dcka.inject.cells import Row, rows_of
from dcka.inject.columns import Columns
from dcka.inject.dialect import Dialect, check_decimal, check_delimiter, find_dialect, first_row_is_header
from dcka.inject.errors import DataError, listed, shown
from dcka.inject.report import counted
from dcka.inject.source_text import Source, read_source


@dataclass(frozen=True)
class TextTable:
    """`lines[i]` is the line on which row i begins; `blank` counts the blank lines that were skipped."""

    columns: Columns
    lines: tuple[int, ...]
    blank: int
    dialect: Dialect
    header: bool
    encoding: str
    warnings: tuple[str, ...]


def read_text_table(path: Path, delimiter: str | None, decimal: str | None, header: bool | None) -> TextTable:
    """Read `path`; what is None is found out.

    Raises DataError where there is no table of at least one row, or a row has another width than the first.
    """
    told_delimiter, told_decimal = check_delimiter(delimiter), check_decimal(decimal)
    source = read_source(path)
    dialect = find_dialect(source.lines, told_delimiter, told_decimal)
    every = list(rows_of(source.name, source.lines[dialect.body :], dialect.delimiter, dialect.body + 1))
    filled = [row for row in every if not row.blank]
    if not filled:
        raise DataError(f"{source.name} holds only blank lines: nothing to read")
    top = filled[0]
    named, names, warnings = _names(source, filled, dialect, header)
    rows = filled[1:] if named else filled
    if len(names) == 1:
        rows = _with_gaps(every, rows)
    rows, cut = _of_one_width(source, top, rows, dialect, told_decimal)
    if cut:
        warnings.append(
            f"{counted(len(cut), 'row')} with empty cells beyond the last column, the first on line "
            f"{cut[0]}; they were cut"
        )
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        warnings.append(f"the only column is named {shown(names[0])}; is the delimiter right?")
    if source.encoding == "Windows-1252":
        warnings.append("the file is not UTF-8 and was read as Windows-1252; check the names of the columns")
    cells = list(zip(*(row.cells for row in rows), strict=True))
    blank = len(every) - len(rows) - int(named)
    columns = Columns(source.name, names, cells)
    return TextTable(
        columns, tuple(row.line for row in rows), blank, dialect, named, source.encoding, tuple(warnings)
    )


def _names(
    source: Source, filled: Sequence[Row], dialect: Dialect, header: bool | None
) -> tuple[bool, list[str], list[str]]:
    """Whether the first row names the columns; their names (c1, c2 … where it does not); warnings."""
    top = filled[0]
    named = header
    if named is None:
        where = f"{source.name}, line {top.line}"
        named = first_row_is_header(where, [row.cells for row in filled], dialect.decimal)
    if not named:
        names = [f"c{place}" for place in range(1, len(top.cells) + 1)]
        found = (
            f"line {top.line} holds numbers, so it counts as readings and the columns are named "
            f"{listed(names, 4)}; pass --header if it names them"
        )
        return False, names, [found] if header is None else []
    names = [cell.strip() for cell in top.cells]
    if len(filled) == 1:
        raise DataError(
            f"{source.name} holds a header ({listed(names)}) and no readings"
            + ("" if header is None else f"; if line {top.line} is a reading, leave --header out")
        )
    return True, names, []


def _with_gaps(every: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """In a file of one column an empty line between two readings is a reading that is missing."""
    first, last = rows[0].line, rows[-1].line
    return [row if row.cells else Row(row.line, [""]) for row in every if first <= row.line <= last]


def _of_one_width(
    source: Source, top: Row, rows: Sequence[Row], dialect: Dialect, told_decimal: str | None
) -> tuple[list[Row], list[int]]:
    """The rows at the width of the top one, and the lines of those that had empty cells beyond it, cut."""
    width = len(top.cells)
    even: list[Row] = []
    cut: list[int] = []
    for row in rows:
        if len(row.cells) > width and not any(cell.strip() for cell in row.cells[width:]):
            cut.append(row.line)
            row = Row(row.line, row.cells[:width])
        if len(row.cells) != width:
            usual = Counter(len(one.cells) for one in rows).most_common(1)[0][0]
            raise DataError(
                f"{source.name}, line {row.line}: {counted(len(row.cells), 'cell')} where line {top.line} "
                f"has {width} ({shown(source.lines[row.line - 1])}); "
                + _way_out(row, top, usual, dialect, told_decimal)
            )
        even.append(row)
    return even, cut


def _way_out(row: Row, top: Row, usual: int, dialect: Dialect, told_decimal: str | None) -> str:
    if usual == len(row.cells) != len(top.cells) == 1:
        return f"if line {top.line} is a title and not the names of the columns, remove it"
    if dialect.delimiter == "," and told_decimal is None and len(row.cells) > 1:
        return "mend the line, or pass --decimal , if the comma is the decimal sign"
    return "mend the line"
