"""The choice of K behind a run: each K's indices are the reference's, and the rule takes this K of them."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dcka.check.score import check_score
from dcka.check.verdict import Findings
from dcka.choosing.choice import Choice
from dcka.choosing.rules import RULES, NoChoice, Point, pick
from dcka.choosing.scores import ScoreError, score_of
from dcka.config.state import State
from dcka.inject.dataset import Dataset
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit


@dataclass(frozen=True, eq=False)
class Chosen:
    """`outcomes`: by number, of the runs that the choice speaks of, as far as they are kept."""

    choice: Choice
    outcomes: Mapping[int, Outcome]

    @classmethod
    def load(cls, state: State, run: int) -> "Chosen | None":
        """The choice that led to a run, with all that is kept of it; None where K was given. Raises ChoiceError."""
        choice = Choice.load(state, run)
        if choice is None:
            return None
        outcomes = {}
        for number in (one for trial in choice.trials for one in (trial.run, trial.score)):
            with contextlib.suppress(OutcomeError):
                outcomes[number] = Outcome.load(state, number)
        return cls(choice, outcomes)


def check_choice(outcome: Outcome, chosen: Chosen, dataset: Dataset, found: Findings) -> None:
    """Every K's score against the reference, the curves against the scores, the K that was taken against the rule.

    Not checked: the gap statistic, which is this computer's own; that each K's clustering is the best of its starts.
    """
    choice = chosen.choice
    rule = RULES.get(choice.rule)
    if rule is None or choice.dataset != outcome.dataset:
        found.fail(
            f"the choice of K that is kept with run {outcome.run} is of another data set, or of no known rule"
        )
        return
    before = found.failed
    for point, trial in zip(choice.curves, choice.trials, strict=True):
        kept = [chosen.outcomes.get(number) for number in (trial.run, trial.score)]
        if kept[0] is None or kept[1] is None:
            found.fail(
                f"K = {trial.k}: run {trial.run} or {trial.score}, which judged it, is not kept; run again"
            )
        else:
            _check_trial(point, kept[0], kept[1], dataset, found)
    _check_rule(outcome, choice, found)
    failed = found.failed and not before
    found.figures["choice"] = {
        "verdict": "FAIL" if failed else "PASS", "k": choice.k, "chosen_by": choice.rule,
        "k_range": [choice.low, choice.high],
    }  # fmt: skip
    found.hold(
        f"K = {choice.k} is what the {rule.name} takes of {choice.low} to {choice.high}, and the nodes' indices of "
        "each K are the reference's, bit for bit"
    )


def _check_trial(
    point: Point, clustering: Outcome, score: Outcome, dataset: Dataset, found: Findings
) -> None:
    verdict = check_score(score, dataset)
    if verdict.word == "FAIL":
        found.fail(*(f"K = {point.k}: {reason}" for reason in verdict.reasons))
        return
    if verdict.partial:
        found.hold(f"K = {point.k}: {verdict.reasons[0]}")
    try:
        held = [list(decode_commit(clustering, node).centres) for node in clustering.commits]
        told = score_of(score).point(dataset.grid)
    except (OutcomeError, ScoreError) as error:
        found.fail(f"K = {point.k}: {error}")
        return
    if score.record.get("centres") not in held:
        found.fail(f"K = {point.k}: run {score.run} scored other centres than run {clustering.run} came to")
    if told != replace(point, gap=None, gap_se=None):
        found.fail(f"K = {point.k}: the curves say {point}, and run {score.run} {told}")


def _check_rule(outcome: Outcome, choice: Choice, found: Findings) -> None:
    try:
        k = pick(choice.curves, choice.rule)
    except NoChoice as error:
        found.fail(str(error))
        return
    if (k, k) != (choice.k, outcome.record.get("k")):
        found.fail(
            f"{choice.rule} takes K = {k} of these curves, and the choice says {choice.k}, the run "
            f"{outcome.record.get('k')}"
        )
