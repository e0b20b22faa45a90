"""`dcka check`: the outcome of a run against the reference."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dcka.cli.options import examples, json_option, network_option, state_option
from dcka.cli.output import Output
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.check import Streamed, Surveyed, Verdict
    from dcka.config import State
    from dcka.inject.dataset import Dataset
    from dcka.runs.outcome import Outcome


@click.command(
    "check",
    epilog=examples(
        "dcka check                        the last run",
        "dcka check 12 --json              run 12, as one JSON object",
        "dcka check --picture run.png      and draw it",
        "dcka check --allow-partial        exit code 0 for PARTIAL too",
    ),
)
@click.argument("run", type=click.IntRange(min=1), metavar="[RUN]", required=False)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the readings, every node's centres and the reference's into this PNG file.",
)
@click.option(
    "--allow-partial", is_flag=True, help="Exit code 0 also where nodes were missing, and all else is right."
)
@click.option(
    "--nodes", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Of a stream: the nodes' flash, as dcka emulate --folder keeps it; readings are nowhere else.",
)  # fmt: skip
@network_option
@state_option
@json_option
def command(
    run: int | None,
    picture: Path | None,
    allow_partial: bool,
    nodes: Path | None,
    network: Path | None,
    state: Path | None,
    output: Output,
) -> int:
    """Compare the outcome of a run with the reference: PASS, PARTIAL or FAIL, and why.

    tree: every node's centres, counts and SSD must be the reference's, bit for bit; where nodes were missing, those
    of the reference with whoever was there in each step (PARTIAL). gossip: in every step every node must have put in
    the sums of its own readings, and have come to their quotient within the tolerance. Where the nodes agreed on the
    range of their readings, that is checked too, with each node's points; and where they drew the start, whether it is
    what the reference draws; and where K was found by dcka run --k auto, the indices of every K. Of a search for
    anomalies: the distance, and what each node tells of its readings beyond. The exit code is 0 for
    PASS and 1 for PARTIAL and FAIL.
    """
    from dcka.config import State, find_network_file
    from dcka.runs.outcome import Outcome

    kept = State(state) if state is not None else State.beside(find_network_file(network))
    outcome = Outcome.load(kept, run)
    verdict, dataset = _judged(outcome, kept, nodes)
    if picture is not None and dataset is None:
        raise UsageError(
            f"run {outcome.run} is a {outcome.kind}, of which there is no picture: draw the run that came after it"
        )
    record: dict[str, object] = {"verdict": verdict.word, "run": outcome.run, "kind": verdict.kind}
    record |= {"reasons": verdict.reasons, **verdict.figures}
    if picture is not None and dataset is not None:
        from dcka.plots import draw_run, panel

        title = f"{dataset.name}, run {outcome.run}"
        record["picture"] = draw_run(dataset, [panel(verdict, verdict.kind)], picture, title=title).absolute()
    count = f"{len(outcome.members)} node{'s' if len(outcome.members) != 1 else ''}"
    lines = [f"{verdict.word}: run {outcome.run}, {verdict.kind}, {count}"]
    output.result(record, "\n".join([*lines, *(f"  {reason}" for reason in verdict.reasons)]))
    return 0 if verdict.passed or (allow_partial and verdict.partial) else 1


def _judged(outcome: "Outcome", kept: "State", nodes: Path | None) -> "tuple[Verdict, Dataset | None]":
    """The verdict, and the data set of a run of which there can be a picture."""
    from dcka.check import Chosen, check, check_score, check_seeding, check_survey, check_tail
    from dcka.choosing.plan_score import SCORE
    from dcka.inject.dataset import Dataset
    from dcka.inject.readings import ReadingSet
    from dcka.runs.held import kept_here
    from dcka.runs.plan import SEEDING, SURVEY, TAIL

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


def _dataset(outcome: "Outcome", kept: "State", nodes: Path | None) -> "tuple[Dataset, Streamed | None]":
    """What the run was about: what was injected last; or of a stream, what the nodes' own readings make."""
    from dcka.check import Streamed, window_of_nodes
    from dcka.inject.dataset import Dataset
    from dcka.streams.memory import recall_window

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


def _before(outcome: "Outcome", kept: "State", name: str) -> "Outcome | None":
    """The run that the record names under `name`, where it is kept here: the draw of the start, or what it is about."""
    return _kept_run(kept, outcome.record.get(name))


def _kept_run(kept: "State", number: object) -> "Outcome | None":
    from dcka.runs.outcome import Outcome, OutcomeError

    try:
        return Outcome.load(kept, number) if isinstance(number, int) and number > 0 else None
    except OutcomeError:
        return None


def _surveyed(dataset: "Dataset", kept: "State") -> "Surveyed | None":
    """How the grid of the data set came about, where the nodes agreed on it and all of that is kept here."""
    from dcka.check import Surveyed
    from dcka.inject.readings import ReadingSet
    from dcka.runs.held import kept_here
    from dcka.runs.outcome import Outcome, OutcomeError

    readings = kept_here(ReadingSet, kept)
    if dataset.agreed is None or readings is None:
        return None
    if readings.id.hex() != dataset.agreed.readings["dataset"]:
        return None  # others were injected since
    try:
        return Surveyed(Outcome.load(kept, dataset.agreed.run), readings)
    except OutcomeError:
        return None  # the verdict says that it was not checked
