"""A run checked with what the state folder keeps of it: its data, how its range and its start came about, its K."""

from dcka.check import Chosen, Surveyed, Verdict, check, check_score, check_seeding, check_survey
from dcka.choosing.plan_score import SCORE
from dcka.config import State
from dcka.inject.dataset import Dataset
from dcka.inject.readings import ReadingSet
from dcka.runs.held import kept_here
from dcka.runs.outcome import Outcome, OutcomeError
from dcka.runs.plan import SEEDING, SURVEY


def judged(outcome: Outcome, kept: State) -> tuple[Verdict, Dataset | None]:
    """The verdict, and the data set of a run of which there can be a picture.

    Raises DckaError where what it needs is not kept, or broken.
    """
    if outcome.kind == SURVEY:
        return check_survey(outcome, ReadingSet.load(kept.folder), kept_here(Dataset, kept)), None
    dataset = Dataset.load(kept.folder)
    if outcome.kind == SEEDING:
        return check_seeding(outcome, dataset), None
    if outcome.kind == SCORE:
        return check_score(outcome, dataset), None
    chosen = Chosen.load(kept, outcome.run)
    return check(outcome, dataset, _surveyed(dataset, kept), _seeded(outcome, kept), chosen), dataset


def _seeded(outcome: Outcome, kept: State) -> Outcome | None:
    """The run in which the nodes drew the start, where it is kept here."""
    number = outcome.record.get("seeding")
    try:
        return Outcome.load(kept, number) if isinstance(number, int) and number > 0 else None
    except OutcomeError:
        return None


def _surveyed(dataset: Dataset, kept: State) -> Surveyed | None:
    """How the grid of the data set came about, where the nodes agreed on it and all of that is kept here."""
    readings = kept_here(ReadingSet, kept)
    if dataset.agreed is None or readings is None:
        return None
    if readings.id.hex() != dataset.agreed.readings["dataset"]:
        return None  # others were injected since
    try:
        return Surveyed(Outcome.load(kept, dataset.agreed.run), readings)
    except OutcomeError:
        return None  # the verdict says that it was not checked
