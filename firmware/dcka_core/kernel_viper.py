"""The kernel for any n as machine code: what `kernel_viper_<n>` do, with a loop over dimensions. See docs/kernel.md."""

import micropython


@micropython.viper
def prepare(centre: ptr16, n: int, k: int, where: ptr32) -> object:
    words = n + 2
    for index in range(k):
        at = 4 + words * index
        where[at] = index
        where[at + 1] = 0
        for j in range(n):
            where[at + 2 + j] = int(centre[n * index + j])
    if where[3]:
        for index in range(k):
            at = 4 + words * index
            best = 0x3FFFFFFE
            best += best
            for other in range(k):
                if other != index:
                    to = 4 + words * other
                    d = 0
                    for j in range(n):
                        e = where[at + 2 + j] - where[to + 2 + j]
                        d += e * e
                    if d < best:
                        if d > 0 or other < index:
                            best = d
            where[at + 1] = (best + 3) >> 2
    where[1] = 0
    if where[2]:
        where[0] = 16 + 4 * words * k
        if where[2] > 1:
            where[1] = 32
        where[2] = 2
    return None


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(row: ptr32, d: int, e: int, where: ptr32, k: int, sums: ptr32) -> object:
    here = ptr16(int(row))
    n = e
    end = int(row) + 2 * n * d
    low = k * (n + 1)
    first = int(where) + 16
    stride = 4 * (n + 2)
    last = first + stride * k
    trust = where[1]
    label = where[0]
    if label:
        label += int(where)
    while int(here) < end:
        at = first
        nearest = 0
        best = 0x3FFFFFFF
        best += best
        if trust > 0:
            nearest = int(ptr8(label)[0])
            row = ptr32(first + stride * nearest)
            best = 0
            for j in range(n):
                e = row[j + 2] - int(here[j])
                best += e * e
            if best < row[1]:
                at = last
                trust += 4
            else:
                best += 1
                trust -= 1
        while at < last:
            row = ptr32(at + 8)
            point = here
            d = 0
            left = n
            while left > 3:
                e = row[0] - int(point[0])
                d += e * e
                e = row[1] - int(point[1])
                d += e * e
                e = row[2] - int(point[2])
                d += e * e
                e = row[3] - int(point[3])
                d += e * e
                if d >= best:
                    break
                row = ptr32(int(row) + 16)
                point = ptr16(int(point) + 8)
                left -= 4
            if d < best:
                while left > 0:
                    e = row[0] - int(point[0])
                    d += e * e
                    row = ptr32(int(row) + 4)
                    point = ptr16(int(point) + 2)
                    left -= 1
                if d < best:
                    best = d
                    row = ptr32(at)
                    nearest = row[0]
                    if d < row[1]:
                        break
            at += stride
        if label:
            ptr8(label)[0] = nearest
            label += 1
        row = ptr32(int(sums) + 4 * nearest * (n + 1))
        row[0] += 1
        for j in range(n):
            row[j + 1] += int(here[j])
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here = ptr16(int(here) + 2 * n)
    if label:
        where[0] = label - int(where)
    return None
