"""The numbers of a CSV, by a strict grammar of our own.

`float` alone takes `nan`, `infinity`, `1_000` and digits of other scripts for numbers, so a cell is
given to it only after it has passed the grammar: blanks, an ASCII sign, ASCII digits with at most one
decimal sign, an exponent, blanks.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcka.inject.errors import shown

LARGEST = float(np.finfo(np.float32).max)  # what a sensor or a board may print as a single-precision float

_GRAMMAR = r"[ \t]*[+-]?(?:[0-9]+(?:%s[0-9]*)?|%s[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*"
_NUMBER = {sign: re.compile(_GRAMMAR % (re.escape(sign), re.escape(sign))) for sign in ".,"}

_MISSING_WORDS = """
nan -nan na n/a n.a. null none nil missing error err inf -inf +inf infinity -infinity +infinity
- -- --- ? . #n/a #na #div/0! #value! #ref! #num! #null! #name?
"""
_MISSING = frozenset(_MISSING_WORDS.split())
_LIKE_NUMBER = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MOMENT = re.compile(
    r"(?:\d{1,4}[-/. ](?:\d{1,2}|(?:"
    + _MONTH
    + r")[a-z]*)[-/. ]\d{1,4})?[T ]*(?:\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?)?"
    r" *(?:[ap]m)? *(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE | re.ASCII,
)


def parse(text: str, decimal: str) -> float | None:
    """The number that `text` is, with the decimal sign `decimal` ("." or ","); None where it is none.

    A number beyond float64 comes back as inf: the caller compares with `LARGEST`.
    """
    if _NUMBER[decimal].fullmatch(text) is None:
        return None
    return float(text.replace(",", "."))


def parse_column(cells: Sequence[str], decimal: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN exactly where a cell is no number (the grammar has no NaN)."""
    is_number = _NUMBER[decimal].fullmatch
    if decimal == ",":
        numbers = [float(cell.replace(",", ".")) if is_number(cell) else np.nan for cell in cells]
    else:
        numbers = [float(cell) if is_number(cell) else np.nan for cell in cells]
    return np.array(numbers, dtype=np.float64)


def is_missing(text: str) -> bool:
    """Whether the cell says that there is no reading: empty, or one of the usual words for it."""
    word = text.strip().casefold()
    return not word or word in _MISSING


def is_moment(text: str) -> bool:
    """Whether the cell looks like a date, a time of day, or both."""
    word = text.strip()
    return bool(word) and parse(word, ".") is None and _MOMENT.fullmatch(word) is not None


def is_like_number(text: str) -> bool:
    """Whether the cell was probably meant as a number though the grammar refuses it: digits, no letters."""
    return _LIKE_NUMBER.fullmatch(text) is not None and not is_moment(text)


def why_not(text: str, decimal: str) -> str:
    """For a message: why the grammar takes `text` for no number, and what it would take."""
    word = text.strip(" \t")
    other = "," if decimal == "." else "."
    if not word:
        return "the cell is empty"
    if is_missing(word):
        return f"{shown(text)} is not a reading"
    odd = next((c for c in word if ord(c) > 127), None)
    if odd is not None and is_like_number(word):
        name = unicodedata.name(odd, f"U+{ord(odd):04X}")
        return f"{shown(text)} is written with {name}, which is not ASCII"
    if parse(word.replace("_", "").replace(" ", "").replace("'", ""), decimal) is not None:
        return f"{shown(text)} groups its digits, which may mean anything"
    if parse(word, other) is not None:
        here, rest = ("comma", "point") if other == "," else ("point", "comma")
        return f"{shown(text)} has a decimal {here}, but the file is read with a decimal {rest}"
    return f"{shown(text)} is not a number"
