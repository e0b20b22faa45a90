"""The report's sentences about the theory: the bound, the slots, the margin, the formulas of cost."""

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

GRAPHS = {"exp1": "experiment 1's, N = 5", "exp2": "experiment 2's, N = 20"}


def theory(found: Record) -> str:
    """Section 6."""
    parts = (_bound(found["bound"], found["bound_sweep"]), _slots(found["slots"]), _margin(found["margin"]))
    return "## 6. The theory, checked\n\n" + "\n\n".join((*parts, _cost(found["cost"]))) + "\n"


def _bound(bound: Record, sweep: Record) -> str:
    example = bound["counterexample"]
    times = ", ".join(
        f"{f'{value:,.0f}' if value < 1e6 else f'{value:.0e}'}-fold at slot {slot}"
        for slot, value in bound["times"].items()
        if value is not None
    )
    where = (
        f"none of {sweep['states']:,} random states of one cluster"
        if sweep["last_slot"] is None
        else f"{sweep['ever']:.1%} of {sweep['states']:,} random states of one cluster, the last at slot "
        f"{sweep['last_slot']}"
    )
    return (
        f"**Error bound** 2Nζ⁻²ρˢσ, here ε = {bound['epsilon']:.3f}, τ = {bound['tau']}, ζ = {bound['zeta']:.5f}, ρ = "
        f"{bound['rho']:.6f}. In this run's first outer step it is violated in {bound['violations']} slots and "
        f"clusters; it exceeds the error {times}, since it falls by {1 - bound['rho']:.2%} a slot, and the error by "
        f"five sixths.\n\nAs a law it fails: with one point at 100 on node 1 and 1,000 at 0 on each of the others, the "
        f"error at slot 0 is {example['error']:.2f} and the bound {example['bound']:.2f}, because the proof leaves a "
        f"denominator out. It fails for {where} (the logarithm of a node's mass with a deviation of up to 4). With 4N "
        f"in place of 2N it holds once Nζ⁻²ρˢ max x² ≤ x̄²/2, here from slot {bound['corrected_in_force_from_slot']:,} "
        f"on, as a property test says for any masses; by then the error has long been rounding."
    )


def _slots(slots: Sequence[Record]) -> str:
    rows = [
        "| graphs | outer steps | δ, the margin | S(δ) | needed for an error ≤ δ | needed for the same labels |",
        "|---|---|---|---|---|---|",
    ]
    for one in slots:
        delta = _range(one["delta"], ".1e")
        cells = [_range(one[name], ",.6g") for name in ("formula", "for_error", "for_labels")]
        rows.append(f"| {GRAPHS[one['graph']]} | {one['steps']} | {delta} | {' | '.join(cells)} |")
    return (
        "**Slots needed**, in every outer step of a run; δ is the least distance, in the data's units, by which "
        "a centre "
        "must be off before any label can change (the corrected margin). Medians, with least and greatest.\n\n"
        + "\n".join(rows)
    )


def _margin(margin: Record) -> str:
    flips = margin["flips"]
    return (
        f"**Margin.** Centres off by 0.999 of the paper's δ, half a difference of squared distances, changed a "
        f"label in "
        f"{flips['paper']:,} of {margin['trials']:,} trials; off by 0.999 of ½(‖y − c'‖ − ‖y − c‖), in "
        f"{flips['corrected']:,}; by 1.001 of it, in {flips['just_outside']:,}. (Each trial moves the two "
        f"centres of the "
        f"worst point in the worst direction.)"
    )


def _cost(cases: Sequence[Record]) -> str:
    rows = [
        "| network | | the paper's formula | counted | ratio | our formula |",
        "|---|---|---|---|---|---|",
    ]
    for case in cases:
        name = f"{case['case']}: {case['points']:,} points, {case['links_a_slot']:.1f} links a slot"
        for what in ("bytes", "operations", "numbers"):
            own = case[what]
            ours = f"{own['ours']:,.0f}" if "ours" in own else "the same"
            ratio = own["counted"] / own["paper"]
            rows.append(
                f"| {name} | {what} | {own['paper']:,.0f} | {own['counted']:,} | {ratio:.2f} | {ours} |"
            )
            name = ""
    return (
        "**Cost, time, memory**, counted while plain nodes send packed messages to each other: bytes sent; "
        "operations on "
        "a vector (a distance, a sum, a scaling); numbers that the whole network holds at once beside its points. The "
        "formula of bytes is exact. That of time, T·K·(M + N·S + N), counts a node's own vector in a slot and "
        "not those "
        "that it hears, of which a slot brings 2·N_l: with many links it falls short by far; T·(K·(M + S·(N + "
        "2N_l) + N) "
        "+ M) is exact where no cluster is empty. That of memory, (2N + M)·K, holds an M × K table where a "
        "label a point "
        "does, and leaves out what a node has heard: generous with few links, too little with many.\n\n"
        + "\n".join(rows)
    )


def _range(values: Sequence[float], form: str) -> str:
    middle, low, high = values
    return f"{middle:{form}} ({low:{form}}–{high:{form}})"
