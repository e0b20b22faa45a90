"""All that is measured of a node's heap, as one record and as a table."""

import time
from collections.abc import Callable, Collection
from typing import Any

from dcka.bench.errors import BenchUsageError
from dcka.bench.memory.budget import exceeded, read_budget
from dcka.bench.memory.parts import FORMS, measure_parts
from dcka.bench.memory.smallest import CASES, TIMES, import_needs, passes, smallest

AIM_KB = 88
"""The smallest heap on which the demonstration shall pass, on the 64-bit unix port."""

# A bound from which a bisection begins: what passes with room to spare.
_ROOMY_KB = {"large": 192}


def memory(
    cases: Collection[str] = tuple(CASES), times: int = TIMES, say: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """Measure parts and smallest heaps; docs/memory.md has the keys. `say` is told what has been done.

    Raises BenchUsageError for no such case, BenchError for what can't be measured here.
    """
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        raise BenchUsageError(f"there is no case {unknown[0]!r}; the cases are {', '.join(CASES)}")
    if times < 1:
        raise BenchUsageError(f"--times {times}: a size has to pass at least once")
    begun = time.monotonic()
    record: dict[str, Any] = {}
    for form in FORMS:
        record[form] = {**measure_parts(form), "import_needs_kb": import_needs(form)}
        say(f"{form}: parts")
    record["cases"] = {}
    for case in cases:
        record["cases"][case] = _case(case, times)
        say(f"{case}: passes on {record['cases'][case]['smallest_heap_kb']} KB")
    demo = record["cases"].get("demo", {}).get("smallest_heap_kb")
    record |= {"smallest_heap_kb": demo, "times": times, "aim_kb": AIM_KB}
    budget = read_budget()
    record["over_budget"] = exceeded(record["mpy"], budget)
    for case, measured in record["cases"].items():
        allowed = budget["smallest_heap_kb"].get(case)
        if allowed is not None and measured["smallest_heap_kb"] > allowed:
            record["over_budget"].append(
                f"{case} needs {measured['smallest_heap_kb']} KB, and its budget is {allowed} KB"
            )
    record["ok"] = not record["over_budget"] and (demo is None or demo <= AIM_KB)
    record["seconds"] = round(time.monotonic() - begun, 1)
    return record


def _case(case: str, times: int) -> dict[str, Any]:
    live: dict[int, dict[str, int]] = {}

    def fits(heap_kb: int) -> bool:
        found = passes(case, heap_kb, times)
        live[heap_kb] = found or {}
        return found is not None

    size = smallest(fits, 64, _ROOMY_KB.get(case, 128))
    return {"smallest_heap_kb": size, "live_bytes": live[size]}


def text(record: dict[str, Any]) -> str:
    """The record as a table for people."""
    lines = [f"{'live bytes':<14}{'.mpy':>9}{'.py':>9}"]
    for part in record["mpy"]["parts"]:
        lines.append(f"{part:<14}{record['mpy']['parts'][part]:>9}{record['py']['parts'][part]:>9}")
    for key in ("names", "names_bytes", "import_needs_kb"):
        lines.append(f"{key:<14}{record['mpy'][key]:>9}{record['py'][key]:>9}")
    lines.append("")
    for case, measured in record["cases"].items():
        live = ", ".join(f"{kind} {size}" for kind, size in measured["live_bytes"].items())
        lines.append(
            f"{case}: passes {record['times']} times on {measured['smallest_heap_kb']} KB (live at the end: {live})"
        )
    lines += record["over_budget"]
    return "\n".join(lines)
