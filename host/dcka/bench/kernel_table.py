"""Where each kernel is the fastest, by n and K: what the thresholds in `dcka_core.kernels` come from."""

from collections.abc import Callable
from typing import Any

from dcka.bench.kernel_cases import Ask, Case, checked_rounds

DIMENSIONS = {1: 15, 2: 15, 3: 14, 4: 14, 8: 14, 12: 13, 16: 13}
"""n, and the bits of a reading."""
CLUSTERS = (2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 250)
_POINTS, _STEPS = 1000, 6


def kernel_table(rounds: int, ask: Ask, say: Callable[[str], None]) -> dict[str, Any]:
    """`rows`: for n and K the times (µs a step, of the best rounds), the fastest kernel, the fastest without labels,
    and the node's choice.
    """
    checked_rounds(rounds)
    grid = [(n, k) for n in DIMENSIONS for k in CLUSTERS]
    cases = [Case(_POINTS, n, k, DIMENSIONS[n], k, n * k, 0) for n, k in grid]
    rows = []
    for (n, k), answer in zip(grid, ask([case.expression(rounds, _STEPS) for case in cases]), strict=True):
        if isinstance(answer, str):
            rows.append({"n": n, "k": k, "error": answer})
            continue
        times = {name: row["best_us"] for name, row in answer["kernels"].items() if "bit_identical" in row}
        bare = {name: us for name, us in times.items() if "labels" not in name}
        rows.append(
            {
                "n": n,
                "k": k,
                "fastest": min(times, key=times.__getitem__),
                "fastest_without_labels": min(bare, key=bare.__getitem__),
                "chosen": answer["chosen"],
                "lost": times[answer["chosen"]] / min(times.values()) - 1,
                "us": times,
            }
        )
        say(f"n = {n}, K = {k}: {rows[-1]['fastest']}")
    return {"points": _POINTS, "rows": rows}
