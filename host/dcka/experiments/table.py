"""The Monte Carlo table: a line for each data set, K and method, against CKA; and what it says about the paper's
claims."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.experiments.statistics import TOO_FEW, paired, summary
from dcka.experiments.work import CKA, Row

Line = dict[str, Any]

NAMES: dict[str, str] = {
    "gaussians": "Nine Gaussians",
    "birch1": "Birch1",
    "birch2": "Birch2",
    "birch3": "Birch3",
}
"""Of the data sets, for people."""


def values_of(rows: Iterable[Row], data: str, k: int, method: str) -> list[NDArray[np.float64]]:
    """For each draw of the data the SSDs, in the order of the runs."""
    own = [row for row in rows if (row["data"], row["k"], row["method"]) == (data, k, method)]
    draws = sorted({row["draw"] for row in own})
    return [
        np.array([row["ssd"] for row in sorted(own, key=lambda row: row["run"]) if row["draw"] == draw])
        for draw in draws
    ]


def table(rows: Sequence[Row], seed: int) -> list[Line]:
    """A line for each data set, K and method, in the order of the rows.

    `runs`, `min`, `mean`, `std`: over the first draw of the data, the paper's one sample. `best`: over all draws.
    `empty`: clusters that ended without a point, on average. `steps`: outer steps, on average. `against_cka`, where
    CKA is there: `statistics.paired` over all draws.
    """
    lines: list[Line] = []
    for data, k, method in dict.fromkeys((row["data"], row["k"], row["method"]) for row in rows):
        own = [row for row in rows if (row["data"], row["k"], row["method"]) == (data, k, method)]
        values = values_of(own, data, k, method)
        line = {"data": data, "k": k, "method": method, **summary(values[0]), "draws": len(values)}
        line["best"] = float(min(part.min() for part in values))
        line["empty"] = float(np.mean([row["empty"] for row in own]))
        line["steps"] = float(np.mean([row["steps"] for row in own]))
        line["not_converged"] = sum(not row["converged"] for row in own)
        central = values_of(rows, data, k, CKA)
        if method != CKA and central:
            line["against_cka"] = paired(values, central, seed)
        lines.append(line)
    return lines


def claims(lines: Sequence[Line]) -> list[Line]:
    """For each data set and start the Ks at which the mean, the spread and the minimum are lower than CKA's, higher, or
    neither.

    `claim_holds_at`: where the paper's claim, a lower mean and a lower spread, is borne out by both intervals;
    `contradicted_at`: where one of them says higher; `verdict` in words. `samples_disagree_at`: where the difference
    of the means has another sign in some sample of the data. `minimum_gap`: the largest difference of the minima, as a
    share of CKA's.
    """
    found: list[Line] = []
    for data, method in dict.fromkeys(
        (line["data"], line["method"]) for line in lines if "against_cka" in line
    ):
        own = [line for line in lines if (line["data"], line["method"]) == (data, method)]
        words = {
            what: {
                word: [line["k"] for line in own if line["against_cka"][what] == word]
                for word in dict.fromkeys(line["against_cka"][what] for line in own)
            }
            for what in ("mean", "spread", "minimum")
        }
        pairs = {line["k"]: (line["against_cka"]["mean"], line["against_cka"]["spread"]) for line in own}
        holds = [k for k, pair in pairs.items() if pair == ("lower", "lower")]
        against = [k for k, pair in pairs.items() if "higher" in pair]
        found.append(
            {
                "data": data,
                "start": method,
                **words,
                "minimum_gap": max(abs(line["against_cka"]["minimum_gap"]) for line in own),
                "samples_disagree_at": [
                    line["k"]
                    for line in own
                    if line["against_cka"]["alike"] < len(line["against_cka"]["draws"])
                ],
                "claim_holds_at": holds,
                "contradicted_at": against,
                "verdict": "has too few runs to be judged"
                if TOO_FEW in words["mean"]
                else _verdict(list(pairs), holds, against),
            }
        )
    return found


def _verdict(ks: Sequence[int], holds: Sequence[int], against: Sequence[int]) -> str:
    if len(holds) == len(ks):
        return "holds at every K"
    said = [
        f"holds at K = {_listed(holds)}" if holds else "holds at no K",
        *([f"is contradicted at K = {_listed(against)}"] if against else []),
    ]
    rest = [k for k in ks if k not in holds and k not in against]
    return ", ".join([*said, *([f"is undecided at K = {_listed(rest)}"] if rest else [])])


def sentence(claim: Line) -> str:
    """What a claim says in words."""
    parts = []
    for what in ("mean", "spread", "minimum"):
        said = [f"{word} at K = {_listed(ks)}" for word, ks in claim[what].items()]
        parts.append(f"{what} {', '.join(said)}")
    gap = f" (by {claim['minimum_gap']:.1g} of it at most)" if claim["minimum_gap"] >= 1e-9 else ""
    return (
        f"{NAMES.get(claim['data'], claim['data'])}, start `{claim['start']}`, against CKA: {'; '.join(parts)}{gap}. "
        f"That DCKA is better in both mean and spread {claim['verdict']}."
    )


def _listed(ks: Sequence[int]) -> str:
    return ", ".join(map(str, ks))
