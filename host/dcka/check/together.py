"""A run beside a clustering (a survey, a seeding, a score) and what it was about, brought together."""

from dcka.check.verdict import Findings
from dcka.inject.dataset import Dataset
from dcka.inject.readings import ReadingSet
from dcka.runs.outcome import Outcome
from dcka_core.errors import CoreError
from dcka_core.record import Run, read_run


def brought_together(
    outcome: Outcome, kept: Dataset | ReadingSet, did: str, again: str, found: Findings
) -> Run | None:
    """The run's record, read; None, and why in `found`, where it is not finished or not about what is kept here.

    `did`: what the run did, with what, for a sentence that begins with it; `again`: what to inject.
    """
    found.figures.update(run=outcome.run, nodes=len(outcome.members), rejected=outcome.rejected)
    held = kept.id.hex()
    if outcome.dataset != held or set(outcome.members) != set(kept.node_ids):
        found.fail(
            f"run {outcome.run} {did} {outcome.dataset}, and what is kept here is {kept.name}, {held}: "
            f"inject {again} of the run again, or run again"
        )
    if not outcome.finished:
        found.fail(f"run {outcome.run} did not finish: {outcome.reason or 'no reason is known'}")
    try:
        run = read_run(outcome.record)
    except CoreError as error:
        found.fail(f"the record of run {outcome.run} is not one that can be checked: {error}")
        return None
    if (run.n, run.points) != (len(kept.columns), kept.size):
        found.fail(f"the record of run {outcome.run} has other dimensions or other numbers of readings")
    return None if found.failed else run


def there(outcome: Outcome) -> list[int]:
    """The members that were there in the end."""
    return [node for node in outcome.members if node not in outcome.absent]
