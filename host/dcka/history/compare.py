"""Two stored runs beside each other."""

from typing import Any

import numpy as np

from dcka.history.stored import Centres, Json, StoredRun

PARAMETERS = (
    "kind", "k", "n", "init", "seed", "points", "bits", "max_steps", "dataset", "members", "root", "slots",
    "max_slots", "window", "tolerance", "patience_ms", "slot_ms", "bins", "tail_ppm", "scale",
)  # fmt: skip
"""Of a run's record, what makes a run what it is."""


def compare(first: StoredRun, second: StoredRun) -> Json:
    """What differs in what was asked for, and in what came of it.

    `parameters`: by name the two values, where they differ. `ssd_ratio`: second to first, where both are in the same
    units. `centroids_equal`: bit for bit. `nearest`: for each cluster of the first the nearest one of the second, with
    its distance in the user's units; `largest_distance`: the greatest of these, to and fro (Hausdorff's).
    None where there is nothing to compare.
    """
    one, other = first.run_record, second.run_record
    comparable = first.in_units == second.in_units and (first.in_units or first.dataset == second.dataset)
    ratio = second.ssd / first.ssd if comparable and first.ssd and second.ssd is not None else None
    return {
        "runs": [first.summary(), second.summary()],
        "parameters": {
            name: [one.get(name), other.get(name)] for name in PARAMETERS if one.get(name) != other.get(name)
        },
        "same_data": first.dataset == second.dataset,
        "ssd_ratio": ratio,
        **_centroids(first.centroids, second.centroids, comparable),
    }


def _centroids(one: Centres | None, other: Centres | None, comparable: bool) -> dict[str, Any]:
    none = {"centroids_equal": None, "nearest": None, "largest_distance": None}
    if one is None or other is None or not comparable or one.shape[1] != other.shape[1]:
        return none
    distances = np.sqrt(((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2))
    nearest = distances.argmin(axis=1)
    return {
        "centroids_equal": bool(one.shape == other.shape and np.array_equal(one, other)),
        "nearest": [
            {"cluster": cluster, "other": int(place), "distance": float(distances[cluster, place])}
            for cluster, place in enumerate(nearest)
        ],
        "largest_distance": float(max(distances.min(axis=0).max(), distances.min(axis=1).max())),
    }
