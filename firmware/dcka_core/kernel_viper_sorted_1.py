"""The kernel for n = 1 and many centres as machine code: sorted by the first coordinate, and pruned.

Written by tools/unroll_kernels.py; see docs/kernel.md.
"""

import micropython


@micropython.viper
def prepare(centres: ptr16, n: int, k: int, where: ptr32) -> object:
    first = int(where) + 144
    last = first + 16 * k
    # The order by the first coordinate. The keys stand where the last rows will be: row p overwrites keys up to p only.
    keys = ptr32(last - 4 * k)
    for index in range(k):
        keys[index] = (int(centres[1 * index]) << 16) | index
    gap = 1
    while gap < k:
        gap += gap + 1
    while gap > 0:
        at = gap
        while at < k:
            key = keys[at]
            to = at
            while to >= gap:
                if keys[to - gap] < key:
                    break
                keys[to] = keys[to - gap]
                to -= gap
            keys[to] = key
            at += 1
        gap >>= 1
    row = ptr32(first)
    for place in range(k):
        index = keys[place] & 0xFFFF
        centre = ptr16(int(centres) + 2 * index)
        row[0] = index
        e = int(centre[0])
        row[3] = e
        d = e * e
        row[2] = d
        row = ptr32(int(row) + 16)
    # How far each centre is from the nearest that could win against it: at least, where that is not close by.
    row = ptr32(first)
    while int(row) < last:
        best = 0x3FFFFFFE
        best += best
        other = ptr32(int(row) - 16)
        stop = int(other) - 256
        if stop < first - 16:
            stop = first - 16
        while int(other) > stop:
            d = other[3] - row[3]
            d *= d
            if d > best:
                break
            if d < best:
                if d > 0 or other[0] < row[0]:
                    best = d
            other = ptr32(int(other) - 16)
        if int(other) >= first:
            d = other[3] - row[3]
            d *= d
            if d < best:
                best = d
        other = ptr32(int(row) + 16)
        stop = int(other) + 256
        if stop > last:
            stop = last
        while int(other) < stop:
            d = other[3] - row[3]
            d *= d
            if d > best:
                break
            if d == 0 and row[0] < other[0]:
                if stop < last:
                    stop += 16
            elif d < best:
                best = d
            if best == 0:
                break
            other = ptr32(int(other) + 16)
        if int(other) < last:
            d = other[3] - row[3]
            d *= d
            if d < best:
                best = d
        row[1] = (best + 3) >> 2
        row = ptr32(int(row) + 16)
    # Where to begin for each of 32 pieces of the range: the first row of those with one coordinate.
    row = ptr32(first)
    last -= 16
    shift = where[3]
    half = (1 << shift) >> 1
    group = int(row)
    for bucket in range(32):
        middle = (bucket << shift) + half
        while int(row) < last:
            if row[3] >= middle:
                break
            row = ptr32(int(row) + 16)
            if row[3] > ptr32(group)[3]:
                group = int(row)
        where[4 + bucket] = group - int(where)
    where[1] = 0
    if where[2]:
        # For labels: where each centre's row is; behind it the labels themselves.
        last += 16
        places = ptr32(last)
        row = ptr32(first)
        while int(row) < last:
            places[row[0]] = int(row) - int(where)
            row = ptr32(int(row) + 16)
        where[0] = last + 4 * k - int(where)
        if where[2] > 1:
            where[1] = 32
        where[2] = 2
    return None


# The first three parameters stay in registers: they are named for what they hold in the loop.
@micropython.viper
def accumulate(row: ptr32, d: int, best: int, where: ptr32, k: int, sums: ptr32) -> object:
    here = ptr16(int(row))
    end = int(row) + 2 * d
    low = k * 2
    first = int(where) + 144
    last = first + 16 * k
    places = ptr32(last)
    shift = where[3]
    allowed = 16 * (k >> 1)
    credit = allowed << 3
    trust = where[1]
    label = where[0]
    if label:
        label += int(where)
    while int(here) < end:
        x0 = int(here[0])
        if trust > 0:
            row = ptr32(int(where) + places[int(ptr8(label)[0])])
        else:
            row = ptr32(int(where) + where[4 + (x0 >> shift)])
        start = int(row)
        nearest = row[0]
        e = row[3] - x0
        best = e * e
        if best < row[1]:
            if trust > 0:
                trust += 4
        elif credit < 0:
            trust -= 1
            twice0 = x0 + x0
            square = x0 * x0
            best -= square
            row = ptr32(first)
            while int(row) < last:
                d = row[2] - row[3] * twice0
                if d <= best:
                    if d < best:
                        best = d
                        nearest = row[0]
                    elif row[0] < nearest:
                        nearest = row[0]
                row = ptr32(int(row) + 16)
            best += square
        else:
            trust -= 1
            left = start - 16
            row = ptr32(start + 16)
            while int(row) < last:
                d = row[3] - x0
                d *= d
                if d > best:
                    if row[3] > x0:
                        break
                else:
                    if d <= best:
                        if d < best or row[0] < nearest:
                            best = d
                            nearest = row[0]
                            if d < row[1]:
                                left = 0
                                break
                row = ptr32(int(row) + 16)
            credit += allowed + start - int(row)
            row = ptr32(left)
            while int(row) >= first:
                d = row[3] - x0
                d *= d
                if d > best:
                    if row[3] < x0:
                        break
                else:
                    if d <= best:
                        if d < best or row[0] < nearest:
                            best = d
                            nearest = row[0]
                            if d < row[1]:
                                break
                row = ptr32(int(row) - 16)
            credit += int(row) - left
        if label:
            ptr8(label)[0] = nearest
            label += 1
        d = nearest * 2
        sums[d] += 1
        sums[d + 1] += x0
        sums[low] += best & 0xFFFF
        sums[low + 1] += best >> 16
        here = ptr16(int(here) + 2)
    if label:
        where[0] = label - int(where)
    return None
