"""Calinski-Harabasz, BIC and silhouette of a clustering, in whole numbers (protocol, section 5, "Score")."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.messages import Commit
    from dcka_core.record import Run

# Binary digits of a logarithm behind the point, and those of a number whose logarithm is taken.
_DIGITS = 32
_MANTISSA = 62
# log2(2π) and log2(e), with _DIGITS.
_LOG_2PI = 11388089161
_LOG_E = 6196328018


def indices(run: "Run", commit: "Commit") -> "dict[str, Any]":
    """Of the centres that a score was about, by its commit: `silhouette`, their sum in 2^-15; `calinski_harabasz`,
    (numerator, denominator); `bic`, in 2^-33 of a bit; None where there is no such number.
    """
    k = len(run.scored) // run.n
    total = commit.counts[k]
    within = commit.ssd
    report: dict[str, Any] = {"silhouette": _number(commit.centres, 6, 10)}
    known = total > k and within > 0
    report["calinski_harabasz"] = (
        [(_number(commit.centres, 1, 6) - within) * (total - k), within * (k - 1)]
        if known and k > 1
        else None
    )
    report["bic"] = bic(commit.counts[:k], run.n, within) if known else None
    return report


def _number(state: "list[int]", first: int, end: int) -> int:
    """The number whose digits of 16 bits are state[first:end], the lowest first."""
    value = 0
    for place in range(first, end):
        value |= state[place] << (16 * (place - first))
    return value


def bic(counts: "list[int]", n: int, within: int) -> int:
    """Of K-means as a mixture of spheres with one variance (D. Pelleg, A. Moore, 2000): 2·log2(likelihood) less the
    price of K·(n + 1) parameters, in units of 2^-32.

    counts: of each cluster, more than K in all. within: the SSD, above 0.
    """
    k = len(counts)
    total = sum(counts)
    free = n * (total - k)
    log_total = log2(total)
    labels = sum([count * log2(count) for count in counts if count]) - total * log_total
    variance = log2(within) - log2(free)
    return 2 * labels - n * total * (_LOG_2PI + variance) - free * _LOG_E - k * (n + 1) * log_total


def log2(value: int) -> int:
    """The logarithm of a number from 1 on, in units of 2^-32; bit by bit, so on every interpreter the same."""
    whole = 0
    while value >> whole > 1:
        whole += 1
    mantissa = value << _MANTISSA >> whole
    found = whole
    for _ in range(_DIGITS):
        mantissa = mantissa * mantissa >> _MANTISSA
        bit = mantissa >> (_MANTISSA + 1)
        mantissa >>= bit
        found = 2 * found + bit
    return found
