"""The whole comparison: every case by every method, growth and loss; as one record."""

import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from dcka.bench import ulb
from dcka.bench.charge import SLOT_MS
from dcka.bench.errors import Absent, BenchUsageError
from dcka.bench.methods import TOLERANCES, Bench, measure
from dcka.bench.nodes import Lost
from dcka.bench.pinned import GRAPHS, Instance, experiment_1, random_cases
from dcka.bench.scaling import LOSS, LOSS_GRAPHS, MOST_PER_NODE, MOST_TIMES, Growth, Loss, growth, loss
from dcka.bench.summary import Record, case_record, figures, median_and_range

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
    told what is being done. Raises BenchUsageError for no such part or number of graphs, BenchError for a run that
    does not end.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        raise BenchUsageError(f"there is no part {', '.join(unknown)!r}; the parts are {', '.join(PARTS)}")
    if not 1 <= graphs <= GRAPHS:
        raise BenchUsageError(
            f"--graphs {graphs}: there are {GRAPHS} pinned graphs a size; take 1 to {GRAPHS}"
        )
    begun = time.monotonic()
    record: Record = {"paper_tolerances": TOLERANCES, "slot_ms": SLOT_MS, "cases": {}, "skipped": {}}
    for case in (part for part in CASES if part in parts):
        try:
            record["cases"][case] = _case(case, graphs, folder, say)
        except Absent as error:
            record["skipped"][case] = str(error)
    if "growth" in parts:
        record["growth"] = _growth(growth(say))
    if "loss" in parts:
        record["loss"] = _loss(loss(min(graphs, LOSS_GRAPHS), say))
    record["ok"] = _ok(record)
    record["seconds"] = round(time.monotonic() - begun, 1)
    return record


def _case(case: str, graphs: int, folder: Path | None, say: Say) -> Record:
    steps, found = [], []
    instance = None
    for instance, lost in _instances(case, graphs, folder):
        say(f"{instance.name}: {len(instance.ids)} nodes, {instance.dataset.size:,} readings")
        bench = Bench.of(instance, lost)
        steps.append(bench.steps)
        found.append(figures(measure(bench)))
    assert instance is not None
    about = {
        "nodes": len(instance.ids),
        "graphs": len(found),
        "k": instance.k,
        "readings": instance.dataset.size,
        **median_and_range("outer_steps", steps),
    }
    return about | case_record(case, found)


def _instances(case: str, graphs: int, folder: Path | None) -> Iterator[tuple[Instance, Lost | None]]:
    if case == "ulb":
        yield ulb.load(folder)
        return
    made = experiment_1(graphs) if case == "exp1" else random_cases(int(case[1:]), graphs)
    for instance in made:
        yield instance, None


def _growth(runs: list[Growth]) -> Record:
    return {
        "runs": [run.record() for run in runs],
        "most_per_node": MOST_PER_NODE,
        "met": all(run.per_step <= MOST_PER_NODE * run.nodes for run in runs),
        "bit_identical": all(run.exact for run in runs),
    }


def _loss(runs: list[Loss]) -> Record:
    record: Record = {"loss": LOSS}
    for nodes, most in MOST_TIMES.items():
        own = [run for run in runs if run.nodes == nodes]
        times = [run.times for run in own]
        record[f"n{nodes}"] = {
            "graphs": len(own),
            **median_and_range("broadcasts_lossless", [run.broadcasts[0] for run in own]),
            **median_and_range("broadcasts", [run.broadcasts[1] for run in own]),
            **median_and_range("times", times),
            **median_and_range("seconds_lossless", [run.lossless.elapsed_ms / 1000 for run in own]),
            **median_and_range("seconds", [run.lossy.elapsed_ms / 1000 for run in own]),
            "most_times": most,
            "met": max(times) <= most,
            "bit_identical": all(run.exact for run in own),
        }
    return record


def _ok(record: Record) -> bool:
    checked = [case["ours"]["bit_identical"] for case in record["cases"].values()]
    checked += [record[part]["bit_identical"] for part in ("growth",) if part in record]
    checked += [record["loss"][f"n{nodes}"]["bit_identical"] for nodes in MOST_TIMES if "loss" in record]
    return all(checked)
