"""Check of one outer step: what the nodes came to, against what they put in."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True)
class StepCheck:
    """`error`: the largest |c_ik − Σu/Σm|, exact, in grid steps; `within`: it is at most the tolerance.

    `worst`: (node position, cluster, coordinate) of the error; None where no cluster has mass.
    """

    error: Fraction
    within: bool
    worst: tuple[int, int, int] | None


def check_step(inputs: Any, centres: Any, tolerance: Fraction | float) -> StepCheck:
    """Compare centres (N, K, n) after a step with the ratio of the sums that the nodes put in, (N, K, n + 1).

    [..., 0] of `inputs` are the counts m, [..., 1:] the sums u; clusters without mass are left out.
    `tolerance` is in grid steps and includes the rounding: see `gossip_tolerance`. Raises ValueError for
    shapes that do not fit.
    """
    put = np.asarray(inputs, dtype=np.int64)
    came = np.asarray(centres, dtype=np.int64)
    if put.ndim != 3 or came.shape != (*put.shape[:2], put.shape[2] - 1):
        raise ValueError(f"Inputs of shape {put.shape} and centres of shape {came.shape} do not fit.")
    total = put.sum(axis=0)
    error, worst = Fraction(0), None
    for k in np.flatnonzero(total[:, 0]):
        gap = np.abs(came[:, k] * total[k, 0] - total[k, 1:])
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        here = Fraction(int(gap[i, j]), int(total[k, 0]))
        if worst is None or here > error:
            error, worst = here, (int(i), int(k), int(j))
    return StepCheck(error, error <= Fraction(tolerance), worst)


def gossip_tolerance(tolerance: int) -> Fraction:
    """What a decided step may be off by, in grid steps, for a spread of `tolerance`/256.

    It is (tolerance + 1)/256 + ½. The true ratio lies between the nodes' lowest and highest when the window
    opens, each floored to 1/256, and the centre is then rounded. The floors of the window's own slots come on
    top; they stay below 1/256 unless a cluster has a handful of points in all.
    """
    return Fraction(tolerance + 1, 256) + Fraction(1, 2)
