"""The sentences of the report: what was done, what came out, and what of the paper holds."""

from collections.abc import Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]

MONTE_CARLO_1 = """Every method starts from the same draws in each run: CKA from one node's K points (another node
in each run), `local` from every node's own, `sorted` and `snake` from the same draws put into order, `shared` from K
places of the range, `partition` from random labels, `kmeans++` from a draw over all nodes' points. min, mean and std
are those of the first sample of the data; differences and ratios are over all samples, with bootstrap intervals over
the pairs. Minima are compared by number, over as many runs, without a test. `empty`: clusters that ended without a
point, on average.
"""

MONTE_CARLO_2 = """In each run the 100,000 points are dealt anew, 5,000 to each node, and every method starts from
the same draws. DCKA is Lloyd's algorithm from the centres that the network blends in its first step; with lossless
consensus to a small tolerance this is its outcome (see docs/reproduce.md). Differences and ratios have bootstrap
intervals over the pairs; minima are compared by number, over as many runs, without a test. `empty`: clusters that ended
without a point, on average.

How "each node draws K centres" is read decides everything here. Literally (`local`), cluster k is another one at every
node, the first consensus averages unrelated centres, and all of them come out near the mean of the data.
"""


def equality(found: Record) -> str:
    word = "the same" if found["dcka_equals_cka"] else "NOT the same"
    return (
        f"## 1. DCKA ends where CKA does\n\nOn the switching graphs (b), (c), K = 9, each node from its own draw: "
        f"{found['outer_steps']} outer steps, {found['slots']} slots. DCKA's final SSD is {found['ssd_dcka']:.6f}; "
        f"K-means on all points, from the same first step, has {found['ssd_cka']:.6f}, and labels are {word} at "
        f"every "
        f"node. Their centres differ by at most {found['largest_centre_difference']:.1e}. From one node's draw "
        f"alone "
        f"CKA ends at {found['cka_random']:.6f}. (The paper's sample: 5028.54.)\n"
    )


def consensus(found: Record) -> str:
    word = "within" if found["within_5_percent"] else "NOT within"
    return (
        f"## 2. Consensus\n\nEvery node's x²_i1 comes to the average of the nodes' counts. The distance falls by "
        f"{found['consensus_rate_measured']:.6f} a period of two slots (fitted), that is "
        f"{found['rate_per_slot_measured']:.4f} a slot; |λ2(A_c A_b)|, with Metropolis' weights, is "
        f"{found['consensus_rate_predicted']:.6f}, its root {found['rate_per_slot_predicted']:.4f}. The "
        f"logarithms' ratio is "
        f"{found['log_ratio']:.4f}, {word} 5 %.\n"
    )


def curves(found: Record) -> str:
    same = [k for k, own in found.items() if own["same"]]
    lines = ", ".join(
        f"K = {k}: {len(own['dcka'])} and {len(own['cka'])} iterations" for k, own in found.items()
    )
    return (
        f"## 3. SSD against the iteration\n\nDCKA's curve, simulated with both clocks, is that of CKA from the "
        f"blended start "
        f"to nine digits, step by step, for {len(same)} of {len(found)} K. It starts elsewhere than CKA from "
        f"one draw: "
        f"{lines}.\n"
    )


def dkm(found: Record) -> str:
    rows = [
        "| to | method | iterations | links × steps (N_b) | passes over the data | bytes | settled |",
        "|---|---|---|---|---|---|---|",
    ]
    for within in ("0.01", "0.001"):
        for method in ("dkm", "dcka"):
            own = found[method][within]
            cells = [_range(own.get(name)) for name in ("steps", "link_slots", "passes", "bytes")]
            rows.append(
                f"| {float(within):.1%} | {method.upper()} | {' | '.join(cells)} | {own['settled']} of "
                f"{found['starts']} |"
            )
    apart = _range(found["dkm"]["disagreement"], ".1e")
    ends = {name: _range(found[name]["final_ssd"], ".6g") for name in ("dkm", "dcka")}
    return (
        f"## 5. DKM\n\nDKM (ADMM, η = {found['eta']:g}) on graph (a), 7 links, and DCKA on (b), (c) in turn, "
        f"from the same "
        f"{found['starts']} literal starts, K = {found['k']}. One stopping rule for both: the first iteration "
        f"from which on "
        f"the SSD, each node with its own centres, stays within the given part of the method's own final SSD. "
        f"DCKA runs with "
        f"the number of slots a step that needs the fewest links × slots. A message of DKM holds n numbers a "
        f"cluster, one "
        f"of DCKA n + 1; a link carries both ways in one slot; a number has 8 bytes. Medians, with least and "
        f"greatest.\n\n"
        + "\n".join(rows)
        + f"\n\nFinal SSD: DKM {ends['dkm']}, DCKA {ends['dcka']}; DCKA's is lower from "
        f"{found['dcka_better_final']} starts, "
        f"DKM's from {found['dkm_better_final']}. DKM's nodes still differ by {apart} in a coordinate, and an SSD in "
        f"which each node has centres of its own may lie below a common one. The paper has 30 iterations and 210 N_b "
        f"for DKM, 150 N_b and 5 passes for DCKA. Each "
        f"outer step of DCKA is a pass over all points, and so is each iteration of DKM.\n"
    )


def theory(found: Record) -> str:
    bound, margin, cost = found["bound"], found["margin"], found["cost"]
    example = bound["counterexample"]
    slots = "; ".join(
        f"{one['graph']} (N = {one['nodes']}): S(δ) = {one['formula']:,}, needed {one['needed']:,}"
        for one in found["slots"]
    )
    flips = margin["flips"]
    rows = "\n".join(
        f"| {name} | {cost[name]['formula']:,.0f} | {cost[name]['counted']:,} | {note} |"
        for name, note in (
            ("communication", "bytes; the formula is exact, with the mean number of links"),
            ("time", "the formula counts a node's own share of a slot and leaves its neighbours' out"),
            ("memory", "the formula holds a whole M × K table of assignments; a label a point does"),
        )
    )
    return (
        f"## 6. The theory, checked\n\n**Error bound** 2Nζ⁻²ρˢσ, here ε = {bound['epsilon']:.3f}, τ = "
        f"{bound['tau']}, ζ = "
        f"{bound['zeta']:.5f}, ρ = {bound['rho']:.6f}. In this run it is violated in {bound['violations']} of "
        f"the slots and "
        f"clusters. As a law it fails: with one point at 100 on node 1 and 1,000 at 0 on each of the others, "
        f"the error at "
        f"slot 0 is {example['error']:.2f} and the bound {example['bound']:.2f}: the proof leaves a denominator "
        f"out. With 4N "
        f"in place of 2N it holds from the slot on where Nζ⁻²ρˢ max x² ≤ x̄²/2, here slot "
        f"{bound['corrected_in_force_from_slot']:,}. By then the measured error has long been rounding.\n\n"
        f"**Slots needed** for an error of {found['slots'][0]['delta']:g} of the points' spread: {slots}.\n\n"
        f"**Margin.** Centres off by 0.999 of the paper's δ, half a difference of squared distances, changed a "
        f"label in "
        f"{flips['paper']:,} of {margin['trials']:,} trials; off by 0.999 of ½(‖y − c'‖ − ‖y − c‖), in "
        f"{flips['corrected']:,}; by 1.001 of it, in {flips['just_outside']:,}. (Each trial moves the two "
        f"centres of the "
        f"worst point in the worst direction.)\n\n**Cost, time, memory** of a run of {cost['outer_steps']} "
        f"outer steps, "
        f"{cost['slots_a_step']:.1f} slots each:\n\n| | formula | counted | |\n|---|---|---|---|\n{rows}\n"
    )


def best_known(record: Record) -> str:
    if record["below_best_known"]:
        return "**An SSD lies below the best known: a fault of ours.**\n"
    return "No run came below the best SSE that is known.\n"


def again(command: Sequence[str]) -> str:
    call = " ".join(["dcka", *command[1:]])
    return f"## The same again\n\n`{call}`; manifest.json has versions and checksums, runs.csv every run.\n"


def _range(values: Sequence[float] | None, form: str = ",.0f") -> str:
    if values is None:
        return "–"
    middle, low, high = values
    return f"{middle:{form}} ({low:{form}}–{high:{form}})"
