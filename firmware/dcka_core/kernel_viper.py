"""The kernel for any n as machine code: what `kernel_viper_<n>` do, with a loop over dimensions. See docs/kernel.md."""

import micropython


@micropython.viper
def prepare(centre: ptr16, n: int, k: int, where: ptr32) -> object:
    stride = 4 * (n + 2)
    first = int(where) + 16
    last = first + stride * k
    row = ptr32(first)
    for index in range(k):
        row[0] = index
        row[1] = 0
        values = ptr32(int(row) + 8)
        for j in range(n):
            values[j] = int(centre[j])
        centre = ptr16(int(centre) + 2 * n)
        row = ptr32(int(row) + stride)
    if where[3]:
        row = ptr32(first)
        while int(row) < last:
            other = ptr32(first)
            best = 0x3FFFFFFE
            best += best
            while int(other) < last:
                if int(other) != int(row):
                    values = ptr32(int(other) + 8)
                    own = ptr32(int(row) + 8)
                    d = 0
                    for j in range(n):
                        e = values[j] - own[j]
                        d += e * e
                    if d < best:
                        if d > 0 or other[0] < row[0]:
                            best = d
                other = ptr32(int(other) + stride)
            row[1] = (best + 3) >> 2
            row = ptr32(int(row) + stride)
    where[1] = 0
    if where[2]:
        where[0] = 16 + stride * k
        if where[2] > 1:
            where[1] = 32
        where[2] = 2
    return None


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(values: ptr32, d: int, e: int, where: ptr32, k: int, sums: ptr32) -> object:
    here = ptr16(int(values))
    n = e
    end = int(here) + 2 * n * d
    low = k * (n + 1)
    first = int(where) + 16
    stride = 4 * (n + 2)
    last = first + stride * k
    trust = where[1]
    label = where[0]
    if label:
        label += int(where)
    while int(here) < end:
        row = ptr32(first)
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        if trust > 0:
            nearest = int(ptr8(label)[0])
            row = ptr32(first + stride * nearest)
            values = ptr32(int(row) + 8)
            d = 0
            for j in range(n):
                e = values[j] - int(here[j])
                d += e * e
            best = d
            if d < row[1]:
                row = ptr32(last)
                trust += 4
            else:
                best += 1
                trust -= 1
                row = ptr32(first)
        while int(row) < last:
            values = ptr32(int(row) + 8)
            point = here
            d = 0
            left = n
            while left > 3:
                e = values[0] - int(point[0])
                d += e * e
                e = values[1] - int(point[1])
                d += e * e
                e = values[2] - int(point[2])
                d += e * e
                e = values[3] - int(point[3])
                d += e * e
                if d >= best:
                    break
                values = ptr32(int(values) + 16)
                point = ptr16(int(point) + 8)
                left -= 4
            if d < best:
                while left > 0:
                    e = values[0] - int(point[0])
                    d += e * e
                    values = ptr32(int(values) + 4)
                    point = ptr16(int(point) + 2)
                    left -= 1
                if d < best:
                    best = d
                    nearest = row[0]
                    if d < row[1]:
                        break
            row = ptr32(int(row) + stride)
        if label:
            ptr8(label)[0] = nearest
            label += 1
        at = nearest * (n + 1)
        sums[at] += 1
        for j in range(n):
            sums[at + 1 + j] += int(here[j])
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here = ptr16(int(here) + 2 * n)
    if label:
        where[0] = label - int(where)
    return None
