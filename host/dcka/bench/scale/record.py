"""All cases as one record, and as a table."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dcka.bench.errors import BenchUsageError
from dcka.bench.live import Say
from dcka.bench.scale.birch import EACH, measure_birch
from dcka.bench.scale.cases import CASES, REPEATS, Case
from dcka.bench.scale.cluster import measure_cluster
from dcka.bench.scale.emulated import measure_emulated, measure_memory
from dcka.errors import DckaError

MOST_RATIO = 3.0
MOST_KB = 100.0
LINEAR = 0.05
"""How far off its line memory may be."""
_KEYS = ("name", "nodes", "bit_identical", "wall_s", "slots_per_s", "ratio_vs_raw", "host_kb_per_node")


def scale(
    names: Sequence[str],
    say: Say,
    *,
    nodes: int | None = None,
    repeats: int = REPEATS,
    birch: Path | None = None,
) -> dict[str, Any]:
    """`cases`, each with the keys of _KEYS and more, and `missed`, sentences; `ok`; `seconds`.

    `nodes`: in place of each case's own number. Raises BenchUsageError.
    """
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise BenchUsageError(f"there is no case {unknown[0]!r}; the cases are {', '.join(CASES)}")
    if repeats < 1:
        raise BenchUsageError(f"--repeats {repeats}: once at least")
    if nodes is not None and nodes < 6:
        raise BenchUsageError(f"--nodes {nodes}: a case has 6 nodes at least")
    began = time.monotonic()
    cases = []
    for name in names:
        case = CASES[name]
        say(f"{name}: begins")
        cases.append(_measured(case, nodes, repeats, birch, say))
    missed = [sentence for case in cases for sentence in case["missed"]]
    return {"cases": cases, "ok": not missed, "seconds": time.monotonic() - began}


def _measured(case: Case, nodes: int | None, repeats: int, birch: Path | None, say: Say) -> dict[str, Any]:
    count = nodes or case.nodes
    try:
        if case.measure == "emulated":
            found = measure_emulated(case, count, repeats, say)
        elif case.measure == "cluster":
            found = measure_cluster(case, count, say)
        elif case.measure == "birch":
            found = measure_birch(case, count, EACH if nodes is None else EACH // 10, birch, say)
        else:
            sizes = (
                case.sizes if nodes is None else tuple(nodes * size // max(case.sizes) for size in case.sizes)
            )
            found = measure_memory(case, sizes, say)
    except DckaError as error:
        found = dict.fromkeys(_KEYS) | {"finished": False, "bit_identical": False, "reason": str(error)}
    row: dict[str, Any] = {**found, "name": case.name, "nodes": count}
    row["missed"] = _missed(row)
    for sentence in row["missed"]:
        say(sentence)
    return {**{key: row.get(key) for key in _KEYS}, **row}


def _missed(row: Mapping[str, Any]) -> list[str]:
    """Where a case is not as it has to be."""
    name, found = row["name"], []
    if not row["finished"] or not row["bit_identical"]:
        found.append(f"{name}: not bit-identical: {row.get('reason', 'no reason is known')}")
        return found
    ratio, kb = row.get("ratio_vs_raw"), row.get("host_kb_per_node")
    if ratio is not None and ratio > MOST_RATIO:
        found.append(f"{name}: {ratio:.2f} times as long as the raw exchange, and {MOST_RATIO:g} is the aim")
    if kb is not None and "heap_kb" not in row and kb > MOST_KB:
        found.append(f"{name}: {kb:.0f} KB a node, and {MOST_KB:g} is the aim")
    if row.get("off_the_line", 0.0) > LINEAR:
        found.append(f"{name}: memory is {row['off_the_line']:.0%} off its line, and {LINEAR:.0%} is the aim")
    if row.get("servers") and row.get("killed_after_step") is None:
        found.append(f"{name}: no server was killed")
    return found


def text(record: Mapping[str, Any]) -> str:
    """A table, and what has missed its aim."""
    head = ("case", "nodes", "bits", "wall", "slots/s", "× raw", "KB a node")
    rows = [head]
    for case in record["cases"]:
        rows.append(
            (
                case["name"],
                f"{case['nodes']:,}",
                "same" if case["bit_identical"] else "NOT the same",
                _number(case["wall_s"], ".2f", " s"),
                _number(case["slots_per_s"], ".1f"),
                _number(case["ratio_vs_raw"], ".2f"),
                _number(case["host_kb_per_node"], ".0f"),
            )
        )
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    lines += [sentence for case in record["cases"] for sentence in case["missed"]]
    return "\n".join([*lines, "all as it has to be" if record["ok"] else "FAIL: not all is as it has to be"])


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"
