"""The whole comparison: every case by every method, growth and loss; as one record."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from dcka.bench.charge import SLOT_MS
from dcka.bench.errors import BenchUsageError
from dcka.bench.methods import TOLERANCES
from dcka.bench.pinned import GRAPHS, SEEDS
from dcka.bench.scaling import GROWTH_SEEDS, LOSS, LOSS_GRAPHS, MOST_PER_NODE, MOST_TIMES
from dcka.bench.summary import Record, case_record, median_and_range
from dcka.bench.work import Job, perform_all

CASES = ("exp1", "n20", "n100", "ulb")
PARTS = (*CASES, "growth", "loss")

Say = Callable[[str], None]


def airtime(
    graphs: int = GRAPHS,
    parts: Collection[str] = PARTS,
    folder: Path | None = None,
    say: Say = lambda text: None,
) -> Record:
    """Measure `parts` (of PARTS) on the first `graphs` of the pinned graphs; `folder`: where the motes' files are.

    `cases`: by case and method, medians and ranges. `growth`, `loss`. `skipped`: by case, why it was left out. `ok`:
    in every case ours ended bit for bit with the reference's centres at each node, with and without loss. `say` is
    told what has been done. Raises BenchUsageError for no such part or number of graphs, BenchError for a run that
    does not end.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise BenchUsageError(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    if not 1 <= graphs <= GRAPHS:
        raise BenchUsageError(
            f"--graphs {graphs}: {GRAPHS} graphs of each size are pinned; take 1 to {GRAPHS}"
        )
    begun = time.monotonic()
    jobs = {part: _jobs(part, graphs, folder) for part in PARTS if part in parts}
    # The longest first, so that no processor waits for another at the end.
    ordered = sorted((job for own in jobs.values() for job in own), key=lambda job: job.part != "n100")
    done = perform_all(ordered, say)
    record: Record = {"paper_tolerances": TOLERANCES, "slot_ms": SLOT_MS, "cases": {}, "skipped": {}}
    for part, own in jobs.items():
        outcomes = [done[job] for job in own]
        if part == "growth":
            record["growth"] = _growth(outcomes)
        elif part == "loss":
            record["loss"] = _loss(outcomes)
        elif "absent" in outcomes[0]:
            record["skipped"][part] = outcomes[0]["absent"]
        else:
            record["cases"][part] = _case(part, outcomes)
    record["ok"] = _ok(record)
    record["seconds"] = round(time.monotonic() - begun, 1)
    return record


def _jobs(part: str, graphs: int, folder: Path | None) -> list[Job]:
    if part == "ulb":
        return [Job(part, folder=None if folder is None else str(folder))]
    if part == "growth":
        return [Job(part, nodes=nodes) for nodes in GROWTH_SEEDS]
    if part == "loss":
        count = min(graphs, LOSS_GRAPHS)
        return [Job(part, seed, nodes) for nodes in MOST_TIMES for seed in SEEDS[f"n{nodes}"][:count]]
    return [Job(part, seed) for seed in SEEDS[part][:graphs]]


def _case(case: str, outcomes: Sequence[Mapping[str, Any]]) -> Record:
    steps = [outcome["about"]["outer_steps"] for outcome in outcomes]
    about = {**outcomes[0]["about"], "graphs": len(outcomes), **median_and_range("outer_steps", steps)}
    return about | case_record(case, [outcome["methods"] for outcome in outcomes])


def _growth(runs: Sequence[Record]) -> Record:
    return {
        "runs": list(runs),
        "most_per_node": MOST_PER_NODE,
        "met": all(run["per_node"] <= MOST_PER_NODE for run in runs),
        "bit_identical": all(run["bit_identical"] for run in runs),
    }


def _loss(runs: Sequence[Record]) -> Record:
    record: Record = {"loss": LOSS}
    for nodes, most in MOST_TIMES.items():
        own = [run for run in runs if run["nodes"] == nodes]
        times = [run["times"] for run in own]
        record[f"n{nodes}"] = {
            "graphs": len(own),
            **median_and_range("broadcasts_lossless", [run["lossless"] for run in own]),
            **median_and_range("broadcasts", [run["lossy"] for run in own]),
            **median_and_range("times", times),
            **median_and_range("seconds_lossless", [run["lossless_ms"] / 1000 for run in own]),
            **median_and_range("seconds", [run["lossy_ms"] / 1000 for run in own]),
            "most_times": most,
            "met": max(times) <= most,
            "bit_identical": all(run["exact"] for run in own),
        }
    return record


def _ok(record: Record) -> bool:
    checked = [case["ours"]["bit_identical"] for case in record["cases"].values()]
    if "growth" in record:
        checked.append(record["growth"]["bit_identical"])
    if "loss" in record:
        checked += [record["loss"][f"n{nodes}"]["bit_identical"] for nodes in MOST_TIMES]
    return all(checked)
