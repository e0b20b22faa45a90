"""From a reading to the grid that all nodes share. A node that is given its points doesn't need this file."""

from math import floor

MAX_DIMENSIONS = 512
# (most dimensions, bits): the largest b with n * (2^b - 1)^2 < 2^31, so that a squared distance fits 31 bits.
_BITS = ((2, 15), (8, 14), (32, 13), (128, 12), (MAX_DIMENSIONS, 11))


def bits_for(n: int) -> int:
    """Bits of a reading in `n` dimensions; ValueError outside 1 ... 512."""
    if n < 1:
        raise ValueError("%d dimensions: at least 1 is needed" % n)
    for most, bits in _BITS:
        if n <= most:
            return bits
    raise ValueError("%d dimensions: more than %d don't fit the 31 bits of a distance" % (n, MAX_DIMENSIONS))


def quantise(value: float, offset: float, step: float, bits: int) -> int:
    """The grid point of a reading, floor((value - offset) / step + 1/2), clipped to the grid.

    Raises ValueError for NaN and the infinities: a sensor that says so has no reading.
    """
    if value != value or value - value != 0:
        raise ValueError("%r is not a reading" % value)
    top = (1 << bits) - 1
    level = floor((value - offset) / step + 0.5)
    return 0 if level < 0 else top if level > top else level
