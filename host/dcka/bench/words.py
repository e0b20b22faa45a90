"""The comparison as a table for a terminal."""

from collections.abc import Mapping
from typing import Any

from dcka.bench.methods import METHODS

_COLUMNS = (
    ("broadcasts", "broadcasts"),
    ("deliveries", "deliveries"),
    ("payload_bytes", "payload"),
    ("wire_bytes", "on the wire"),
    ("slots", "slots"),
    ("worst_node_mah", "worst node, mAh"),
    ("wrong_labels", "wrong labels"),
)
_WIDTH = 20


def text(record: Mapping[str, Any]) -> str:
    """Tables of medians, the ratios with their ranges, growth and loss; in what a terminal shows."""
    lines: list[str] = []
    for name, case in record["cases"].items():
        lines += [*_case(name, case), ""]
    lines += [f"{name} left out: {why}" for name, why in record["skipped"].items()]
    if "growth" in record:
        lines += [*_growth(record["growth"]), ""]
    if "loss" in record:
        lines += [*_loss(record["loss"]), ""]
    if record["cases"] or "growth" in record or "loss" in record:
        lines.append("ours is the reference, bit for bit, at every node" if record["ok"] else _BROKEN)
    return "\n".join(lines)


_BROKEN = "FAIL: ours differs from the reference; see bit_identical in the --json output"


def _case(name: str, case: Mapping[str, Any]) -> list[str]:
    least, most = case["outer_steps_range"]
    steps = f"{least}–{most}" if least < most else f"{least}"
    lines = [
        f"{name}: {case['nodes']} nodes, {case['readings']:,} readings, K = {case['k']}, {case['graphs']} "
        f"instance{'s' if case['graphs'] > 1 else ''}, {steps} outer steps; medians of a run",
        "".ljust(_WIDTH) + "".join(f"{heading:>16}" for _, heading in _COLUMNS) + "  exact",
    ]
    for method in METHODS:
        row = case[method]
        cells = "".join(f"{_shown(row[key]):>16}" for key, _ in _COLUMNS)
        lines.append(f"{method:<{_WIDTH}}{cells}  {row['exact_graphs']} of {case['graphs']}")
    fixed = _ratios("paper_fixed_weights", case["ratios_fixed_weights"])
    return [*lines, *_ratios("paper", case["ratios"]), *fixed]


def _ratios(method: str, ratios: Mapping[str, Any]) -> list[str]:
    lines = []
    for word in ("bytes", "broadcasts", "wire_bytes"):
        low, high = ratios[f"{word}_range"]
        aim = ratios.get("aims", {}).get(word)
        judged = "" if aim is None else f"; aim {aim:g}: {'met' if ratios['met'][word] else 'missed'}"
        lines.append(
            f"{method} / ours, {word}: {ratios[word]:.3g} ({low:.3g}–{high:.3g}), "
            f"{ratios[f'{word}_without_setup']:.3g} without set-up{judged}"
        )
    return lines


def _growth(growth: Mapping[str, Any]) -> list[str]:
    said = [f"{run['broadcasts_per_step']:.1f} at N = {run['nodes']:,}" for run in growth["runs"]]
    most = max(run["per_node"] for run in growth["runs"])
    return [
        f"growth, broadcasts an outer step: {', '.join(said)}; at most {most:.2f} a node "
        f"(aim {growth['most_per_node']:g}: {'met' if growth['met'] else 'missed'})"
    ]


def _loss(loss: Mapping[str, Any]) -> list[str]:
    lines = []
    for name in (key for key in loss if key.startswith("n")):
        own = loss[name]
        low, high = own["times_range"]
        lines.append(
            f"{loss['loss']:.0%} loss on every hop, {name}: {own['times']:.2f} times the lossless broadcasts "
            f"({low:.2f}–{high:.2f}; aim {own['most_times']:g}: {'met' if own['met'] else 'missed'})"
        )
    return lines


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}" if value < 1000 else f"{value:,.0f}"
