"""The kernel for any n as machine code, 0 bytes allocated a call.

Importing this fails where there is no emitter for the machine: `lloyd.kernel_for` then takes a plain one. Only viper's
rules differ: no literal of 2^30 or more, and 32-bit loads give no sign, so everything that is kept stays non-negative.
"""

import micropython


@micropython.viper
def accumulate(block: ptr16, count: int, n: int, centres: ptr16, k: int, sums: ptr32) -> object:
    low = k * (n + 1)
    at = 0
    while count > 0:
        count -= 1
        best = 0
        for j in range(n):
            difference = int(block[at + j]) - int(centres[j])
            best += difference * difference
        nearest = 0
        cluster = 1
        centre = n
        while cluster < k:
            distance = 0
            for j in range(n):
                difference = int(block[at + j]) - int(centres[centre + j])
                distance += difference * difference
            if distance < best:
                best = distance
                nearest = cluster
            centre += n
            cluster += 1
        row = nearest * (n + 1)
        sums[row] += 1
        for j in range(n):
            sums[row + 1 + j] += int(block[at + j])
        at += n
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
    return None
