"""The report's tables of Monte Carlo runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from dcka.experiments.table import NAMES
from dcka.experiments.work import CKA

Record = Mapping[str, Any]

SIGNS = {("lower", "lower"): "**holds**", ("lower", "undecided"): "mean", ("undecided", "lower"): "spread"}
"""Of a cell: what of the claim the intervals bear out."""


def monte_carlo(lines: Sequence[Record]) -> str:
    """A row for each K and method: its own figures, of the first sample; then against CKA, over all samples."""
    several = any(line["draws"] > 1 for line in lines)
    over = ", all samples" if several else ""
    titles = ["K", "method", "runs", "min", "mean", "std", "empty", f"mean − CKA's{over} [95 %]"]
    titles += ["by sample"] * several + [f"spread / CKA's{over} [95 %]", "minimum"]
    rows = [_row(titles), _row(["---"] * len(titles))]
    for line in lines:
        name = "CKA" if line["method"] == CKA else f"`{line['method']}`"
        own = [str(line["k"]), name, str(line["runs"]), f"{line['min']:.7g}", f"{line['mean']:.6g}"]
        own += [f"{line['std']:.3g}", f"{line['empty']:.1f}"]
        rows.append(_row(own + _compared(line.get("against_cka"), several)))
    return "\n".join(rows) + "\n"


def _compared(against: Record | None, several: bool) -> list[str]:
    if against is None:
        return [""] * (3 + several)
    ratio = "–" if against["spread_ratio"] is None else f"{against['spread_ratio']:.2f}"
    return [
        f"{_signed(against['difference'])} {_interval(against['difference_interval'], '.3g')}".strip(),
        *([", ".join(map(_signed, against["draws"]))] if several else []),
        f"{ratio} {_interval(against['spread_interval'], '.2f')}".strip(),
        against["minimum"],
    ]


def verdicts(claims: Sequence[Record]) -> str:
    """A row for each data set and start, a column for each K: what of "mean and spread lower" is borne out."""
    ks = sorted({k for claim in claims for words in claim["mean"].values() for k in words})
    rows = [_row(["data", "start", *(f"K = {k}" for k in ks)]), _row(["---"] * (2 + len(ks)))]
    for claim in claims:
        data: str = claim["data"]
        name = NAMES.get(data, data)
        rows.append(_row([name, f"`{claim['start']}`", *(_cell(claim, k) for k in ks)]))
    return "\n".join(rows) + "\n"


def _cell(claim: Record, k: int) -> str:
    mean, spread = (
        next((word for word, ks in claim[what].items() if k in ks), "") for what in ("mean", "spread")
    )
    if "higher" in (mean, spread):
        worse = [name for name, word in (("mean", mean), ("spread", spread)) if word == "higher"]
        return f"worse {' and '.join(worse)}{_star(claim, k, mean)}"
    return SIGNS.get((mean, spread), mean) + _star(claim, k, mean)


def _star(claim: Record, k: int, mean: str) -> str:
    """Of a mean that is lower or higher over all samples, and not so in each."""
    return " \\*" if mean in ("lower", "higher") and k in claim["samples_disagree_at"] else ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _signed(value: float) -> str:
    return f"{value:+.4g}".replace("-", "−")


def _interval(ends: Sequence[float | None], form: str) -> str:
    if ends[0] is None or ends[1] is None:
        return ""
    return f"[{ends[0]:{form}}, {ends[1]:{form}}]".replace("[-", "[−").replace(" -", " −")
