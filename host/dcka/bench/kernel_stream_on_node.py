"""Case D of `dcka bench kernel`, on MicroPython: steps on a data file, and as many in memory, in turns."""

import gc
import time
from array import array

from dcka_core import lloyd
from dcka_core.points import load, new_points

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader
    from typing import Any

    from dcka_core.points import Points

# CPython, which checks this file's types, has neither these nor mem_alloc.
ticks_us: "Any" = getattr(time, "ticks_us", None)
ticks_diff: "Any" = getattr(time, "ticks_diff", None)
mem_alloc: "Any" = getattr(gc, "mem_alloc", None)
mem_free: "Any" = getattr(gc, "mem_free", None)


def opened() -> "BufferedReader":
    return open("data.bin", "rb")


def as_many_in_memory(points: "Points") -> "Points":
    """The first block again and again: the same work, with nothing to be read."""
    block, _ = points.blocks[0]
    own = array("H", block[: points.per_block * points.n])
    same = new_points(points.n, points.bits, points.count, points.dataset, points.extents)
    rest = points.count
    while rest:
        here = min(rest, points.per_block)
        same.blocks.append((own, here))  # type: ignore[union-attr]
        rest -= here
    return same


def timed(points: "Points", centres: "list[int]", k: int) -> int:
    begun = ticks_us()
    lloyd.assign(points, centres, k)
    passed: int = ticks_diff(ticks_us(), begun)
    return passed


def allocated(points: "Points") -> int:
    """Bytes that a pass over the file takes from its first block to its last."""
    gc.collect()
    gc.disable()
    first = last = 0
    for _ in points.blocks:
        last = mem_alloc()
        if not first:
            first = last
    gc.enable()
    return last - first


def case(centres: "list[int]", k: int, rounds: int, whole: bool) -> "dict[str, Any]":
    """Sums and SSD of a step on data.bin; µs of each round, from the file and in memory; bytes allocated.

    whole: the heap has room for all points; else one block stands for all in memory.
    """
    with opened() as stream:
        points = load(stream, opened, 0)
    if whole:
        with opened() as stream:
            memory = load(stream)
    else:
        memory = as_many_in_memory(points)
    sums, ssd = lloyd.assign(points, centres, k)
    times: list[list[int]] = [[], []]
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            gc.collect()
            times[which].append(timed((points, memory)[which], centres, k))
    bytes_allocated = allocated(points)
    gc.collect()
    return {
        "sums": sums,
        "ssd": ssd,
        "file_us": times[0],
        "memory_us": times[1],
        "blocks": len(points.blocks),
        "alloc_bytes": bytes_allocated,
        "heap": mem_alloc() + mem_free(),
    }
