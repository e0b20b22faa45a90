"""Lines of text to rows of cells, each row with the number of the line on which it begins."""

import csv
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dcka.inject.errors import DataError, shown

ONE_COLUMN = ""  # the delimiter of a file whose lines are one cell each
BLANKS = " "  # the delimiter of a file whose cells stand apart by runs of blanks

_NOTHING = " \t,;|"  # marks of another delimiter than the file's are no content either
_NEVER = "\x1f"  # the csv module wants a delimiter; this control character is in no sensor's file


class Row(NamedTuple):
    """`line` counts from 1 as editors do."""

    line: int
    cells: list[str]

    @property
    def blank(self) -> bool:
        """Whether nothing but blanks and delimiters is on the line."""
        return not any(cell.strip(_NOTHING) for cell in self.cells)


def rows_of(name: str, lines: Sequence[str], delimiter: str, first_line: int = 1) -> Iterator[Row]:
    """The rows of `lines`, the first of which is line `first_line` of the file `name`.

    Cells may be quoted with `"`, and a quoted cell may hold delimiters, doubled quotes and line ends.
    Raises DataError, with its line, where a quote is left open or text follows a closed one.
    """
    if delimiter == BLANKS:
        for number, line in enumerate(lines, first_line):
            yield Row(number, line.split())
        return
    reader = csv.reader(
        (line + "\n" for line in lines), delimiter=delimiter or _NEVER, skipinitialspace=True, strict=True
    )
    start = first_line
    try:
        for cells in reader:
            yield Row(start, cells)
            start = first_line + reader.line_num
    except csv.Error as error:
        said = str(error)
        what = "text follows a closed quote" if "expected after" in said else "a quote opens and never closes"
        text = lines[start - first_line]
        raise DataError(f"{name}, line {start}: {what} ({shown(text)}); mend the quotes") from None


def sample_rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """The cells of `lines`, blank rows left out, for guessing; ends where the csv module gives up."""
    if delimiter == BLANKS:
        return [cells for line in lines if (cells := line.split())]
    rows: list[list[str]] = []
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter or _NEVER, skipinitialspace=True)
    try:
        rows.extend(row for row in reader if any(cell.strip() for cell in row))
    except csv.Error:
        return rows  # `rows_of` says what is wrong, and where
    return rows
