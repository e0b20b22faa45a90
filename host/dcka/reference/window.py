"""A window of readings with their times, and the points that a node makes of it (protocol, section 6, "Windows")."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.reference.arrays import IntArray
from dcka.reference.survey import ReadingsGrid


@dataclass(frozen=True, eq=False)
class WindowPoints:
    """`points`: (m, n). `clipped`: (n,). `values`: (m, n), the readings that they are of."""

    points: NDArray[np.uint16]
    clipped: IntArray
    values: IntArray


@dataclass(frozen=True)
class ReadingsWindow:
    """Window `number`: the readings with since ≤ time < until, on `grid`."""

    number: int
    since: int
    until: int
    grid: ReadingsGrid

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "ReadingsWindow":
        """What a record of the topic `window` says. Raises KeyError, TypeError or ValueError where it says nothing."""
        bits, levels = int(record["bits"]), 2 ** int(record["bits"]) - 1
        low, width = (tuple(int(one) for one in record[name]) for name in ("low", "width"))
        extents = tuple(
            min(levels, (2 * int(d) * levels + w) // (2 * w))
            for d, w in zip(record["range"], width, strict=True)
        )
        grid = ReadingsGrid(low, width, extents, bits)
        return cls(int(record["window"]), int(record["since"]), int(record["until"]), grid)

    @property
    def dataset(self) -> bytes:
        """The 8 bytes that name its points."""
        numbers = (
            self.number.to_bytes(8, "little"),
            self.since.to_bytes(4, "little"),
            self.until.to_bytes(4, "little"),
        )
        return self.grid.dataset(sha256(b"window" + b"".join(numbers)).digest()[:8])

    def points(self, readings: IntArray) -> WindowPoints:
        """Of a node's readings, (m, 1 + n): times and values."""
        inside = readings[(readings[:, 0] >= self.since) & (readings[:, 0] < self.until), 1:]
        points, clipped = self.grid.quantise(inside)
        return WindowPoints(points, clipped, inside)
