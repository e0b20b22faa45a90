"""How much of what was clustered before still counts: K-means over a stream, with a half-life.

With every batch the centre of a cluster becomes c' = (c·n·a + Σx) / (n·a + m), and its weight n' = n·a + m: n what it
had weighed, m the batch's points in it, a the part that is not forgotten. A half-life h makes a = 2^(−Δ/h) of the time
Δ between two clusterings. So it is in Apache Spark's streaming k-means (Freeman 2015, "Introducing streaming k-means in
Apache Spark 1.2"; MLlib's guide, "Streaming k-means"), after MacQueen (1967) for a = 1.
"""

from collections.abc import Sequence
from fractions import Fraction


def remembered(weights: Sequence[int], passed_s: int, half_life_s: int) -> tuple[int, ...]:
    """n·2^(−passed/half-life) of each weight, rounded half up: exactly, by comparing powers of whole numbers.

    A weight halved more often than it has digits is 0.

    Raises ValueError for a weight or a time below 0, or no half-life.
    """
    if half_life_s < 1 or passed_s < 0 or any(weight < 0 for weight in weights):
        raise ValueError(
            f"weights {list(weights)}, {passed_s} s and a half-life of {half_life_s} s: one of them can't be."
        )
    whole, rest = divmod(passed_s, half_life_s)
    part = Fraction(rest, half_life_s)
    return tuple(_halved(one, whole, part) if whole <= one.bit_length() else 0 for one in weights)


def _halved(weight: int, whole: int, part: Fraction) -> int:
    """The largest w with w − ½ ≤ weight·2^−(whole + part), part p/q < 1: (2w − 1)^q · 2^p ≤ (2·weight / 2^whole)^q."""
    p, q = part.numerator, part.denominator
    bound = (2 * weight) ** q

    def fits(w: int) -> bool:
        return w == 0 or ((2 * w - 1) ** q << p + whole * q) <= bound

    # Near what floats say, where that holds: a comparison takes numbers of some 100,000 digits.
    near = int(weight * 2.0 ** -(whole + float(part)))
    slack = 1 + (weight >> 48)
    low, high = max(0, near - slack), min(weight + 1, near + 1 + slack)
    if not fits(low) or fits(high):
        low, high = 0, weight + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
