"""`score_plain` in machine code. Numbers stay below 2^31: registers have 32 bits on a board."""

import micropython


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def score(point: ptr16, d: int, e: int, centres: ptr16, k: int, sums: ptr32) -> object:
    n = e
    here = int(point)
    end = here + 2 * n * d
    low = k * (n + 1)
    while here < end:
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        second = best
        centre = centres
        for cluster in range(k):
            point = ptr16(here)
            d = 0
            for j in range(n):
                e = int(point[j]) - int(centre[j])
                d += e * e
            if d < best:
                second = best
                best = d
                nearest = cluster
            elif d < second:
                second = d
            centre = ptr16(int(centre) + 2 * n)
        at = nearest * (n + 1)
        sums[at] += 1
        point = ptr16(here)
        for j in range(n):
            sums[at + 1 + j] += int(point[j])
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        if k > 1 and best < second:
            # Thirty binary digits of best / second: the rest is doubled without leaving 31 bits.
            d = best
            e = 0
            for _ in range(30):
                e += e
                if d >= second - d:
                    d -= second - d
                    e += 1
                else:
                    d += d
            # Their square root, two digits at a time.
            d = 0
            at = 0x10000000
            while at > 0:
                if e >= d + at:
                    e -= d + at
                    d = (d >> 1) + at
                else:
                    d = d >> 1
                at = at >> 2
            sums[low + 2] += 32768 - d
        here += 2 * n
    return None
