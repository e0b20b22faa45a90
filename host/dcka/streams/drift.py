"""How far the centres have moved from one clustering to the next: each starts from its own last place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcka.inject.quantise import Grid

Json = dict[str, Any]


@dataclass(frozen=True)
class Drift:
    """`moved`: by centre, Euclid's distance between its places as a fraction of the widest column's range (with a
    scale: of each column's own). `threshold`: above it a centre counts as drifted. `before`, `after`: in user's units.
    """

    moved: tuple[float, ...]
    threshold: float
    before: tuple[tuple[float, ...], ...]
    after: tuple[tuple[float, ...], ...]

    @property
    def drifted(self) -> tuple[int, ...]:
        """The centres that have moved by more than the threshold."""
        return tuple(k for k, part in enumerate(self.moved) if part > self.threshold)

    @property
    def farthest(self) -> float:
        """The largest move."""
        return max(self.moved, default=0.0)

    def record(self) -> Json:
        """As JSON."""
        return {
            "farthest": self.farthest,
            "threshold": self.threshold,
            "drifted": bool(self.drifted),
            "centres": [
                {"centre": k, "moved": self.moved[k], "from": list(self.before[k]), "to": list(self.after[k])}
                for k in self.drifted
            ],
        }


def drift(before: Sequence[int], after: Sequence[int], grid: Grid, threshold: float) -> Drift:
    """Of K·n levels each, on `grid`."""
    n = len(grid.offset)
    tables = [np.array(flat, dtype=np.float64).reshape(-1, n) for flat in (before, after)]
    moved = np.sqrt(((tables[1] - tables[0]) ** 2).sum(axis=1)) / (2**grid.bits - 1)
    places = [tuple(tuple(float(value) for value in row) for row in grid.to_units(table)) for table in tables]
    return Drift(tuple(float(part) for part in moved), threshold, places[0], places[1])
