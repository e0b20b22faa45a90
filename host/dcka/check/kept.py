"""A run checked with what the state folder keeps of it: its data, how its range and its start came about, its K."""

from pathlib import Path

from dcka.check import (
    Chosen,
    Streamed,
    Surveyed,
    Verdict,
    check,
    check_score,
    check_seeding,
    check_survey,
    check_tail,
    window_of_nodes,
)
from dcka.choosing.plan_score import SCORE
from dcka.config import State
from dcka.errors import UsageError
from dcka.inject.dataset import Dataset
from dcka.inject.readings import ReadingSet
from dcka.runs.held import kept_here
from dcka.runs.outcome import Outcome, OutcomeError
from dcka.runs.plan import SEEDING, SURVEY, TAIL
from dcka.streams.memory import recall_window


def judged(outcome: Outcome, kept: State, nodes: Path | None = None) -> tuple[Verdict, Dataset | None]:
    """The verdict, and the data set of a run of which there can be a picture.

    nodes: the flash of emulated nodes, where the readings of a stream are. Raises DckaError where what it needs is not
    kept, or broken.
    """
    if outcome.kind == SURVEY:
        return check_survey(outcome, ReadingSet.load(kept.folder), kept_here(Dataset, kept)), None
    dataset, streamed = _dataset(outcome, kept, nodes)
    if outcome.kind == SEEDING:
        return check_seeding(outcome, dataset), None
    if outcome.kind == SCORE:
        return check_score(outcome, dataset), None
    if outcome.kind == TAIL:
        return check_tail(outcome, dataset, _before(outcome, kept, "clustering")), None
    chosen = Chosen.load(kept, outcome.run)
    seeded = _before(outcome, kept, "seeding")
    return check(outcome, dataset, _surveyed(dataset, kept), seeded, chosen, streamed), dataset


def _dataset(outcome: Outcome, kept: State, nodes: Path | None) -> tuple[Dataset, Streamed | None]:
    """What the run was about: what was injected last; or of a stream, what the nodes' own readings make."""
    window = recall_window(kept, outcome.dataset)
    if window is None:
        return Dataset.load(kept.folder), None
    if nodes is None:
        raise UsageError(
            f"run {outcome.run} is of a stream, and its readings are on the nodes alone: with emulated ones, name the "
            "folder that dcka emulate --folder keeps with --nodes"
        )
    record, before = window
    dataset, made = window_of_nodes(nodes, record)
    previous = _kept_run(kept, None if before is None else before.get("run"))
    return dataset, Streamed(record, made, before, previous)


def _before(outcome: Outcome, kept: State, name: str) -> Outcome | None:
    """The run that the record names under `name`, where it is kept here: the draw of the start, or what it is about."""
    return _kept_run(kept, outcome.record.get(name))


def _kept_run(kept: State, number: object) -> Outcome | None:
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
