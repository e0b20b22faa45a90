"""What is asked of a search for K: the range, the starts, the rule."""

import re
from dataclasses import dataclass

from dcka.choosing.rules import RULES
from dcka.errors import UsageError

LEAST_K = 2
"""With one cluster nothing is between clusters, and no centre is the next one."""
DEFAULT_RANGE = (2, 12)
DEFAULT_STARTS = 10
"""docs/choosing-k.md has the measurement: of five k-means++ starts the best did not always lead to the right K."""
DEFAULT_RULE = "ch"
DEFAULT_INIT = "kmeans++"
"""The start where --init names none: the only one that led to the right K on every set of docs/choosing-k.md."""
DEFAULT_GAP_SETS = 20


@dataclass(frozen=True)
class Wish:
    """`low` … `high`: the Ks. `starts`: for each K, of which the best SSD counts. `rule`: a key of RULES. `gap_sets`:
    reference sets of the gap statistic, 0 = none.

    Raises UsageError for what cannot be.
    """

    low: int = DEFAULT_RANGE[0]
    high: int = DEFAULT_RANGE[1]
    starts: int = DEFAULT_STARTS
    rule: str = DEFAULT_RULE
    gap_sets: int = DEFAULT_GAP_SETS

    def __post_init__(self) -> None:
        said = f"--k-range {self.low}..{self.high}"
        if self.low > self.high:
            raise UsageError(
                f"{said} is upside down; say --k-range {max(LEAST_K, self.high)}..{max(LEAST_K + 1, self.low)}"
            )
        if self.low < LEAST_K:
            raise UsageError(
                f"{said}: one cluster has no other to be told from, so no index judges it; begin with {LEAST_K}"
            )
        if self.low == self.high:
            raise UsageError(f"{said} leaves nothing to choose; say --k {self.low}, or a wider range")
        if self.starts < 1:
            raise UsageError(f"--starts {self.starts}: each K needs at least 1")
        if self.rule not in RULES:
            raise UsageError(f"--choose {self.rule} is no rule; take one of {', '.join(RULES)}")
        if self.gap_sets < 0 or self.gap_sets == 1:
            raise UsageError(f"--gap-sets {self.gap_sets}: take 0 for none, or at least 2: one has no spread")
        if self.rule == "gap" and not self.gap_sets:
            raise UsageError("--choose gap needs reference sets; leave --gap-sets 0 out")

    @property
    def ks(self) -> range:
        """The Ks, ascending."""
        return range(self.low, self.high + 1)

    def require(self, points: int, distinct: int | None, name: str) -> None:
        """Raises UsageError where the range goes beyond the data set's points, or its distinct ones, where known."""
        most, what = (points, "points") if distinct is None else (distinct, "distinct points")
        if self.high > most:
            way = f"end it at {most}" if most > self.low else "take more readings"
            raise UsageError(
                f"--k-range {self.low}..{self.high} goes beyond the {most:,} {what} of {name}; {way}"
            )


def range_of(text: str) -> tuple[int, int]:
    """(low, high) of LOW..HIGH. Raises UsageError."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*", text)
    if found is None:
        raise UsageError(f"--k-range {text!r} is no range; say it as 2..12")
    return int(found[1]), int(found[2])
