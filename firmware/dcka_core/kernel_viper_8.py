"""The kernel for n = 8 as machine code, unrolled. Written by tools/unroll_kernels.py; see docs/kernel.md."""

import micropython


@micropython.viper
def prepare(centre: ptr16, n: int, k: int, where: ptr32) -> object:
    first = int(where) + 16
    last = first + 40 * k
    row = ptr32(first)
    for index in range(k):
        row[0] = index
        row[1] = 0
        row[2] = int(centre[0])
        row[3] = int(centre[1])
        row[4] = int(centre[2])
        row[5] = int(centre[3])
        row[6] = int(centre[4])
        row[7] = int(centre[5])
        row[8] = int(centre[6])
        row[9] = int(centre[7])
        centre = ptr16(int(centre) + 16)
        row = ptr32(int(row) + 40)
    if where[3]:
        row = ptr32(first)
        while int(row) < last:
            other = ptr32(first)
            best = 0x3FFFFFFE
            best += best
            while int(other) < last:
                if int(other) != int(row):
                    e = other[2] - row[2]
                    d = e * e
                    e = other[3] - row[3]
                    d += e * e
                    e = other[4] - row[4]
                    d += e * e
                    e = other[5] - row[5]
                    d += e * e
                    e = other[6] - row[6]
                    d += e * e
                    e = other[7] - row[7]
                    d += e * e
                    e = other[8] - row[8]
                    d += e * e
                    e = other[9] - row[9]
                    d += e * e
                    if d < best:
                        if d > 0 or other[0] < row[0]:
                            best = d
                other = ptr32(int(other) + 40)
            row[1] = (best + 3) >> 2
            row = ptr32(int(row) + 40)
    where[1] = 0
    if where[2]:
        where[0] = 16 + 40 * k
        if where[2] > 1:
            where[1] = 32
        where[2] = 2
    return None


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(row: ptr32, d: int, e: int, where: ptr32, k: int, sums: ptr32) -> object:
    here = ptr16(int(row))
    end = int(row) + 16 * d
    low = k * 9
    first = int(where) + 16
    last = first + 40 * k
    trust = where[1]
    label = where[0]
    if label:
        label += int(where)
    while int(here) < end:
        x0 = int(here[0])
        x1 = int(here[1])
        x2 = int(here[2])
        x3 = int(here[3])
        x4 = int(here[4])
        x5 = int(here[5])
        x6 = int(here[6])
        x7 = int(here[7])
        row = ptr32(first)
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        if trust > 0:
            nearest = int(ptr8(label)[0])
            row = ptr32(first + 40 * nearest)
            e = row[2] - x0
            best = e * e
            e = row[3] - x1
            best += e * e
            e = row[4] - x2
            best += e * e
            e = row[5] - x3
            best += e * e
            e = row[6] - x4
            best += e * e
            e = row[7] - x5
            best += e * e
            e = row[8] - x6
            best += e * e
            e = row[9] - x7
            best += e * e
            if best < row[1]:
                row = ptr32(last)
                trust += 4
            else:
                best += 1
                row = ptr32(first)
                trust -= 1
        while int(row) < last:
            e = row[2] - x0
            d = e * e
            e = row[3] - x1
            d += e * e
            e = row[4] - x2
            d += e * e
            e = row[5] - x3
            d += e * e
            if d < best:
                e = row[6] - x4
                d += e * e
                e = row[7] - x5
                d += e * e
                e = row[8] - x6
                d += e * e
                e = row[9] - x7
                d += e * e
                if d < best:
                    best = d
                    nearest = row[0]
                    if d < row[1]:
                        break
            row = ptr32(int(row) + 40)
        if label:
            ptr8(label)[0] = nearest
            label += 1
        d = nearest * 9
        sums[d] += 1
        sums[d + 1] += x0
        sums[d + 2] += x1
        sums[d + 3] += x2
        sums[d + 4] += x3
        sums[d + 5] += x4
        sums[d + 6] += x5
        sums[d + 7] += x6
        sums[d + 8] += x7
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here = ptr16(int(here) + 16)
    if label:
        where[0] = label - int(where)
    return None
