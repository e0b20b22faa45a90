"""The figures of the kernels as tables for a terminal."""

from collections.abc import Mapping
from typing import Any


def kernel_text(record: Mapping[str, Any]) -> str:
    """Each case: what was chosen, and every kernel beside it."""
    lines: list[str] = []
    for name, case in record["cases"].items():
        lines += [*_case(name, case), ""]
    good = "every kernel adds numpy's integers, bit for bit, and allocates nothing; every aim is met"
    lines.append(
        good if record["ok"] else "FAIL: see bit_identical, alloc_bytes, met and adversarial in --json"
    )
    return "\n".join(lines)


def _case(name: str, case: Mapping[str, Any]) -> list[str]:
    if "points" not in case:
        return [f"{name}: " + ", ".join(f"{key} {value}" for key, value in case.items())]
    head = f"{name}: {case['points']:,} points, n = {case['n']}, K = {case['k']}"
    if "error" in case:
        return [f"{head}: left out, {case['error']}"]
    if "ratio_vs_memory" in case:
        whence = f"from a file of {case['file_bytes']:,} bytes in a heap of {case['heap']:,}"
        return [
            f"{head}, {whence}: {case['us']:,.0f} µs a step",
            f"  {case['ratio_vs_memory']:.0%} of the throughput in memory (aim {case['aim']:.0%}), "
            f"{case['ratio_vs_one_block']:.0%} of that with one block again and again",
        ]
    if "chosen" not in case:
        return [f"{head}: " + ", ".join(f"{key} {value}" for key, value in case.items())]
    beside = f", numpy {case['numpy_mdd_per_s']:,.0f}" if "numpy_mdd_per_s" in case else ""
    lines = [
        f"{head}: {case['us']:,.0f} µs a step, {case['mdd_per_s']:,.0f} million distance-dimensions a second{beside}",
        f"  chosen: {case['chosen']}: {case['ratio_vs_naive']:,.0f} times the naive step (aim {case['aim']}; "
        f"{case['median']['ratio_vs_naive']:,.0f} by medians), {case['ratio_vs_bytecode']:,.0f} times the bytecode",
        f"  whole step of a node: {case['node_us']:,.0f} µs, {case['node_ratio_vs_naive']:,.0f} times",
    ]
    for kernel, row in sorted(case["kernels"].items(), key=lambda item: float(item[1]["us"])):
        lines.append(f"  {kernel:<32}{row['us']:>12,.1f} µs{row['ratio_vs_naive']:>10,.0f} times")
    for kind, row in case["adversarial"].items():
        words = kind.replace("_", " ")
        told = row.get("error") or f"{row['worst']:.2f} times the unpruned kernel's, at worst"
        lines.append(f"  {words}: {told}")
    return lines


def table_text(record: Mapping[str, Any]) -> str:
    """The fastest by n and K."""
    lines = [f"{'n':>3}{'K':>5}  {'fastest':<30}{'without labels':<26}{'chosen':<30}{'loses':>6}"]
    for row in record["rows"]:
        if "error" in row:
            lines.append(f"{row['n']:>3}{row['k']:>5}  {row['error']}")
            continue
        bare, chosen = row["fastest_without_labels"], row["chosen"]
        lines.append(
            f"{row['n']:>3}{row['k']:>5}  {row['fastest']:<30}{bare:<26}{chosen:<30}{row['lost']:>6.0%}"
        )
    return "\n".join(lines)
