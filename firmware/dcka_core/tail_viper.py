"""`tail_plain` in machine code. Numbers stay below 2^31: registers have 32 bits on a board."""

import micropython


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def distances(point: ptr16, d: int, e: int, centres: ptr16, k: int, out: ptr32) -> object:
    n = e
    count = d
    here = int(point)
    for place in range(count):
        best = 0x3FFFFFFF
        best += best + 1
        centre = centres
        for _ in range(k):
            point = ptr16(here)
            d = 0
            for j in range(n):
                e = int(point[j]) - int(centre[j])
                d += e * e
            if d < best:
                best = d
            centre = ptr16(int(centre) + 2 * n)
        out[place] = best
        here += 2 * n
    return None
