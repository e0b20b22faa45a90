"""How a file is written: its delimiter, its decimal sign, whether its first row names the columns.

Everything can be told; what is not told is found by trying each delimiter on the first lines and taking
the one under which most rows have the same width and most cells are numbers. (Guessing by the frequency
of characters alone fails on lists in cells and on decimal commas.)
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dcka.inject.cells import BLANKS, ONE_COLUMN, sample_rows
from dcka.inject.errors import DataError, shown
from dcka.inject.number_text import is_missing, parse

SAMPLE_LINES = 200  # enough to outvote a few odd lines, few enough to parse five times

_NAMES = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "pipe": "|",
    "space": BLANKS,
    "none": ONE_COLUMN,
}
_SPOKEN = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", BLANKS: "space", ONE_COLUMN: "none"}
_SEP_LINE = re.compile(r'"?sep=(.)"?[,;\t]*', re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """`delimiter` is one character, `BLANKS` or `ONE_COLUMN`; the table begins at line index `body`."""

    delimiter: str
    decimal: str
    body: int


def spoken(delimiter: str) -> str:
    """The delimiter's name in messages and options: "semicolon", "tab", or the character itself."""
    return _SPOKEN.get(delimiter, delimiter)


def check_delimiter(text: str | None) -> str | None:
    """The delimiter that a person named: one character or a name of `_NAMES`. Raises DataError."""
    if text is None:
        return None
    named = _NAMES.get(text.lower(), text)
    if named == ONE_COLUMN or (len(named) == 1 and named not in '"\r\n\0.+-' and not named.isalnum()):
        return named
    raise DataError(
        f"delimiter {shown(text)}: give one character such as ; or one of {', '.join(_SPOKEN.values())}"
    )


def check_decimal(text: str | None) -> str | None:
    """The decimal sign that a person named, "." or ",". Raises DataError."""
    if text is None or text in (".", ","):
        return text
    raise DataError(f'decimal sign {shown(text)}: it is "." or ","')


def find_dialect(lines: Sequence[str], delimiter: str | None, decimal: str | None) -> Dialect:
    """The dialect of `lines`; `delimiter` and `decimal`, where told, are taken as they are.

    A first line `sep=;`, which Excel writes and reads, tells the delimiter and is no part of the table.
    """
    body = 0
    told = _SEP_LINE.fullmatch(lines[0].strip(" ")) if lines else None
    if told is not None:
        body = 1
        delimiter = check_delimiter(told[1]) if delimiter is None else delimiter
    sample = [line for line in lines[body : body + SAMPLE_LINES] if line.strip()]
    if delimiter is None:
        delimiter = _find_delimiter(sample, decimal)
    if decimal is None:
        decimal = _find_decimal(lines[body:], delimiter)
    return Dialect(delimiter, decimal, body)


def _find_delimiter(sample: Sequence[str], decimal: str | None) -> str:
    if not sample:
        return ONE_COLUMN
    marks = [";", "\t", "|"] if decimal == "," else [",", ";", "\t", "|"]
    candidates = list(marks)
    # Blanks stand inside cells too: they part cells only where no line-up of other marks is in sight, and a
    # file of one column has none of the marks in its first line.
    if not any(mark in sample[0] for mark in ";\t|"):
        candidates.append(BLANKS)
    if not any(mark in sample[0] for mark in marks):
        candidates.append(ONE_COLUMN)
    scores = {one: _score(sample, one) for one in candidates}
    best = max(scores.values())
    return next((one for one, score in scores.items() if score == best > 0), ONE_COLUMN)


def _score(sample: Sequence[str], delimiter: str) -> float:
    """How well the delimiter explains the sample, 0 … 1: rows of one width, cells that are numbers."""
    rows = sample_rows(sample, delimiter)
    if not rows:
        return 0.0
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if width < 2 and delimiter != ONE_COLUMN:
        return 0.0
    regular = sum(len(row) == width for row in rows) / len(rows)
    cells = [cell for row in rows[1:] or rows for cell in row]
    numbers = sum(parse(cell, ".") is not None or parse(cell, ",") is not None for cell in cells)
    score = regular * (0.5 + 0.5 * numbers / len(cells))
    if delimiter == ONE_COLUMN and not numbers:
        score *= 0.5  # of no use to anybody, and a title above the table looks like it
    return score


def _find_decimal(lines: Sequence[str], delimiter: str) -> str:
    """The sign that more cells of the whole file use between digits; the point where they are even."""
    suspect = '"' if delimiter == "," else ","  # between commas, a comma in a cell stands in quotes
    if not any(suspect in line for line in lines):
        return "."
    commas = points = 0
    for row in sample_rows(lines, delimiter):
        for cell in row:
            if "," in cell:
                commas += parse(cell, ",") is not None
            elif "." in cell:
                points += parse(cell, ".") is not None
    return "," if commas > points else "."


def first_row_is_header(where: str, rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first of `rows` (blank rows left out) names the columns, judged by the columns of numbers.

    A column whose other cells are numbers and whose first is a text says yes, one whose first is a number
    says no; without such a column the first row is a header unless it is all numbers.
    Raises DataError, beginning with `where`, if columns disagree: a measurement must not become a name.
    """
    first, rest = rows[0], rows[1:SAMPLE_LINES]
    names: list[str] = []
    numbers: list[str] = []
    for index, cell in enumerate(first):
        if is_missing(cell):
            continue
        below = [row[index] for row in rest if index < len(row) and not is_missing(row[index])]
        if not below or 2 * sum(parse(other, decimal) is not None for other in below) < len(below):
            continue
        (names if parse(cell, decimal) is None else numbers).append(cell)
    if names and numbers:
        raise DataError(
            f"{where}: {shown(names[0])} could name a column, {shown(numbers[0])} could be a reading; "
            "pass --header if the line names the columns, --no-header if it is the first reading"
        )
    if names or numbers:
        return bool(names)
    return any(parse(cell, decimal) is None and not is_missing(cell) for cell in first)
