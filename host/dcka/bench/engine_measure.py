"""The measuring process of `dcka bench engine`: `python -m dcka.bench.engine_measure CASES FOLDER`.

CASES is a JSON list; FOLDER may be empty. A JSON object a line goes to stdout. Compilation comes first and is not
counted. In each repetition all three methods run once, in an order that turns; what is compared are times of the same
repetition, so that what else the machine does falls on all of them. Preparing the points (order, boxes) is counted.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import llvmlite.binding
import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from dcka.bench.engine import THREADS
from dcka.datasets import birch, gaussians
from dcka.engine import Result, lloyd, prepare, work
from dcka.inject.errors import DataError
from dcka.reference import cka, random_points_start

SEED = 1
MOST_STEPS = 3000
LEAST_S = 4.0
REPEATS = (5, 41)
"""Repetitions: until LEAST_S have gone by, within these bounds."""

Table = NDArray[np.float64]


def points_of(case: str, folder: Path | None) -> tuple[Table, int]:
    """(points, K). d16: 64 Gaussians of unit covariance, whose means have unit covariance too, so that they overlap."""
    if case == "birch1":
        return birch.load("birch1", folder).astype(np.float64), 100
    if case == "gaussians":
        return np.concatenate(list(gaussians(SEED).values.values())), 9
    numbers = np.random.default_rng(SEED)
    means = numbers.normal(size=(64, 16))
    return means[numbers.integers(64, size=100_000)] + numbers.normal(size=(100_000, 16)), 64


def warm_up() -> dict[str, Any]:
    """Compile, or load from numba's cache, whatever will be measured; what that took."""
    begun = time.perf_counter()
    some = np.random.default_rng(0).normal(size=(300, 2))
    for blocky in (False, True):
        lloyd(prepare(some, blocky), some[:3])
    many = np.random.default_rng(0).normal(size=(200_000, 2))
    for blocky in (False, True):
        lloyd(prepare(many, blocky), many[:12], 2, threads=2)
    kernels: tuple[Any, ...] = (work.run_alone, work.run_threads)
    hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels)
    return {
        "first_calls_s": round(time.perf_counter() - begun, 2),
        "from_cache": hits,
        "compiled_for": llvmlite.binding.get_host_cpu_name(),
        "kernels": [
            {
                "library": one["internal_api"],
                "kernel": one.get("architecture", "-"),
                "threads": one["num_threads"],
            }
            for one in threadpool_info()
        ],
    }


def measure(case: str, points: Table, start: Table, threads: int) -> dict[str, Any]:
    """Times in turn, and what came out."""

    def sklearn(algorithm: str) -> KMeans:
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(len(start), init=start, n_init=1, algorithm=algorithm, tol=0, max_iter=MOST_STEPS)
            return model.fit(points)

    methods: dict[str, Callable[[], Any]] = {
        "ours": lambda: lloyd(points, start, MOST_STEPS, threads),
        "lloyd": lambda: sklearn("lloyd"),
        "elkan": lambda: sklearn("elkan"),
    }
    outcome: dict[str, Any] = {
        name: run() for name, run in methods.items()
    }  # not counted: the first run of each
    times: dict[str, list[float]] = {name: [] for name in methods}
    order = list(methods)
    while len(times["ours"]) < REPEATS[0] or (
        sum(map(sum, times.values())) < LEAST_S and len(times["ours"]) < REPEATS[1]
    ):
        for name in order:
            begun = time.perf_counter()
            outcome[name] = methods[name]()
            times[name].append(time.perf_counter() - begun)
        order.append(order.pop(0))
    return {
        "case": case,
        "threads": f"{threads}_thread{'s' if threads > 1 else ''}",
        **_figures(times, outcome),
    }


def _figures(times: dict[str, list[float]], outcome: dict[str, Any]) -> dict[str, Any]:
    ours: Result = outcome["ours"]
    ratios = {
        name: median(theirs / own for theirs, own in zip(times[name], times["ours"], strict=True))
        for name in ("lloyd", "elkan")
    }
    return {
        "ratio_vs_lloyd": round(ratios["lloyd"], 3),
        "ratio_vs_elkan": round(ratios["elkan"], 3),
        "ratio": round(min(ratios.values()), 3),
        "seconds": {name: median(own) for name, own in times.items()},
        "repetitions": len(times["ours"]),
        "steps": ours.steps,
        "ssd": ours.ssd,
        "sklearn_labels_equal": all(np.array_equal(outcome[n].labels_, ours.labels) for n in ratios),
        "sklearn_ssd_rel_diff": max(abs(outcome[n].inertia_ / ours.ssd - 1) for n in ratios),
    }


def main(cases: list[str], folder: Path | None) -> None:
    print(json.dumps(warm_up()), flush=True)
    for case in cases:
        try:
            points, k = points_of(case, folder)
        except DataError as error:
            print(json.dumps({"case": case, "absent": str(error)}), flush=True)
            continue
        start = random_points_start(points, k, np.random.default_rng(SEED))
        theirs = cka(points, start, MOST_STEPS)
        for threads in THREADS:
            row = measure(case, points, start, threads)
            ours = lloyd(points, start, MOST_STEPS, threads)
            row["labels_equal"] = bool(np.array_equal(ours.labels, theirs.labels))
            row["ssd_rel_diff"] = abs(ours.ssd / theirs.ssd - 1)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2] else None)
