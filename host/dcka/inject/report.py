"""What was read from a file, what was left out, and what a person should look at."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dcka.inject.dialect import spoken
from dcka.inject.errors import listed, shown

NAMED = 3  # left-out rows that the sentences name; the report itself holds all


class Dropped(NamedTuple):
    """A row that was left out: its line, and the first cell that was no reading, as it stood there."""

    line: int
    column: str
    text: str


class Excluded(NamedTuple):
    """A column that was not taken, and why."""

    column: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The account of one file; `rows` are those that were kept.

    `repeated` counts rows that say word for word what an earlier one said; they are all kept.
    """

    source: str
    rows: int
    dropped: tuple[Dropped, ...] = ()
    blank: int = 0
    excluded: tuple[Excluded, ...] = ()
    repeated: int = 0
    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    encoding: str = "UTF-8"
    warnings: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The account as sentences, the warnings last."""
        said = [f"{self.source}: {counted(self.rows, 'row')} of readings"]
        if self.dropped:
            rows = [f"line {d.line} ({d.column}: {shown(d.text)})" for d in self.dropped]
            said.append(f"{counted(len(self.dropped), 'row')} left out: {listed(rows, NAMED)}")
        if self.blank:
            said.append(f"{counted(self.blank, 'blank line')} skipped")
        if self.excluded:
            said.append("columns not taken: " + listed([f"{c.column} ({c.reason})" for c in self.excluded]))
        if self.repeated:
            said.append(f"{_repeat(self.repeated)} an earlier one word for word; all are kept")
        if self.delimiter not in (",", "") or self.decimal != ".":
            sign = "comma" if self.decimal == "," else "point"
            said.append(f"delimiter {spoken(self.delimiter)}, decimal {sign}")
        return said + ["warning: " + warning for warning in self.warnings]

    def to_json(self) -> dict[str, Any]:
        """A dict that JSON can hold; `from_json` is its inverse."""
        return asdict(self) | {
            "dropped": [list(row) for row in self.dropped],
            "excluded": [list(column) for column in self.excluded],
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Report":
        """The report of `to_json`. Raises KeyError, TypeError or ValueError where the record is none."""
        fields = dict(record)
        fields["dropped"] = tuple(Dropped(*row) for row in fields["dropped"])
        fields["excluded"] = tuple(Excluded(*column) for column in fields["excluded"])
        fields["warnings"] = tuple(fields["warnings"])
        return cls(**fields)


def counted(number: int, what: str) -> str:
    """ "1 row", "2 rows", "1,234 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _repeat(number: int) -> str:
    return f"{counted(number, 'row')} {'repeats' if number == 1 else 'repeat'}"
