"""The kernel for any n as machine code that needs no table, for a heap with little room. See docs/kernel.md."""

import micropython


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(point: ptr16, d: int, e: int, centres: ptr16, k: int, sums: ptr32) -> object:
    n = e
    here = int(point)
    end = here + 2 * n * d
    low = k * (n + 1)
    while here < end:
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        centre = centres
        for cluster in range(k):
            point = ptr16(here)
            d = 0
            for j in range(n):
                e = int(point[j]) - int(centre[j])
                d += e * e
            if d < best:
                best = d
                nearest = cluster
            centre = ptr16(int(centre) + 2 * n)
        at = nearest * (n + 1)
        sums[at] += 1
        point = ptr16(here)
        for j in range(n):
            sums[at + 1 + j] += int(point[j])
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here += 2 * n
    return None
