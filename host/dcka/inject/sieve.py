"""Which rows of a table hold readings in every column that is taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcka.inject.columns import Columns
from dcka.inject.errors import DataError, shown
from dcka.inject.number_text import LARGEST, parse, parse_column, why_not
from dcka.inject.report import Dropped, counted

Missing = Literal["refuse", "drop"]


class Sifted(NamedTuple):
    """`values` of the rows in `kept` (positions in the table), and the account of the others."""

    values: NDArray[np.float64]
    kept: NDArray[np.intp]
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Sieve:
    """`chosen` and `split_at` are positions of columns; `markers` are texts that stand for "no reading"."""

    table: Columns
    lines: Sequence[int]
    chosen: Sequence[int]
    split_at: int | None
    decimal: str
    markers: Sequence[str]

    def sift(self, missing: Missing) -> Sifted:
        """The rows whose chosen cells are all numbers, and whose split cell is not empty.

        A row with a marker is always left out and counted. Another that fails is left out under "drop",
        refused under "refuse". Raises DataError for that, for a number that a single-precision float
        cannot hold (under either rule), and where no row is left.
        """
        values = np.column_stack(
            [parse_column(self.table.cells[index], self.decimal) for index in self.chosen]
        )
        marked = np.column_stack(
            [self._marked(index, column) for index, column in zip(self.chosen, values.T, strict=True)]
        )
        self._refuse_huge(values, marked)
        failed = np.isnan(values) & ~marked
        unsplit = self._unsplit()
        refused = failed.any(axis=1) | unsplit
        if missing == "refuse" and refused.any():
            raise DataError(self._refusal(failed, np.flatnonzero(refused)))
        bad = failed | marked
        out = unsplit | bad.any(axis=1)
        dropped = tuple(self._dropped(int(row), bad[row]) for row in np.flatnonzero(out))
        kept = np.flatnonzero(~out)
        if not len(kept):
            line, column, cell = dropped[0]
            raise DataError(
                f"{self.table.source}: all {counted(len(out), 'row')} were left out, the first on line "
                f"{line} ({column}: {shown(cell)}); no reading is left, so name other columns"
            )
        return Sifted(np.ascontiguousarray(values[kept]), kept, dropped, self._idle_markers(marked))

    def _marked(self, index: int, column: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Cells that are a marker: the same text, or the same number however it is written."""
        marked = np.zeros(len(column), dtype=np.bool_)
        texts = {marker.strip() for marker in self.markers}
        if texts:
            marked |= np.array([cell.strip() in texts for cell in self.table.cells[index]], dtype=np.bool_)
        for number in self._numbers():
            marked |= column == number
        return marked

    def _numbers(self) -> list[float]:
        both = [parse(marker, sign) for marker in self.markers for sign in {self.decimal, "."}]
        return [number for number in both if number is not None]

    def _idle_markers(self, marked: NDArray[np.bool_]) -> tuple[str, ...]:
        if not self.markers or marked.any():
            return ()
        texts = ", ".join(shown(marker) for marker in self.markers)
        return (f"the marker of missing readings, {texts}, is in none of the columns taken",)

    def _unsplit(self) -> NDArray[np.bool_]:
        if self.split_at is None:
            return np.zeros(len(self.lines), dtype=np.bool_)
        return np.array([not cell.strip() for cell in self.table.cells[self.split_at]], dtype=np.bool_)

    def _refuse_huge(self, values: NDArray[np.float64], marked: NDArray[np.bool_]) -> None:
        huge = np.argwhere((np.abs(values) > LARGEST) & ~marked)
        if len(huge):
            row, place = (int(index) for index in huge[0])
            column = self.chosen[place]
            raise DataError(
                f"{self._where(row, column)}: {shown(self.table.cells[column][row])} is beyond ±3.4e38, the "
                "range of a sensor's float; mend the cell, or leave the column out with --columns"
            )

    def _refusal(self, failed: NDArray[np.bool_], rows: NDArray[np.intp]) -> str:
        row = int(rows[0])
        if failed[row].any():
            column = self.chosen[int(np.argmax(failed[row]))]
            why = why_not(self.table.cells[column][row], self.decimal)
        else:
            column = self._split_column()
            why = "the cell is empty, so no node gets the row"
        more = "" if len(rows) == 1 else f" ({counted(len(rows), 'such row')} in all)"
        return (
            f"{self._where(row, column)}: {why}{more}; mend it, or pass --missing drop to leave such rows out"
        )

    def _dropped(self, row: int, bad: NDArray[np.bool_]) -> Dropped:
        column = self.chosen[int(np.argmax(bad))] if bad.any() else self._split_column()
        return Dropped(self.lines[row], self.table.names[column], self.table.cells[column][row])

    def _split_column(self) -> int:
        """Of a row whose chosen cells are all in order: what fails there can only be the split cell."""
        if self.split_at is None:
            raise ValueError("no split column, and every chosen cell in order: the row had no reason to fail")
        return self.split_at

    def _where(self, row: int, column: int) -> str:
        return f"{self.table.source}, line {self.lines[row]}, column {shown(self.table.names[column])}"
