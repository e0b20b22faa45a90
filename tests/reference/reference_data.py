"""Data, settings and strategies that the reference's tests share."""

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcka.reference import Link

MEANS = np.array([(0, 0), (0, 3), (0, -3), (3, 0), (-3, 0), (3, -3), (3, 3), (-3, 3), (-3, -3)], dtype=float)

laws = settings(derandomize=True, deadline=None, max_examples=60)


def nine_gaussians(seed: int, nodes: int = 5, per_gaussian: int = 100) -> list[NDArray[np.float64]]:
    """Experiment 1: for each node 9 × per_gaussian points, covariance 0.64·I."""
    rng = np.random.default_rng(seed)
    return [
        np.concatenate([mean + 0.8 * rng.standard_normal((per_gaussian, 2)) for mean in MEANS])
        for _ in range(nodes)
    ]


def tables(rows: int, n: int = 2, largest: int = 32767) -> st.SearchStrategy[NDArray[np.int64]]:
    """Tables of up to `rows` grid points; small numbers are frequent, so ties and repeats are too."""
    number = st.one_of(st.integers(0, min(6, largest)), st.integers(0, largest))
    row = st.lists(number, min_size=n, max_size=n)
    return st.lists(row, min_size=0, max_size=rows).map(
        lambda values: np.array(values, dtype=np.int64).reshape(-1, n)
    )


@st.composite
def networks(draw: Any, rows: int = 8, n: int = 2) -> tuple[list[NDArray[np.int64]], list[int]]:
    """(points of each node, ids), one to five nodes, some without points."""
    ids = draw(st.lists(st.integers(1, 65535), min_size=1, max_size=5, unique=True))
    return [draw(tables(rows, n)) for _ in ids], ids


@st.composite
def schedules(draw: Any, ids: list[int]) -> list[list[Link]]:
    """One to three phases of links that connect the ids together, though perhaps no phase does alone."""
    count = draw(st.integers(1, 3))
    phases: list[list[Link]] = [[] for _ in range(count)]
    for place in range(1, len(ids)):
        other = ids[draw(st.integers(0, place - 1))]
        phases[draw(st.integers(0, count - 1))].append((ids[place], other))
    for a in range(len(ids)):
        for b in range(a):
            for phase in phases:
                if (ids[a], ids[b]) not in phase and draw(st.integers(0, 3)) == 0:
                    phase.append((ids[a], ids[b]))
    return phases
