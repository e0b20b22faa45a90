"""The kernel for n = 2 as machine code: see kernel_viper, whose rules are these."""

import micropython


@micropython.viper
def accumulate(block: ptr16, count: int, n: int, centres: ptr16, k: int, sums: ptr32) -> object:
    low = k * 3
    at = 0
    end = 2 * count
    while at < end:
        x = int(block[at])
        y = int(block[at + 1])
        dx = x - int(centres[0])
        dy = y - int(centres[1])
        best = dx * dx + dy * dy
        nearest = 0
        cluster = 1
        centre = 2
        while cluster < k:
            dx = x - int(centres[centre])
            dy = y - int(centres[centre + 1])
            distance = dx * dx + dy * dy
            if distance < best:
                best = distance
                nearest = cluster
            centre += 2
            cluster += 1
        row = nearest * 3
        sums[row] += 1
        sums[row + 1] += x
        sums[row + 2] += y
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        at += 2
    return None
