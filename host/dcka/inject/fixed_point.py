"""Readings as whole numbers of a decimal place: value = number · 10^−d, d the decimals.

So low ends and widths of a grid can be whole numbers, the same at every node and here, and a level of the grid has an
exact value in the user's units.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

LARGEST_EXPONENT = 60
"""Of a decimal place, either way: what a record may state. Single-precision readings need fewer."""

Numbers = NDArray[np.int64]


def decimals_for(
    values: NDArray[np.float64], magnitude: float, least: int, most: int, room: float = 0.0
) -> tuple[int, bool] | None:
    """(d, whether every value is exactly a whole number · 10^−d), with all of them within ±`magnitude`.

    d is the smallest from `least` to `most` that is exact, and with which the ranges of all columns that vary are
    `room` or more; where there is none, the largest that the magnitude allows; None where not even `least` does.
    """
    top = float(np.abs(values).max(initial=0.0))
    fitting = [d for d in range(least, most + 1) if _shifted(np.array([top]), d)[0] <= magnitude]
    if not fitting:
        return None
    for d in range(min(fitting[-1], max(0, least)), fitting[-1] + 1):
        if is_exact(values, d) and _roomy(values, d, room):
            return d, True
    return fitting[-1], is_exact(values, fitting[-1])


def is_exact(values: NDArray[np.float64], decimals: int) -> bool:
    """Whether each value is the float nearest to a whole number · 10^−d."""
    return np.array_equal(_unshifted(to_fixed(values, decimals).astype(np.float64), decimals), values)


def to_fixed(values: NDArray[np.float64], decimals: int) -> Numbers:
    """⌊value · 10^d + ½⌋. The caller sees to it that this fits 63 bits."""
    return np.floor(_shifted(values, decimals) + 0.5).astype(np.int64)


def exact_value(number: Fraction | int, decimals: int) -> Fraction:
    """number · 10^−d; float() of it is the nearest float."""
    return Fraction(number) / Fraction(10) ** decimals


def _roomy(values: NDArray[np.float64], decimals: int, room: float) -> bool:
    spans = np.ptp(values, axis=0) if room and len(values) else np.zeros(0)
    return bool((_shifted(spans[spans > 0], decimals) >= room).all())


def _shifted(values: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    # Powers of ten up to 10^22 are exact floats, those below 1 are not: so it is a division there.
    with np.errstate(over="ignore"):
        return np.asarray(values * 10.0**decimals if decimals >= 0 else values / 10.0**-decimals)


def _unshifted(values: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    return np.asarray(values / 10.0**decimals if decimals >= 0 else values * 10.0**-decimals)
