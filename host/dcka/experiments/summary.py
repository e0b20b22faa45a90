"""The report's first screen: what the paper says, and what was found, from the record alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from dcka.experiments import prose, tables
from dcka.experiments.table import NAMES

Record = Mapping[str, Any]

LEGEND = """A cell says what both 95 % intervals bear out: **holds**, a lower mean and a lower spread than CKA's; mean
or spread, that one alone, the other undecided; worse, an interval on the other side; undecided, neither. An asterisk:
in some sample of the data the difference of the means has the other sign, so another sample may say otherwise.
"""


def exp1(record: Record) -> str:
    """What of the paper's five results and of its theory holds."""
    same = "holds" if record["dcka_equals_cka"] else "**fails**"
    rate = "holds" if record["consensus"]["within_5_percent"] else "**fails**"
    curves = "holds" if all(one["same"] for one in record["curves"].values()) else "**fails**"
    rows = [
        (
            "1. DCKA ends with CKA's SSD and centres",
            f"{same}: {record['equality']['ssd_dcka']:.6f}, from the same first step",
        ),
        (
            "2. consensus is exponential",
            f"{rate}: by {record['consensus_rate_measured']:.6f} a period, predicted "
            f"{record['consensus_rate_predicted']:.6f}",
        ),
        ("3. the SSD falls as CKA's, for several K", f"{curves}, step by step, from the blended start"),
        ("4. the same minimum as CKA", _minima(record["claims"])),
        ("4. better in mean and spread", "depends on K and on the start: the table below"),
        ("5. cheaper than DKM: 150 N_b against 210, 5 passes against 30", prose.against_dkm(record["dkm"])),
    ]
    flips = record["theory"]["margin"]["flips"]
    bound = "**fails**" if record["theory"]["bound"]["counterexample"]["violated"] else "holds"
    rows += [
        ("the error bound", f"{bound} as a law, is never near; corrected, it holds late"),
        (
            "the margin δ of exactness",
            f"{'**fails**' if flips['paper'] else 'holds'}; corrected, {'fails' if flips['corrected'] else 'holds'}",
        ),
    ]
    said = "\n".join(f"| {claim} | {found} |" for claim, found in rows)
    return f"| the paper says | found here |\n|---|---|\n{said}\n\n{_where(record['claims'])}"


def exp2(record: Record) -> str:
    """Where the paper's claim holds."""
    literal = [claim for claim in record["claims"] if claim["start"] == "local"]
    words = "".join(
        f"- {NAMES[claim['data']]}, read literally (`local`): the claim {claim['verdict']}. Its minimum against CKA's: "
        f"{_minima([claim])}.\n"
        for claim in literal
    )
    says = (
        "The paper says that DCKA is better than CKA in mean and spread on all three sets, and CKA in the minimum on "
        "Birch3 alone, at K = 80 and 100."
    )
    return f"{says}\n\n{words}\n{_where(record['claims'])}"


def _where(claims: Sequence[Record]) -> str:
    return f"Better than CKA in mean and spread:\n\n{tables.verdicts(claims)}\n{LEGEND}" if claims else ""


def _minima(claims: Sequence[Record]) -> str:
    """By number, of the literal reading, or of the first start that was run."""
    if not claims:
        return "no start was run"
    claim = next((one for one in claims if one["start"] == "local"), claims[0])
    words = "; ".join(f"{word} at K = {', '.join(map(str, ks))}" for word, ks in claim["minimum"].items())
    gap = f", by {claim['minimum_gap']:.1g} of it at most" if claim["minimum_gap"] >= 1e-9 else ""
    return f"`{claim['start']}`: {words}{gap}"
