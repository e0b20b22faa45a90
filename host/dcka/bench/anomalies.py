"""Anomalies against labels: what real nodes tell of the Suthaharan readings, beside a central K-means by the same rule.

The readings are those of four motes each, with events that were made with a kettle of water (Suthaharan et al. 2010).
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.anomalies import find, tail_ppm_of
from dcka.bench.errors import BenchError
from dcka.bench.live import Live, Work, emulated, work_on
from dcka.broker import open_broker
from dcka.check import check, check_tail
from dcka.inject.csv_reader import read_csv
from dcka.inject.dataset import Dataset, build
from dcka.runs.controller import run
from dcka.runs.outcome import Outcome, decode_commit, greatest_holder
from dcka.runs.seed import plan_from, seed

Json = dict[str, Any]
Flags = NDArray[np.bool_]
Say = Callable[[str], None]

SETS = {"singlehop": "suthaharan_singlehop.csv.gz", "multihop": "suthaharan_multihop.csv.gz"}
NODES = (1, 2, 3, 4)
CLUSTERS = (1, 4, 9)
QUANTILES = (0.99, 0.995)
NORMAL = "0"
STARTS = 10
"""Of the central K-means, of which the best counts; the network has one."""
LIMIT_S = 300.0


def measure(
    folder: Path,
    runtime: str,
    say: Say,
    clusters: Sequence[int] = CLUSTERS,
    quantiles: Sequence[float] = QUANTILES,
) -> Json:
    """Both sets, with each K and each quantile. `ok`: whether every run was the reference's, bit for bit.

    Raises BenchError where a file is not there.
    """
    sets = {}
    for name, file in SETS.items():
        path = folder / file
        if not path.is_file():
            raise BenchError(f"there is no {path}: --data names the folder with {', '.join(SETS.values())}")
        sets[name] = _of_set(path, runtime, clusters, quantiles, partial(_say_of, name, say))
    every = [case for one in sets.values() for case in one["cases"]]
    return {
        "runtime": runtime,
        "clusters": list(clusters),
        "quantiles": list(quantiles),
        "sets": sets,
        "ok": all(case["bit_identical"] for case in every),
    }


def _say_of(name: str, say: Say, words: str) -> None:
    say(f"{name}: {words}")


def _of_set(path: Path, runtime: str, clusters: Sequence[int], quantiles: Sequence[float], say: Say) -> Json:
    table = read_csv(path, columns=("humidity", "temperature"), split_by="mote_id", label="label")
    dataset = build(table, NODES, "column", name=path.name.partition(".")[0])
    labels = dataset.labels or {}
    wanted = np.concatenate([labels[node] != NORMAL for node in NODES])
    cases: list[Json] = []
    for k in clusters:
        work = work_on(dataset, k, {"patience_ms": 2000}, {"kind": "line"})
        with (
            open_broker("embedded") as broker,
            emulated(work, broker.address, runtime=runtime, heap="512K") as live,
        ):
            live.give()
            clustering = _cluster(live, work, dataset)
            for quantile in quantiles:
                cases.append(_case(live, work, dataset, clustering, quantile, wanted))
                say(_words(cases[-1]))
    return {
        "readings": dataset.size,
        "events": int(wanted.sum()),
        "by_node": {str(node): [len(labels[node]), int((labels[node] != NORMAL).sum())] for node in NODES},
        "cases": cases,
    }


def _cluster(live: Live, work: Work, dataset: Dataset) -> Outcome:
    """A clustering whose start the nodes draw. Raises BenchError where it is not the reference's."""
    seeded = seed(live.connection, work.config, dataset.record(), 1, limit_s=LIMIT_S)
    made = plan_from(work.config, dataset.record(), 2, seeded.drawn)
    outcome = run(live.connection, made, limit_s=LIMIT_S)
    verdict = check(outcome, dataset, seeded=seeded.outcome)
    if not verdict.passed:
        raise BenchError(f"the clustering is not the reference's: {verdict.reasons[0]}")
    live.number = 2
    return outcome


def _case(
    live: Live, work: Work, dataset: Dataset, clustering: Outcome, quantile: float, wanted: Flags
) -> Json:
    """One tail by the nodes, and the same rule centrally, on the readings as they are."""
    live.number += 1
    tail_ppm = tail_ppm_of(quantile)
    outcome = find(
        live.connection, work.config, dataset.record(), live.number, clustering, tail_ppm, limit_s=LIMIT_S
    )
    verdict = check_tail(outcome, dataset, clustering)
    centres = np.array(decode_commit(clustering, greatest_holder(clustering)).centres, dtype=np.int64)
    places = centres.reshape(-1, len(dataset.columns))
    commit = decode_commit(outcome, greatest_holder(outcome))
    squared = (commit.centres[0] << 16) + commit.centres[1]
    # What each node has found, by its own rule; its count is held against this by the check.
    points = np.concatenate([dataset.points[node] for node in NODES]).astype(np.int64)
    beyond = _squares(points, places) > squared
    told = sum(int(result["beyond"]) for result in outcome.results.values())
    start = dataset.grid.to_units(np.array(clustering.record["centres"]).reshape(-1, len(dataset.columns)))
    values = np.concatenate([dataset.values[node] for node in NODES])
    return {
        "k": len(places),
        "quantile": quantile,
        "bit_identical": verdict.passed and told == int(beyond.sum()),
        "reasons": [] if verdict.passed else verdict.reasons,
        "threshold": float(squared**0.5 * dataset.grid.unit),
        **{f"network_{name}": value for name, value in _scores(beyond, wanted).items()},
        "by_node": {str(node): result["beyond"] for node, result in sorted(outcome.results.items())},
        "central": _central(values, len(places), start, 1, tail_ppm, wanted),
        "central_best": _central(values, len(places), "k-means++", STARTS, tail_ppm, wanted),
        "own_clusters": _own(points, places, wanted),
        "ms": max(int(result["ms"]) for result in outcome.results.values()),
    }


def _central(values: Any, k: int, start: Any, starts: int, tail_ppm: int, wanted: Flags) -> Json:
    """scikit-learn's K-means on all readings in float64, and the rule with its centres."""
    from sklearn.cluster import KMeans

    model = KMeans(k, init=start, n_init=starts, random_state=0).fit(values)
    distances = np.sqrt(_squares(values, model.cluster_centers_))
    tail = tail_ppm * len(values) // 1_000_000
    threshold = np.sort(distances)[len(values) - 1 - tail]
    return {
        **_scores(distances > threshold, wanted),
        "threshold": float(threshold),
        "ssd": float(model.inertia_),
    }


def _squares(points: Any, centres: Any) -> Any:
    """Of each point the squared distance to the nearest centre."""
    return np.min([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=0)


def _scores(found: Flags, wanted: Flags) -> Json:
    right = int((found & wanted).sum())
    return {
        "beyond": int(found.sum()),
        "right": right,
        "precision": right / int(found.sum()) if found.any() else None,
        "recall": right / int(wanted.sum()) if wanted.any() else None,
    }


def _own(points: Any, places: Any, wanted: Flags) -> Json:
    """The clusters of which most readings are events: `events` in them are near a centre of their own."""
    nearest = np.argmin([((points - place) ** 2).sum(axis=1) for place in places], axis=0)
    sizes = np.bincount(nearest, minlength=len(places))
    events = np.bincount(nearest[wanted], minlength=len(places))
    own = 2 * events > sizes
    return {"clusters": int(own.sum()), "events": int(events[own].sum())}


def _words(case: Json) -> str:
    central = case["central"]
    return (
        f"K = {case['k']}, quantile {case['quantile']:g}: precision {case['network_precision']:.3f}, recall "
        f"{case['network_recall']:.3f}; central {central['precision']:.3f}, {central['recall']:.3f}"
    )


def text(record: Json) -> str:
    """A table for each set."""
    lines = []
    for name, one in record["sets"].items():
        lines.append(f"{name}: {one['readings']:,} readings, {one['events']} of them events")
        lines.append("  K  quantile  beyond  precision  recall   central (same start)  central (best of 10)")
        for case in one["cases"]:
            beside = [
                f"{case[key]['precision']:.3f}, {case[key]['recall']:.3f}"
                for key in ("central", "central_best")
            ]
            lines.append(
                f"{case['k']:3}  {case['quantile']:8g}  {case['network_beyond']:6}  {case['network_precision']:9.3f}  "
                f"{case['network_recall']:6.3f}   {beside[0]:20}  {beside[1]}"
            )
    lines.append(
        "every run is the reference's, bit for bit" if record["ok"] else "NOT every run is the reference's"
    )
    return "\n".join(lines)
