"""What of earlier clusterings still counts, in whole numbers of points (docs/protocol.md, section 5, "Forgetting")."""

from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext

MOST = 1 << 40
"""The most points that a centre may count as: what the record's keys hold."""


def remembered(weights: Sequence[int], passed_s: int, half_life_s: int) -> list[int]:
    """n·2^(−passed/half-life) of each weight, rounded half up: the formula of streaming K-means (Freeman 2015)."""
    with localcontext() as context:
        # Weights below 2^40 and 60 digits: what is lost is far from any half that could round the other way.
        context.prec = 60
        part = Decimal(2) ** (-Decimal(passed_s) / Decimal(half_life_s))
        half = Decimal("0.5")
        return [int((weight * part + half).to_integral_value(ROUND_FLOOR)) for weight in weights]


def weighed(prior: Sequence[int], counts: Sequence[int]) -> list[int]:
    """What the clusters weigh after a clustering: what they had counted as, and the points that they got."""
    return [min(MOST, before + got) for before, got in zip(prior, counts, strict=True)]
