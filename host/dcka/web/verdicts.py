"""The check of each run that has ended, with what the state folder keeps of it."""

import contextlib
from collections.abc import Mapping
from typing import Any

from dcka.check import Verdict
from dcka.check.kept import judged
from dcka.config import State
from dcka.errors import DckaError
from dcka.history import Checked, History, HistoryError, record_outcome
from dcka.monitor.events import clean
from dcka.monitor.story import Story
from dcka.runs.outcome import Outcome

Json = dict[str, Any]

LONGEST = 400


def verdict_record(verdict: Verdict) -> Json:
    """For the page. `reference`: K rows of n numbers in the user's units, None where it has come to none."""
    reference = verdict.reference
    return {
        "verdict": verdict.word,
        "reasons": [clean(reason, LONGEST) for reason in verdict.reasons],
        "reference": None if reference is None else reference.tolist(),
    }


def checked(state: State, story: Story, history: History | None = None) -> Mapping[str, Any] | None:
    """The verdict on a run; None where its outcome is not kept here yet. Takes as long as the reference does.

    It goes into the history, as that of `dcka check` does.
    """
    try:
        if not state.run(story.number).exists():
            return None
        outcome = Outcome.load(state, story.number)
        if outcome.record != story.record:
            return None  # of another network, or of an earlier life of this one
        verdict, dataset = judged(outcome, state)
        if history is not None:
            _keep(history, outcome, verdict, None if dataset is None else dataset.record())
        return verdict_record(verdict)
    except DckaError as error:
        return {"verdict": "not checked", "reasons": [clean(error, LONGEST)], "reference": None}


def _keep(history: History, outcome: Outcome, verdict: Verdict, dataset: Json | None) -> None:
    found = Checked(verdict.word, verdict.reasons, {"kind": verdict.kind, **verdict.figures})
    with contextlib.suppress(
        HistoryError
    ):  # the recorder says so, and the verdict is worth more than its record
        record_outcome(history, outcome, dataset, found)
