"""The sentences of the report: what was done, what came out, and what of the paper holds."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from dcka.experiments.table import NAMES

Record = Mapping[str, Any]

READING = """**How to read it.** min, mean and std of the SSD are over the runs of {first}. A difference of means
(method minus CKA) and a ratio of spreads (standard deviations, method over CKA) are over all {samples}, with
95 % bootstrap intervals over the pairs{within}. "lower" and "higher" are said where the interval leaves 0, or 1,
out; else it is "undecided", which is not "equal". Of {count} intervals one in twenty would leave it out by
chance alone, about {chance:.0f}. Minima are compared by number, over as many runs, without a test. `empty`:
clusters that ended without a point, on average.
"""

MONTE_CARLO_1 = """Every method starts from the same draws in each run: CKA from one node's K points (another node
in each run), `local` from every node's own, which is the paper read literally, `sorted` and `snake` from the same draws
put into order, `shared` from K places of the range, `partition` from random labels, `kmeans++` from a draw over all
nodes' points.
"""

MONTE_CARLO_2 = """In each run the 100,000 points are dealt anew, 5,000 to each node, and every method starts from
the same draws. SSDs are in the squared units of the set's coordinates.

How "each node draws K centres" is read decides everything here. Literally (`local`), cluster k is another one at every
node, the first consensus averages unrelated centres, and all of them come out near the mean of the data.
"""


def reading(lines: Sequence[Record]) -> str:
    """How to read a table of `lines`."""
    draws = max(line["draws"] for line in lines)
    count = 2 * sum("against_cka" in line for line in lines)
    return READING.format(
        first="the first sample of the data" if draws > 1 else "the one data set",
        samples=f"{draws} samples" if draws > 1 else "runs",
        within=(
            ", resampled within each sample: they speak of these samples, and the column by sample says how much "
            "another one may differ"
            if draws > 1
            else ""
        ),
        count=count,
        chance=count / 20,
    )


def shortcut(found: Mapping[str, Record]) -> str:
    """That lossless DCKA may be computed as Lloyd's algorithm from the blended centres."""
    if not found:
        return ""
    lines = "".join(
        f"- {NAMES[name]}, K = {own['k']}, `{own['init']}`: {own['outer_steps']} outer steps, {own['slots']} "
        f"slots; SSDs "
        f"differ by at most {own['ssd_rel_diff']:.0e} of themselves, centres by {own['centre_diff']:.0e} of the range: "
        f"{'the same' if own['same'] else '**NOT the same**'}\n"
        for name, own in found.items()
    )
    return (
        "## The shortcut, checked\n\nThe runs below compute DCKA as Lloyd's algorithm from the centres that the "
        "network "
        "blends in its first step, which is its outcome where nothing is lost and consensus is close "
        "(docs/reproduce.md). Both clocks, simulated on the twenty nodes and three graphs, beside it:\n\n"
        + lines
    )


def equality(found: Record) -> str:
    word = "the same" if found["dcka_equals_cka"] else "NOT the same"
    return (
        f"## 1. DCKA ends where CKA does\n\nOn the switching graphs (b), (c), K = 9, each node from its own draw: "
        f"{found['outer_steps']} outer steps, {found['slots']} slots. DCKA's final SSD is {found['ssd_dcka']:.6f}; "
        f"K-means on all points, from the same first step, has {found['ssd_cka']:.6f}, and labels are {word} at "
        f"every "
        f"node. Their centres differ by at most {found['largest_centre_difference']:.1e}, and lie within "
        f"{found['farthest_from_a_mean']:.2g} of the Gaussians' means (their deviation is 0.8). From one node's "
        f"draw alone "
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
        fixed = _cheapest_for_all(found["dcka_slots"], within, found["starts"])
        named = [("DKM", found["dkm"][within]), ("DCKA, best S of each start", found["dcka"][within])]
        if fixed is not None:
            named.append((f"DCKA, S = {fixed} for all", found["dcka_slots"][fixed][within]))
        for name, own in named:
            cells = [_range(own.get(one)) for one in ("steps", "link_slots", "passes", "bytes")]
            rows.append(
                f"| {100 * float(within):g} % | {name} | {' | '.join(cells)} | {own['settled']} of {found['starts']} |"
            )
    apart = _range(found["dkm"]["disagreement"], ".1e")
    ends = {name: _range(found[name]["final_ssd"], ".6g") for name in ("dkm", "dcka")}
    return (
        f"## 5. DKM\n\nDKM (ADMM, η = {found['eta']:g}, exchanges with neighbours alone) on graph (a), 7 links, "
        f"and DCKA "
        f"on (b), (c) in turn, from the same {found['starts']} literal starts, K = {found['k']}. One stopping rule for "
        f"both: the first iteration from which on the SSD, each node with its own centres, stays within the given part "
        f"of the final SSD, DKM's own or that of DCKA with consensus to rounding. It looks back, so it measures "
        f"what was "
        f"needed; nodes could not stop by it. S, DCKA's slots a step, is the number that needs the fewest links "
        f"× slots: "
        f"of each start, which takes hindsight, or one for all starts. A message of DKM holds n numbers a "
        f"cluster, one of "
        f"DCKA n + 1; a link carries both ways in one slot; a number has 8 bytes. Each iteration of DKM and each outer "
        f"step of DCKA is one pass over all points. Medians, with least and greatest.\n\n"
        + "\n".join(rows)
        + f"\n\nFinal SSD: DKM {ends['dkm']}, DCKA {ends['dcka']}; DCKA's is lower from "
        f"{found['dcka_better_final']} starts, DKM's from {found['dkm_better_final']}. DKM's nodes still differ "
        f"by {apart} "
        f"in a coordinate, and an SSD in which each node has centres of its own may lie below a common one.\n\n"
        f"The paper has 30 iterations and 210 N_b for DKM, about 150 N_b and 5 passes for DCKA. Here, "
        f"{against_dkm(found)}. More slots bring the nodes closer, and cost more than DKM.\n\n"
        + _by_slots(found)
    )


def _cheapest_for_all(by_slots: Mapping[str, Record], within: str, starts: int) -> str | None:
    """The number of slots with the fewest links × slots (median) of those with which every start settles."""
    settled = {slots: own[within] for slots, own in by_slots.items() if own[within]["settled"] == starts}
    return min(settled, key=lambda slots: settled[slots]["link_slots"][0], default=None)


def against_dkm(found: Record, within: str = "0.01") -> str:
    """DCKA against DKM, in words: with one number of slots for all starts, and with how many it stays cheaper."""
    own, fixed = found["dkm"][within], _cheapest_for_all(found["dcka_slots"], within, found["starts"])
    if not own["settled"] or fixed is None:
        return "undecided: not every run settled"
    other = found["dcka_slots"][fixed][within]
    cheaper = {
        what: [
            int(slots)
            for slots, by in found["dcka_slots"].items()
            if by[within]["settled"] == found["starts"] and by[within][what][0] < own[what][0]
        ]
        for what in ("link_slots", "bytes")
    }
    said = " and ".join(
        f"in {name} with S = {', '.join(map(str, cheaper[what]))}"
        if cheaper[what]
        else f"in {name} with no S"
        for name, what in (("N_b", "link_slots"), ("bytes", "bytes"))
    )
    return (
        f"to {float(within):.0%}, with S = {fixed} slots a step: {other['link_slots'][0]:g} N_b against "
        f"{own['link_slots'][0]:g}, {other['bytes'][0]:,.0f} bytes against {own['bytes'][0]:,.0f}, "
        f"{other['passes'][0]:g} passes against {own['passes'][0]:g}; DCKA is the cheaper one {said}"
    )


def _by_slots(found: Record) -> str:
    lines = [
        "DCKA by its slots a step:\n",
        "| S | N_b to 1 % | outer steps | settled | N_b to 0.1 % | outer steps | settled |",
        "|---|---|---|---|---|---|---|",
    ]
    for slots, own in found["dcka_slots"].items():
        cells = [
            f"{_range(own[within].get('link_slots'))} | {_range(own[within].get('steps'))} | {own[within]['settled']}"
            for within in ("0.01", "0.001")
        ]
        lines.append(f"| {slots} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def best_known(record: Record) -> str:
    if record["below_best_known"]:
        return "**An SSD lies below the best known: a fault of ours.**\n"
    return "No run came below the best SSE that is known for K = 100.\n"


def again(record: Record) -> str:
    earlier = (
        " Some runs were kept from calls with other versions of a library: manifest.json names them.\n"
        if record["earlier_versions"]
        else "\n"
    )
    return (
        f"## The same again\n\n    {shlex.join(record['command'])}\n\nwith another folder gives the same numbers; "
        f"`--jobs` and `--scheduler` make no difference to them. manifest.json has versions and the data's checksums, "
        f"runs.csv every run, results.json all of this.{earlier}"
    )


def _range(values: Sequence[float] | None, form: str = ",.6g") -> str:
    if values is None:
        return "–"
    middle, low, high = values
    return f"{middle:{form}} ({low:{form}}–{high:{form}})"
