"""The check of each run that has ended, with what the state folder keeps of it."""

from collections.abc import Mapping
from typing import Any

from dcka.check import Verdict
from dcka.check.kept import judged
from dcka.config import State
from dcka.errors import DckaError
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


def checked(state: State, story: Story) -> Mapping[str, Any] | None:
    """The verdict on a run; None where its outcome is not kept here yet. Takes as long as the reference does."""
    try:
        if not state.run(story.number).exists():
            return None
        outcome = Outcome.load(state, story.number)
        if outcome.record != story.record:
            return None  # of another network, or of an earlier life of this one
        return verdict_record(judged(outcome, state)[0])
    except DckaError as error:
        return {"verdict": "not checked", "reasons": [clean(error, LONGEST)], "reference": None}
