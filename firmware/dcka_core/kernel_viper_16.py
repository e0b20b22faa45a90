"""The kernel for n = 16 as machine code, unrolled. Written by tools/unroll_kernels.py; see docs/kernel.md."""

import micropython


@micropython.viper
def prepare(centre: ptr16, n: int, k: int, where: ptr32) -> object:
    first = int(where) + 16
    last = first + 72 * k
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
        row[10] = int(centre[8])
        row[11] = int(centre[9])
        row[12] = int(centre[10])
        row[13] = int(centre[11])
        row[14] = int(centre[12])
        row[15] = int(centre[13])
        row[16] = int(centre[14])
        row[17] = int(centre[15])
        centre = ptr16(int(centre) + 32)
        row = ptr32(int(row) + 72)
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
                    e = other[10] - row[10]
                    d += e * e
                    e = other[11] - row[11]
                    d += e * e
                    e = other[12] - row[12]
                    d += e * e
                    e = other[13] - row[13]
                    d += e * e
                    e = other[14] - row[14]
                    d += e * e
                    e = other[15] - row[15]
                    d += e * e
                    e = other[16] - row[16]
                    d += e * e
                    e = other[17] - row[17]
                    d += e * e
                    if d < best:
                        if d > 0 or other[0] < row[0]:
                            best = d
                other = ptr32(int(other) + 72)
            row[1] = (best + 3) >> 2
            row = ptr32(int(row) + 72)
    where[1] = 0
    if where[2]:
        where[0] = 16 + 72 * k
        if where[2] > 1:
            where[1] = 32
        where[2] = 2
    return None


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(row: ptr32, d: int, e: int, where: ptr32, k: int, sums: ptr32) -> object:
    here = ptr16(int(row))
    end = int(row) + 32 * d
    low = k * 17
    first = int(where) + 16
    last = first + 72 * k
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
        x8 = int(here[8])
        x9 = int(here[9])
        x10 = int(here[10])
        x11 = int(here[11])
        x12 = int(here[12])
        x13 = int(here[13])
        x14 = int(here[14])
        x15 = int(here[15])
        row = ptr32(first)
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        if trust > 0:
            nearest = int(ptr8(label)[0])
            row = ptr32(first + 72 * nearest)
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
            e = row[10] - x8
            best += e * e
            e = row[11] - x9
            best += e * e
            e = row[12] - x10
            best += e * e
            e = row[13] - x11
            best += e * e
            e = row[14] - x12
            best += e * e
            e = row[15] - x13
            best += e * e
            e = row[16] - x14
            best += e * e
            e = row[17] - x15
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
                    e = row[10] - x8
                    d += e * e
                    e = row[11] - x9
                    d += e * e
                    e = row[12] - x10
                    d += e * e
                    e = row[13] - x11
                    d += e * e
                    if d < best:
                        e = row[14] - x12
                        d += e * e
                        e = row[15] - x13
                        d += e * e
                        e = row[16] - x14
                        d += e * e
                        e = row[17] - x15
                        d += e * e
                        if d < best:
                            best = d
                            nearest = row[0]
                            if d < row[1]:
                                break
            row = ptr32(int(row) + 72)
        if label:
            ptr8(label)[0] = nearest
            label += 1
        d = nearest * 17
        sums[d] += 1
        sums[d + 1] += x0
        sums[d + 2] += x1
        sums[d + 3] += x2
        sums[d + 4] += x3
        sums[d + 5] += x4
        sums[d + 6] += x5
        sums[d + 7] += x6
        sums[d + 8] += x7
        sums[d + 9] += x8
        sums[d + 10] += x9
        sums[d + 11] += x10
        sums[d + 12] += x11
        sums[d + 13] += x12
        sums[d + 14] += x13
        sums[d + 15] += x14
        sums[d + 16] += x15
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here = ptr16(int(here) + 32)
    if label:
        where[0] = label - int(where)
    return None
