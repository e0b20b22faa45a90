"""A row of numbers as a row of bars, for a terminal."""

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = ".:-=+*%#"


def sparkline(values: Sequence[float], width: int, blocks: str = BLOCKS) -> str:
    """A bar a value, at most `width` (then evenly picked), on a logarithmic scale; the lowest bar is not empty."""
    if len(values) > width:
        picked = [values[i * (len(values) - 1) // (width - 1)] for i in range(width)]
    else:
        picked = list(values)
    logs = [math.log(value) if value > 0 else -math.inf for value in picked]
    finite = [value for value in logs if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scale = (len(blocks) - 1) / (high - low) if high > low else 0.0
    return "".join(blocks[round((max(value, low) - low) * scale)] for value in logs)
