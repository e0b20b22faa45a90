"""Whether a block is still what it was, in machine code: a tenth of what CRC-32 takes."""

import micropython


@micropython.viper
def fold(block: ptr32, left: int, total: int, rest: int, sums: ptr32, into: int, known: int) -> int:
    """Put into sums[into] a hash of the block's first left + rest words; 1 where sums[known] is the same, else 0.

    left: a multiple of 4. total: what the hash begins with. A change of one word always changes it: the factor is odd,
    so that multiplying loses nothing. The first three names are those that viper keeps in registers.
    """
    at = 0
    while left > 0:
        total = total * 16777619 + block[at]
        total = total * 16777619 + block[at + 1]
        total = total * 16777619 + block[at + 2]
        total = total * 16777619 + block[at + 3]
        at += 4
        left -= 4
    while rest > 0:
        total = total * 16777619 + block[at]
        at += 1
        rest -= 1
    sums[into] = total
    return 1 if sums[into] == sums[known] else 0
