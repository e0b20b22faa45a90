"""What judges a K: Calinski–Harabasz, BIC and simplified silhouette of centres on the grid (protocol, section 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from dcka.reference.arrays import IntArray, grid_table, same_width
from dcka.reference.grid import bits_for
from dcka.reference.lloyd import BLOCK_CELLS, nearest, squared_distances

ONE = 1 << 15
"""A silhouette of 1."""
LOG_BITS, MANTISSA = 32, 62
LOG2_2PI, LOG2_E = 11388089161, 6196328018
"""⌊2^32·log2(2π)⌋ and ⌊2^32·log2(e)⌋."""


@dataclass(frozen=True, eq=False)
class Indices:
    """Of K centres: `counts` (K,), `ssd`, `spread` = ⌊Σ‖y − ȳ‖²⌋, `silhouettes`: the sum over all points, in 2^−15.

    `calinski_harabasz`: a fraction, and `bic` in units of 2^−33 of a bit, both as the nodes reckon them; None where
    there is no such number.
    """

    counts: IntArray
    ssd: int
    spread: int
    silhouettes: int
    calinski_harabasz: Fraction | None
    bic: int | None


def indices(points: Any, centres: Any) -> Indices:
    """Of points (M, n) and centres (K, n), on the grid. Raises ValueError where they are none, or do not fit.

    Calinski–Harabasz = ((spread − SSD) / (K − 1)) / (SSD / (M − K)) (T. Caliński, J. Harabasz, 1974); the simplified
    silhouette of a point is 1 − a/b, a its distance to the nearest centre, b to the next (E. Hruschka et al., 2004).
    """
    n = np.asarray(centres).shape[-1]
    places = grid_table(centres, "the centres", bits_for(n))
    table = grid_table(points, "the points", bits_for(n))
    same_width(table, places)
    labels, squared = nearest(table, places)
    counts = np.bincount(labels, minlength=len(places)).astype(np.int64)
    ssd, total, k = int(squared.sum()), len(table), len(places)
    spread = _spread(table)
    known = total > k and ssd > 0
    return Indices(
        counts,
        ssd,
        spread,
        int(silhouettes(table, places).sum()),
        Fraction((spread - ssd) * (total - k), ssd * (k - 1)) if known and k > 1 else None,
        bic(counts.tolist(), n, ssd) if known else None,
    )


def _spread(table: IntArray) -> int:
    """⌊Σ‖y‖² − ‖Σy‖² / M⌋, exactly."""
    if not len(table):
        return 0
    squares = sum(int(np.square(column).sum()) for column in table.T)
    sums = [int(column.sum()) for column in table.T]
    return squares - -(-sum(value * value for value in sums) // len(table))


def silhouettes(table: IntArray, centres: IntArray) -> IntArray:
    """(M,) in units of 2^−15: 2^15 − ⌊2^15·√(A / B)⌋ with squared distances A ≤ B to the nearest two centres; 0 where
    B = 0, and with one centre."""
    found = np.zeros(len(table), dtype=np.int64)
    if len(centres) < 2:
        return found
    rows = max(1, BLOCK_CELLS // len(centres))
    for first in range(0, len(table), rows):
        block = slice(first, first + rows)
        two = np.partition(squared_distances(table[block], centres), 1, axis=1)[:, :2]
        for i, (own, other) in enumerate(two.tolist(), first):
            # ⌊2^15·√(A / B)⌋ = ⌊√(⌊2^30·A / B⌋)⌋
            found[i] = ONE - isqrt((own << 30) // other) if other else 0
    return found


def bic(counts: Sequence[int], n: int, ssd: int) -> int:
    """BIC of K-means as a mixture of K spheres with one variance, SSD / (n·(M − K)) (D. Pelleg, A. Moore, "X-means",
    2000, with the variance of one dimension), doubled, in units of 2^−32 of a bit:

    2·Σ m·log m − 2·M·log M − n·M·(log 2π + log variance) − n·(M − K)·log e − K·(n + 1)·log M, in log2.
    Raises ValueError where M ≤ K, or the SSD is not above 0.
    """
    k, total = len(counts), sum(counts)
    if total <= k or ssd <= 0:
        raise ValueError(
            f"BIC needs more points than clusters and an SSD above 0, not {total}, {k} and {ssd}."
        )
    entropy = sum(m * log2_bits(m) for m in counts if m) - total * log2_bits(total)
    variance = log2_bits(ssd) - log2_bits(n * (total - k))
    fit = 2 * entropy - n * total * (LOG2_2PI + variance) - n * (total - k) * LOG2_E
    return fit - k * (n + 1) * log2_bits(total)


def log2_bits(value: int) -> int:
    """log2 of a whole number from 1 on, in units of 2^−32: the mantissa, of 62 bits behind the point, is squared and
    halved, digit by digit, each time cut off below."""
    whole = value.bit_length() - 1
    mantissa = (value << MANTISSA) >> whole
    digits = 0
    for _ in range(LOG_BITS):
        mantissa = mantissa**2 >> MANTISSA
        digits <<= 1
        if mantissa >= 2 << MANTISSA:
            mantissa >>= 1
            digits += 1
    return (whole << LOG_BITS) + digits
