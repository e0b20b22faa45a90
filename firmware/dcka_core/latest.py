"""Where a node's latest reading lies: its cluster, and how far it is from that centre. Nothing goes by it."""

from math import sqrt

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.messages import Commit
    from dcka_core.points import Points


def read_latest(record: "dict[str, Any]") -> "int | float":
    """What a step of the grid is in the unit of the distances, of a run's record. Raises CoreError."""
    step: int | float = record["latest"]
    if type(step) not in (int, float) or not 0 <= step < 1e30:
        raise CoreError("latest is %r: a length is needed" % step)
    return step


def where(points: "Points", held: "Commit | None", step: float) -> "list[float]":
    """[cluster, distance to its centre] of the last point; the lowest index wins a tie.

    Nothing where there is no point or no commit. step: what one of the grid's steps is in the unit of the distance.
    """
    n = points.n
    centres = held.centres if held else []
    nearest = least = -1
    if points.count:
        block, count = points.blocks[len(points.blocks) - 1]
        last = block[(count - 1) * n : count * n]
        for index in range(0, len(centres), n):
            square = 0
            for j in range(n):
                square += (last[j] - centres[index + j]) ** 2
            if least < 0 or square < least:
                nearest, least = index // n, square
    return [nearest, float("%.4g" % (sqrt(least) * step))] if least >= 0 else []
