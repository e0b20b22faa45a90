"""Orders that make cluster k mean about the same at all nodes that drew for themselves (docs/starts.md)."""


def in_order(centres: "list[int]", n: int, init: str) -> "list[int]":
    """A node's own draw, K·n integers, as `init` has it: "sorted" or "snake"."""
    k = len(centres) // n
    # The place in the draw stands last: MicroPython's sort may change the order of equals.
    rows = sorted([centres[at * n : (at + 1) * n] + [at] for at in range(k)])
    if init == "snake" and n > 1:
        cut = 1
        while cut * cut < k:
            cut += 1
        found = []
        for strip in range(cut):
            first = strip * k // cut
            places = range(first, (strip + 1) * k // cut)
            found.extend([rows[place] for _, place in sorted([(rows[place][1], place) for place in places])])
        rows = found
    return [row[j] for row in rows for j in range(n)]
