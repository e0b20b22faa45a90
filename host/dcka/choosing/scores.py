"""What the nodes said of a clustering: a score's outcome, read, and brought into the user's units."""

import math
from dataclasses import dataclass
from typing import Any

from dcka.choosing.rules import Point
from dcka.errors import DckaError
from dcka.inject.quantise import Grid
from dcka.runs.outcome import Outcome, decode_commit, greatest_holder
from dcka_core.indices import indices
from dcka_core.record import read_run

Json = dict[str, Any]

NAMES = ("calinski_harabasz", "bic", "silhouette")
"""Keys of a score's results."""


class ScoreError(DckaError):
    """The nodes do not say one thing of a clustering."""


@dataclass(frozen=True)
class Score:
    """Whole numbers, as the nodes reckon them (docs/protocol.md, section 5): `counts` of each cluster, `ssd` on the
    grid, `calinski_harabasz` (numerator, denominator), `bic` in 2^−33 of a bit, `silhouette`: the sum, in 2^−15."""

    n: int
    counts: tuple[int, ...]
    ssd: int
    calinski_harabasz: tuple[int, int] | None
    bic: int | None
    silhouette: int

    @property
    def points(self) -> int:
        """M."""
        return sum(self.counts)

    def point(self, grid: Grid, gap: float | None = None, gap_se: float | None = None) -> Point:
        """In the user's units: a likelihood of lengths is a density, so BIC shifts with the unit, for every K alike."""
        bic = None
        if self.bic is not None:
            bic = self.bic / 2**33 * math.log(2) - self.n * self.points * math.log(grid.unit)
        above, below = self.calinski_harabasz or (0, 0)
        return Point(
            len(self.counts),
            self.ssd * grid.unit**2,
            above / below if below else None,
            bic,
            self.silhouette / 2**15 / self.points if self.points else None,
            gap,
            gap_se,
        )


def score_of(outcome: Outcome) -> Score:
    """What a finished score came to. Raises ScoreError where two nodes say different things, or one other than its
    commit; OutcomeError for a commit that is broken."""
    run = read_run(outcome.record)
    best = greatest_holder(outcome)
    commit = decode_commit(outcome, best)
    told = indices(run, commit)
    for node, result in sorted(outcome.results.items()):
        if not result.get("rebuilt") and {name: result.get(name) for name in NAMES} != told:
            said = {name: result.get(name) for name in NAMES}
            raise ScoreError(
                f"run {outcome.run}: node {node} says {said} of the clustering, node {best} {told}"
            )
    ratio = told["calinski_harabasz"]
    return Score(
        run.n,
        tuple(commit.counts[: len(run.scored) // run.n]),
        commit.ssd,
        None if ratio is None else (ratio[0], ratio[1]),
        told["bic"],
        told["silhouette"],
    )
