"""Many instances to one row a method: medians, ranges, and how ours compares."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from dcka.bench.methods import METHODS, Result

Record = dict[str, Any]
Figures = Mapping[str, Mapping[str, Any]]
"""Method → the figures of `figures`, for one instance."""

AIMS = {
    "exp1": {"bytes": 18.0, "broadcasts": 7.5},
    "n20": {"bytes": 90.0, "broadcasts": 45.0},
    "n100": {"bytes": 350.0, "broadcasts": 180.0},
}
"""What `paper` takes over what ours takes: the least that was hoped for."""


def figures(results: Mapping[str, Result]) -> dict[str, dict[str, Any]]:
    """What is kept of one instance: plain numbers, which go from process to process."""
    kept: dict[str, dict[str, Any]] = {}
    for name, result in results.items():
        kept[name] = {
            "figures": result.figures(),
            "exact": result.exact,
            "bit_identical": result.bit_identical,
            "parts": dict(result.parts),
            "reports": result.reports,
        }
    return kept


def case_record(name: str, instances: Sequence[Figures]) -> Record:
    """The rows of all methods, and `ratios`: of `paper` over `ours`, instance by instance; `ratios_fixed_weights`:
    of `paper_fixed_weights`, for which no aim is judged."""
    record: Record = {method: _row([instance[method] for instance in instances]) for method in METHODS}
    record["ratios"] = _ratios(instances, "paper")
    record["ratios_fixed_weights"] = _ratios(instances, "paper_fixed_weights")
    if name in AIMS:
        ratios = record["ratios"]
        ratios["aims"] = AIMS[name]
        ratios["met"] = {word: ratios[word] >= aim for word, aim in AIMS[name].items()}
    return record


def median_and_range(name: str, values: Sequence[float]) -> Record:
    """`name`: the median; `name_range`: the least and the greatest."""
    return {
        name: _plain(statistics.median(values)),
        f"{name}_range": [_plain(min(values)), _plain(max(values))],
    }


def _row(results: Sequence[Mapping[str, Any]]) -> Record:
    row: Record = {}
    for key in results[0]["figures"]:
        row |= median_and_range(key, [result["figures"][key] for result in results])
    for key in ("exact", "bit_identical"):
        row[key] = all(result[key] for result in results)
        row[f"{key}_graphs"] = sum(result[key] for result in results)
    kinds = sorted({kind for result in results for kind in result["parts"]})
    if kinds:
        pairs = {kind: [result["parts"].get(kind, (0, 0)) for result in results] for kind in kinds}
        row["parts"] = {kind: _pair(found) for kind, found in pairs.items()}
        row["reports"] = _pair([result["reports"] for result in results])
    return row


def _pair(found: Sequence[Sequence[int]]) -> Record:
    return {
        "broadcasts": _plain(statistics.median(pair[0] for pair in found)),
        "payload_bytes": _plain(statistics.median(pair[1] for pair in found)),
    }


def _ratios(instances: Sequence[Figures], method: str) -> Record:
    """Of `method` over `ours`."""
    both = [(instance[method]["figures"], instance["ours"]["figures"]) for instance in instances]
    record: Record = {}
    for word, key in (("bytes", "payload_bytes"), ("broadcasts", "broadcasts"), ("wire_bytes", "wire_bytes")):
        record |= median_and_range(word, [paper[key] / ours[key] for paper, ours in both])
        alone = [
            (paper[key] - paper[f"setup_{key}"]) / (ours[key] - ours[f"setup_{key}"]) for paper, ours in both
        ]
        record |= median_and_range(f"{word}_without_setup", alone)
    return record


def _plain(value: float) -> float:
    """A whole number as one; anything else to six digits."""
    return int(value) if float(value).is_integer() else float(f"{value:.6g}")
