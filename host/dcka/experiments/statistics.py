"""What many runs come to: least, mean, spread, and how sure a difference between two methods is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 4000
LEVEL = 0.95
FEWEST = 30
"""With fewer, a rare bad run is often in none, and an interval of the spread is too narrow."""
UNDECIDED, TOO_FEW = "undecided", "too few runs"

Values = NDArray[np.float64]


def summary(values: Values) -> dict[str, Any]:
    """`runs`, `min`, `mean`, `std` (of a sample: n − 1; 0 for one run)."""
    return {
        "runs": len(values),
        "min": float(values.min()),
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
    }


def paired(one: Sequence[Values], other: Sequence[Values], seed: int) -> dict[str, Any]:
    """`one` against `other`, for each draw of the data as many runs of each, paired.

    `difference`: of the means, averaged over the draws, and `spread_ratio`: of the standard deviations within a draw
    (root of the mean variances), each with a percentile bootstrap interval of 95 %: pairs are resampled within their
    draw (B. Efron, R. Tibshirani, "An introduction to the bootstrap", 1993), so they speak of these draws; how much
    another draw may differ is seen from `draws`, the difference in each. `mean`, `spread`: "lower" or "higher" where
    the interval leaves 0 or 1 out, else "undecided"; "too few runs" below FEWEST a draw, where such intervals say
    little. `alike`: in how many draws the difference has the sign of the whole. Minima are compared by number alone:
    `minimum` is "lower", "higher" or "equal" (to 1e-9), `minimum_gap` the difference as a share of the other's.
    """
    numbers = np.random.default_rng(seed)
    parts = [_resampled(a, b, numbers) for a, b in zip(one, other, strict=True)]
    differences = np.mean([part["difference"] for part in parts], axis=0)
    variances = np.mean([part["variances"] for part in parts], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.sqrt(variances[:, 0] / variances[:, 1])
    least = [min(float(values.min()) for values in method) for method in (one, other)]
    each = [float(np.mean(a - b)) for a, b in zip(one, other, strict=True)]
    few = min(len(values) for values in one) < FEWEST
    return {
        "difference": float(differences[0]),
        "difference_interval": _interval(differences[1:]),
        "spread_ratio": _finite(float(ratios[0])),
        "spread_interval": _interval(ratios[1:]),
        "mean": TOO_FEW if few else _word(_interval(differences[1:]), 0.0),
        "spread": TOO_FEW if few else _word(_interval(ratios[1:]), 1.0),
        "minimum": _least_word(*least),
        "minimum_gap": least[0] / least[1] - 1,
        "draws": each,
        "alike": sum((value > 0) == (float(differences[0]) > 0) for value in each),
    }


def _least_word(one: float, other: float) -> str:
    if abs(one / other - 1) < 1e-9:
        return "equal"
    return "lower" if one < other else "higher"


def _resampled(one: Values, other: Values, numbers: np.random.Generator) -> Mapping[str, Values]:
    """`difference` (1 + R,) of means and `variances` (1 + R, 2): of the runs themselves first, then of resamples."""
    places = numbers.integers(len(one), size=(RESAMPLES, len(one)))
    places = np.concatenate([np.arange(len(one))[None], places])
    a, b = one[places], other[places]
    return {"difference": (a - b).mean(axis=1), "variances": np.stack([a.var(axis=1), b.var(axis=1)], axis=1)}


def _interval(values: Values) -> list[float | None]:
    usable = values[np.isfinite(values)]
    if not len(usable):
        return [None, None]
    low, high = np.quantile(usable, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return [float(low), float(high)]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _word(interval: Sequence[float | None], neutral: float) -> str:
    low, high = interval
    if low is None or high is None or low <= neutral <= high:
        return UNDECIDED
    return "lower" if high < neutral else "higher"
