"""Which K the indices speak for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dcka.errors import DckaError


class NoChoice(DckaError):
    """No K of the range has the index that was to decide."""


@dataclass(frozen=True)
class Point:
    """What is known of one K, in the user's units; None where there is no such number.

    `ssd`: of the best of the starts. `calinski_harabasz`, `bic` (natural logarithms), `silhouette` (−1 … 1 in general,
    0 … 1 here, since every point is with its nearest centre): docs/choosing-k.md. `gap`, `gap_se`: the gap statistic
    and its standard error.
    """

    k: int
    ssd: float
    calinski_harabasz: float | None
    bic: float | None
    silhouette: float | None
    gap: float | None = None
    gap_se: float | None = None


@dataclass(frozen=True)
class Rule:
    """`name`: of the index, in words. `words`: what the rule takes. `pick`: K, from points in order of K; None where no
    point has the index."""

    name: str
    words: str
    pick: Callable[[Sequence[Point]], int | None]


def _greatest(key: Callable[[Point], float | None]) -> Callable[[Sequence[Point]], int | None]:
    """The K whose index is greatest, the least of several."""

    def pick(points: Sequence[Point]) -> int | None:
        known = [(value, -point.k) for point in points if (value := key(point)) is not None]
        return -max(known)[1] if known else None

    return pick


def _gap(points: Sequence[Point]) -> int | None:
    """R. Tibshirani, G. Walther, T. Hastie (2001): the least k with Gap(k) ≥ Gap(k + 1) − s(k + 1); where the range
    ends before one is found, its last."""
    known = [(point.k, point.gap, point.gap_se) for point in points]
    found = [(k, gap, error) for k, gap, error in known if gap is not None and error is not None]
    for (k, gap, _), (following, later, error) in pairwise(found):
        if following == k + 1 and gap >= later - error:
            return k
    return found[-1][0] if found else None


RULES: dict[str, Rule] = {
    "ch": Rule("Calinski–Harabasz", "the greatest", _greatest(lambda point: point.calinski_harabasz)),
    "bic": Rule("BIC", "the greatest", _greatest(lambda point: point.bic)),
    "silhouette": Rule("simplified silhouette", "the greatest", _greatest(lambda point: point.silhouette)),
    "gap": Rule(
        "gap statistic", "the least K whose gap is within one standard error of the next one's", _gap
    ),
}
"""By what `--choose` calls them."""


def pick(points: Sequence[Point], rule: str) -> int:
    """K by `rule`, a key of RULES, of points in order of K. Raises NoChoice."""
    k = RULES[rule].pick(points)
    if k is None:
        raise NoChoice(
            f"no K from {points[0].k} to {points[-1].k} has a {RULES[rule].name} index: every clustering holds its "
            "readings exactly, or has a reading a cluster; take smaller K"
        )
    return k
