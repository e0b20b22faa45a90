"""The kernel for n = 3 as machine code, unrolled. Written by tools/unroll_kernels.py; see docs/kernel.md."""

import micropython


@micropython.viper
def prepare(centre: ptr16, n: int, k: int, where: ptr32) -> object:
    first = int(where) + 16
    last = first + 24 * k
    row = ptr32(first)
    for index in range(k):
        row[0] = index
        row[1] = 0
        e = int(centre[0])
        row[3] = e
        d = e * e
        e = int(centre[1])
        row[4] = e
        d += e * e
        e = int(centre[2])
        row[5] = e
        d += e * e
        row[2] = d
        centre = ptr16(int(centre) + 6)
        row = ptr32(int(row) + 24)
    if where[3]:
        row = ptr32(first)
        while int(row) < last:
            other = ptr32(first)
            best = 0x3FFFFFFE
            best += best
            while int(other) < last:
                if int(other) != int(row):
                    e = other[3] - row[3]
                    d = e * e
                    e = other[4] - row[4]
                    d += e * e
                    e = other[5] - row[5]
                    d += e * e
                    if d < best:
                        if d > 0 or other[0] < row[0]:
                            best = d
                other = ptr32(int(other) + 24)
            row[1] = (best + 3) >> 2
            row = ptr32(int(row) + 24)
    where[1] = 0
    if where[2]:
        where[0] = 16 + 24 * k
        if where[2] > 1:
            where[1] = 32
        where[2] = 2
    return None


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(row: ptr32, d: int, best: int, where: ptr32, k: int, sums: ptr32) -> object:
    here = ptr16(int(row))
    end = int(row) + 6 * d
    low = k * 4
    first = int(where) + 16
    last = first + 24 * k
    trust = where[1]
    label = where[0]
    if label:
        label += int(where)
    while int(here) < end:
        x0 = int(here[0])
        x1 = int(here[1])
        x2 = int(here[2])
        twice0 = x0 + x0
        twice1 = x1 + x1
        twice2 = x2 + x2
        square = x0 * x0 + x1 * x1 + x2 * x2
        row = ptr32(first)
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        best -= square
        if trust > 0:
            nearest = int(ptr8(label)[0])
            row = ptr32(first + 24 * nearest)
            best = row[2] - row[3] * twice0 - row[4] * twice1 - row[5] * twice2
            if best + square < row[1]:
                row = ptr32(last)
                trust += 4
            else:
                best += 1
                row = ptr32(first)
                trust -= 1
        while int(row) < last:
            d = row[2] - row[3] * twice0 - row[4] * twice1 - row[5] * twice2
            if d < best:
                best = d
                nearest = row[0]
                if d + square < row[1]:
                    break
            row = ptr32(int(row) + 24)
        best += square
        if label:
            ptr8(label)[0] = nearest
            label += 1
        d = nearest * 4
        sums[d] += 1
        sums[d + 1] += x0
        sums[d + 2] += x1
        sums[d + 3] += x2
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here = ptr16(int(here) + 6)
    if label:
        where[0] = label - int(where)
    return None
