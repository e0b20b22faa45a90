"""A seeding: what the nodes drew is what the reference draws, round by round by those who were there."""

from collections.abc import Collection, Sequence

import numpy as np

from dcka.check.subject import Subject
from dcka.check.together import brought_together, there
from dcka.check.verdict import Findings, Verdict, named
from dcka.inject.dataset import Dataset
from dcka.reference import distributed_plus_plus
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka.runs.seed import PLUS, Drawn, drawn_by
from dcka_core.messages import FINAL
from dcka_core.record import Run


def check_seeding(outcome: Outcome, dataset: Dataset) -> Verdict:
    """Whether the nodes drew what the reference draws of `dataset`.

    Where nodes were missing, in each round those offer whom the roots told of, and the verdict is PARTIAL at best.
    """
    found = Findings("seeding")
    run = brought_together(outcome, dataset, "drew from the data set", "the one", found)
    drawn = None if run is None else _reference(outcome, run, dataset, found)
    if run is not None and drawn is not None:
        _check_drawn(outcome, drawn, found)
        for node in outcome.missing:
            found.miss(f"node {node}: it did not offer in all rounds of the seeding, or it gave no result")
        owners = {str(node): drawn.owners.count(node) for node in outcome.members}
        found.figures.update(k=run.max_steps, seed=run.seed, drawn_from=owners)
    found.figures["bit_identical"] = not found.failed and not outcome.missing
    return found.verdict()


def check_start(subject: Subject, seeded: Outcome | None, found: Findings) -> None:
    """The start of a clustering by k-means++: the centres of its record are what a seeding has drawn. `seeded`: that
    seeding; where it is not kept, they have to be what all nodes together draw."""
    run, record = subject.run, subject.outcome.record
    if run.init != PLUS:
        return
    if seeded is None:
        drawn = draw(subject.dataset, run.k, run.seed)
        if drawn is None or not _is_start(subject, drawn):
            found.fail(
                f"run {record.get('seeding')}, in which the nodes drew the start, is not kept here, and the start is "
                "not what all nodes together draw"
            )
            return
        found.figures["seeding"] = {"verdict": "PASS", "run": record.get("seeding")}
        found.hold("the start is what all nodes together draw by k-means++, bit for bit")
        return
    verdict = check_seeding(seeded, subject.dataset)
    found.figures["seeding"] = {"verdict": verdict.word, **verdict.figures}
    said = [f"seeding: {reason}" for reason in verdict.reasons]
    if verdict.word == "FAIL":
        found.fail(*said)
        return
    drawn = drawn_by(seeded, min(seeded.commits))
    asked = (seeded.run, seeded.record["k"], seeded.record["seed"])
    if asked != (record.get("seeding"), run.k, run.seed) or not _is_start(subject, drawn):
        found.fail(f"the start is not what the nodes have drawn in run {seeded.run}")
    for reason in said:
        found.hold(reason)


def draw(
    dataset: Dataset, k: int, seed: int, present: Sequence[Collection[int]] | None = None, run: int = 0
) -> Drawn | None:
    """What the reference draws; None where there are fewer than K distinct points."""
    ids = sorted(dataset.node_ids)
    points = [dataset.points[node].astype(np.int64) for node in ids]
    try:
        picks = distributed_plus_plus(points, ids, k, seed, present)
    except ValueError:
        return None
    centres = tuple(tuple(int(level) for level in points[place][row]) for place, row in picks)
    return Drawn(run, centres, tuple(ids[place] for place, _ in picks))


def _is_start(subject: Subject, drawn: Drawn) -> bool:
    return subject.run.centres == [level for centre in drawn.centres for level in centre]


def _reference(outcome: Outcome, run: Run, dataset: Dataset, found: Findings) -> Drawn | None:
    """What has to be drawn; None, and why in `found`, where nothing can be."""
    if outcome.missing:
        return _replayed(outcome, run, dataset, found)
    drawn = draw(dataset, run.max_steps, run.seed, run=outcome.run)
    if drawn is None:
        found.fail(
            f"fewer than K = {run.max_steps} of the points are distinct, so there is no start to be drawn"
        )
    return drawn


def _replayed(outcome: Outcome, run: Run, dataset: Dataset, found: Findings) -> Drawn | None:
    """The reference's draw with those who offered in each round, as roots told of it.

    Two roots may each tell of a round, one of them to nobody else; the chain is the one that leads to the result. As
    weights go by the centres alone, each round is told apart by itself.
    """
    try:
        source = min(there(outcome))
        missing, wanted = decode_commit(outcome, source).missing, drawn_by(outcome, source)
    except (OutcomeError, ValueError):
        found.fail("nobody holds a result to be replayed")
        return None
    ever = {node for index, node in enumerate(outcome.members) if missing >> index & 1}
    told = _told(outcome, run.max_steps, ever)
    picked = [0] * len(told)
    while all(pick < len(choices) for pick, choices in zip(picked, told, strict=True)):
        present = [choices[pick] for pick, choices in zip(picked, told, strict=True)]
        made = draw(dataset, run.max_steps, run.seed, present, outcome.run)
        agreed = 0 if made is None else _agreed(made, wanted)
        if made is not None and agreed == run.max_steps and ever == _without(outcome, present):
            return made
        picked[min(agreed, run.max_steps - 1)] += 1
    found.fail("no replay of the reference, with those who offered as the roots told, draws these points")
    return None


def _told(outcome: Outcome, steps: int, ever: set[int]) -> list[list[frozenset[int]]]:
    """By round who was told to have offered: more than half, and only those left out who were `ever` missing."""
    everyone = frozenset(outcome.members)
    choices: list[dict[frozenset[int], None]] = [{} for _ in range(steps)]
    for reports in outcome.steps.values():
        for report in reports:
            absent = frozenset(report.get("missing", []))
            if report["step"] < steps and absent <= ever and 2 * len(absent) < len(everyone):
                choices[report["step"]][everyone - absent] = None
    return [list(one) for one in choices]


def _without(outcome: Outcome, present: Sequence[Collection[int]]) -> set[int]:
    """Who was away in any round."""
    return {node for one in present for node in outcome.members if node not in one}


def _agreed(made: Drawn, wanted: Drawn) -> int:
    """In how many rounds from the first on the same was drawn."""
    count = 0
    pairs = zip(made.centres, made.owners, wanted.centres, wanted.owners, strict=False)
    for centre, owner, other, whose in pairs:
        if (centre, owner) != (other, whose):
            break
        count += 1
    return count


def _check_drawn(outcome: Outcome, expected: Drawn, found: Findings) -> None:
    """The final commit of each node has the reference's points, and whose they are."""
    wrong = []
    members = there(outcome)
    for node in members:
        try:
            drawn, final = drawn_by(outcome, node), decode_commit(outcome, node).flags & FINAL
        except OutcomeError as error:
            wrong.append(str(error))
            continue
        if not final:
            wrong.append(f"node {node}: its last commit is not final")
        elif drawn != expected:
            wrong.append(f"node {node}: {_difference(drawn, expected)}")
    found.fail(*wrong)
    found.hold(
        f"{len(members) - len(wrong)} of {len(outcome.members)} nodes hold the {len(expected.owners)} points that the "
        f"reference draws, bit for bit; they are of {named(sorted(set(expected.owners)))}"
    )


def _difference(drawn: Drawn, expected: Drawn) -> str:
    both = zip(drawn.centres, drawn.owners, expected.centres, expected.owners, strict=False)
    for r, (centre, owner, wanted, whose) in enumerate(both):
        if (centre, owner) != (wanted, whose):
            return (
                f"centre {r} is {list(centre)} of node {owner} (on the grid), and the reference draws {list(wanted)} "
                f"of node {whose}"
            )
    return f"it holds {len(drawn.owners)} points, and the reference draws {len(expected.owners)}"
