"""How far centres may be off before a label changes: the paper's margin, and the right one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Record = dict[str, Any]


def paper_margin(points: Table, centres: Table) -> float:
    """min over points and other centres of ½(‖y − c_k'‖² − ‖y − c_k‖²), c_k the nearest: the paper's δ, a squared
    distance."""
    squared = np.sort(np.square(points[:, None] - centres[None]).sum(axis=2), axis=1)
    return float((squared[:, 1] - squared[:, 0]).min() / 2)


def right_margin(points: Table, centres: Table) -> float:
    """min over points and other centres of ½(‖y − c_k'‖ − ‖y − c_k‖): centres that are off by less change no label."""
    distance = np.sort(np.linalg.norm(points[:, None] - centres[None], axis=2), axis=1)
    return float((distance[:, 1] - distance[:, 0]).min() / 2)


def margin_check(seed: int, trials: int) -> Record:
    """How often labels flip when every centre is moved, in a direction of the worst case, by 0.999 of each margin.

    The worst case pulls the centre of the point with the least margin away from it, and the other one to it.
    """
    numbers = np.random.default_rng(seed)
    flips = {"paper": 0, "corrected": 0, "just_outside": 0}
    for _ in range(trials):
        points, centres = numbers.normal(size=(30, 2)) * 3, numbers.normal(size=(4, 2)) * 3
        for name, margin in (
            ("paper", 0.999 * paper_margin(points, centres)),
            ("corrected", 0.999 * right_margin(points, centres)),
            ("just_outside", 1.001 * right_margin(points, centres)),
        ):
            flips[name] += _flips(points, centres, margin)
    return {"trials": trials, "flips": flips}


def _flips(points: Table, centres: Table, by: float) -> bool:
    distance = np.linalg.norm(points[:, None] - centres[None], axis=2)
    order = np.argsort(distance, axis=1)
    two = np.take_along_axis(distance, order[:, :2], axis=1)
    worst = int((two[:, 1] - two[:, 0]).argmin())
    nearest, other = order[worst, :2]
    moved = centres.copy()
    for which, sign in ((nearest, 1.0), (other, -1.0)):
        away = centres[which] - points[worst]
        moved[which] += sign * by * away / np.linalg.norm(away)
    after = np.linalg.norm(points[:, None] - moved[None], axis=2).argmin(axis=1)
    return bool((after != order[:, 0]).any())
