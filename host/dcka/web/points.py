"""The readings behind a run, where this computer's state folder has them: a sample for the page, on the grid."""

from typing import Any

import numpy as np

from dcka.config import State
from dcka.inject.dataset import Dataset
from dcka.runs.held import kept_here

Json = dict[str, Any]

MOST_POINTS = 6000
MOST_NUMBERS = 60_000


def sample(dataset: Dataset, most: int = MOST_POINTS, numbers: int = MOST_NUMBERS) -> Json:
    """`nodes`: the ids; `owner`: for each point the index of its node; `points`: m·n levels, point by point; `total`:
    how many there are. All of them where there are few, else evenly many, drawn without repetition, always the same."""
    ids = list(dataset.points)
    levels = np.concatenate([dataset.points[node] for node in ids])
    owner = np.repeat(np.arange(len(ids)), [len(dataset.points[node]) for node in ids])
    count = min(len(levels), most, max(1, numbers // max(1, levels.shape[1])))
    chosen = np.arange(len(levels))
    if count < len(levels):
        chosen = np.sort(np.random.default_rng(0).choice(len(levels), count, replace=False))
    return {
        "dataset": dataset.id.hex(),
        "nodes": ids,
        "owner": owner[chosen].tolist(),
        "points": levels[chosen].reshape(-1).tolist(),
        "total": len(levels),
    }


def kept_sample(state: State | None, dataset: str) -> Json | None:
    """The sample of the data set of this id; None where it is not kept here."""
    kept = None if state is None else kept_here(Dataset, state)
    return sample(kept) if kept is not None and kept.id.hex() == dataset else None
