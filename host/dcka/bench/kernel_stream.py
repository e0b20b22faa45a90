"""Case D of `dcka bench kernel`: 400,000 points that stay in their file, on MicroPython with a heap of 128 KB."""

import ast
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dcka.bench.errors import BenchError
from dcka.bench.kernel_files import plain_build
from dcka.emulation.build import install
from dcka.emulation.micropython import available, launch
from dcka.inject import data_file
from dcka.inject.quantise import bits_for
from dcka.reference.arrays import IntArray
from dcka.reference.lloyd import tally
from dcka.scratch import scratch_folder

POINTS, K, ROUNDS = 400_000, 9, 9
HEAP = "128K"
ROOMY = "8M"
"""Room for all points in memory."""
AIM = 0.7
"""Of the throughput in memory."""

_LIMIT_S = 120.0


def case_d(say: Callable[[str], None], points: int = POINTS, rounds: int = ROUNDS) -> dict[str, Any]:
    """The case's record; `ok` where the sums are numpy's in both heaps, no block allocates and the aim is met.

    Steps from the file and in memory take turns in one process, with a heap that holds all points: `ratio_vs_memory` is
    the median of memory's time over the file's, round by round. The same with the small heap, where in memory one block
    stands for all: `ratio_vs_one_block`; that block stays in the processor's cache, and its branches are foreseen. The
    file is in the computer's cache: how fast a flash is only a board can tell. Raises BenchError.
    """
    held = _points(points)
    centres = held[:: points // K][:K].astype(np.int64)
    small = _asked(held, centres, rounds, HEAP)
    say(f"{small['blocks']} blocks from a file in a heap of {HEAP}")
    large = _asked(held, centres, rounds, ROOMY)
    same = all((found["sums"], found["ssd"]) == _expected(held, centres) for found in (small, large))
    ratio = _ratio(large)
    us = statistics.median(small["file_us"])
    return {
        "points": points,
        "n": 2,
        "k": K,
        "heap": small["heap"],
        "file_bytes": data_file.file_bytes(bits_for(2), 2, points),
        "blocks": small["blocks"],
        "us": us,
        "mdd_per_s": points * K * 2 / us,
        "ratio_vs_memory": ratio,
        "ratio_vs_one_block": _ratio(small),
        "alloc_bytes": max(small["alloc_bytes"], large["alloc_bytes"]),
        "bit_identical": same,
        "aim": AIM,
        "met": ratio >= AIM,
        "ok": same and small["alloc_bytes"] == large["alloc_bytes"] == 0 and ratio >= AIM,
    }


def _ratio(answer: dict[str, Any]) -> float:
    pairs = zip(answer["memory_us"], answer["file_us"], strict=True)
    return float(statistics.median(memory / file for memory, file in pairs))


def _expected(points: data_file.Points, centres: IntArray) -> tuple[list[int], int]:
    """Rows of (m, u_1, u_2) and the SSD, by numpy alone."""
    found = tally(points.astype(np.int64), centres)
    rows = np.column_stack([found.counts, found.sums])
    return [int(value) for value in np.ravel(rows)], int(found.ssd)


def _points(count: int) -> data_file.Points:
    """Around nine places in the plane, on the grid of 15 bits."""
    stream = np.random.default_rng(4)
    places = np.stack(np.meshgrid([5000, 16000, 27000], [5000, 16000, 27000]), axis=-1).reshape(9, 2)
    values = places[stream.integers(0, 9, count)] + stream.normal(scale=1800, size=(count, 2))
    return np.clip(np.rint(values), 0, 2 ** bits_for(2) - 1).astype(np.uint16)


def _asked(points: data_file.Points, centres: IntArray, rounds: int, heap: str) -> dict[str, Any]:
    """What MicroPython with such a heap measures on these points."""
    if not available():
        raise BenchError(str(available().reason).partition(": use")[0])
    bits = bits_for(2)
    program = Path(__file__).with_name("kernel_stream_on_node.py")
    flat = [int(value) for value in np.ravel(centres)]
    whole = heap == ROOMY
    ask = f"from kernel_stream_on_node import case\nprint(repr(case({flat}, {K}, {rounds}, {whole})))"
    with scratch_folder("bench") as folder:
        install(plain_build(), folder)
        (folder / program.name).write_bytes(program.read_bytes())
        (folder / "data.bin").write_bytes(data_file.encode(points, bits, [2**bits - 1] * 2, bytes(8)))
        try:
            told = subprocess.run(
                [sys.executable, *launch(heap, "-c", ask)],
                cwd=folder,
                env={**os.environ, "MICROPYPATH": "."},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BenchError(f"MicroPython did not answer within {_LIMIT_S:g} s") from None
    last = (told.stdout.strip().splitlines() or ["nothing"])[-1]
    if told.returncode:
        raise BenchError(f"MicroPython with a heap of {heap} ended with: {last}")
    answer: dict[str, Any] = ast.literal_eval(last)
    return answer
