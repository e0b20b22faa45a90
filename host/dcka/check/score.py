"""A score: what the nodes said of a clustering is what the reference says of its centres, bit for bit."""

from fractions import Fraction
from typing import Any

import numpy as np

from dcka.check.together import brought_together, there
from dcka.check.verdict import Findings, Verdict
from dcka.inject.dataset import Dataset
from dcka.reference import indices
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka_core.messages import FINAL, Commit
from dcka_core.record import Run

Json = dict[str, Any]


def check_score(outcome: Outcome, dataset: Dataset) -> Verdict:
    """Whether every node's final commit and result are the reference's for the centres of the record.

    Where nodes were missing, the reference takes those who are in the commit, and the verdict is PARTIAL at best.
    """
    found = Findings("score")
    run = brought_together(outcome, dataset, "scored a clustering of the data set", "the one", found)
    if run is not None:
        k = len(run.scored) // run.n
        found.figures.update(k=k)
        references: dict[int, Json] = {}
        for node in there(outcome):
            _check_node(outcome, run, node, dataset, references, found)
        for node in outcome.missing:
            found.miss(f"node {node}: its readings are not in the score, or it gave no result")
        found.hold(
            f"{len(there(outcome))} of {len(outcome.members)} nodes hold the reference's counts, SSD and indices of "
            f"K = {k}, bit for bit"
        )
    found.figures["bit_identical"] = not found.failed and not outcome.missing
    return found.verdict()


def _check_node(
    outcome: Outcome, run: Run, node: int, dataset: Dataset, references: dict[int, Json], found: Findings
) -> None:
    """`references`: by the set of the missing; what is not there yet is put there."""
    try:
        commit = decode_commit(outcome, node)
    except OutcomeError as error:
        found.fail(str(error))
        return
    if not commit.flags & FINAL:
        found.fail(f"node {node}: its last commit is not final")
    if commit.missing not in references:
        present = [one for place, one in enumerate(outcome.members) if not commit.missing >> place & 1]
        references[commit.missing] = _reference(run, [dataset.points[one] for one in present])
    expected = references[commit.missing]
    for name, value in _committed(commit, run).items():
        if value != expected[name]:
            found.fail(f"node {node}: it holds {name} = {value}, the reference {expected[name]}")
    result = outcome.results.get(node)
    if result is None:
        found.fail(f"no result came from node {node}")
    elif not result.get("rebuilt"):
        for name, value in _told(result).items():
            if value != expected[name]:
                found.fail(f"node {node}: it tells {name} = {value}, the reference {expected[name]}")


def _reference(run: Run, tables: list[Any]) -> Json:
    """Of all these points, by the names that failures have."""
    places = np.array(run.scored, dtype=np.int64).reshape(-1, run.n)
    wanted = indices(np.concatenate(tables) if tables else np.empty((0, run.n), np.int64), places)
    return {
        "counts": wanted.counts.tolist(),
        "SSD": wanted.ssd,
        "spread": wanted.spread,
        "silhouette": wanted.silhouettes,
        "calinski_harabasz": wanted.calinski_harabasz,
        "bic": wanted.bic,
    }


def _committed(commit: Commit, run: Run) -> Json:
    """What a final commit holds (protocol, section 5, "Score")."""
    return {
        "counts": list(commit.counts[: len(run.scored) // run.n]),
        "SSD": commit.ssd,
        "spread": _number(commit.centres[1:6]),
        "silhouette": _number(commit.centres[6:10]),
    }


def _number(digits: list[int]) -> int:
    return sum(digit << 16 * place for place, digit in enumerate(digits))


def _told(result: Json) -> Json:
    """The indices of a result; the ratio reduced, since the reference has it so."""
    ratio = result.get("calinski_harabasz")
    if isinstance(ratio, list) and [type(part) for part in ratio] == [int, int] and ratio[1]:
        ratio = Fraction(ratio[0], ratio[1])
    return {"silhouette": result.get("silhouette"), "bic": result.get("bic"), "calinski_harabasz": ratio}
