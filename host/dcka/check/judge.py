"""`check`: the outcome of a run, judged."""

from dataclasses import dataclass

from dcka.check.choice import Chosen, check_choice
from dcka.check.gossip import check_gossip
from dcka.check.seeding import check_start
from dcka.check.stream import Streamed, check_stream
from dcka.check.subject import bring_together
from dcka.check.survey import check_survey
from dcka.check.tree import check_tree
from dcka.check.verdict import Findings, Verdict
from dcka.inject.dataset import Dataset
from dcka.inject.readings import ReadingSet
from dcka.runs.outcome import Outcome
from dcka.runs.summary import struck_words


@dataclass(frozen=True, eq=False)
class Surveyed:
    """How the grid of a data set came about: the survey's outcome, and the readings that it was about."""

    outcome: Outcome
    readings: ReadingSet


def check(
    outcome: Outcome,
    dataset: Dataset,
    surveyed: Surveyed | None = None,
    seeded: Outcome | None = None,
    chosen: Chosen | None = None,
    streamed: Streamed | None = None,
    *,
    beside: bool = True,
) -> Verdict:
    """Whether the nodes came to what the reference says they have to.

    `tree`: every node's final centres, counts and SSD are the integer reference's, bit for bit. `gossip`: in each
    step every node put in the sums of its own readings and came to Σu/Σm within the tolerance, and the final SSD
    is CKA's. A run that did not finish, or is of another data set, fails. Whatever is wrong with an outcome is a
    reason in the verdict; nothing is raised. `surveyed`: where the nodes agreed on the grid by themselves; `seeded`:
    where they drew the start; `chosen`: how K was found; `streamed`: of a stream, what it took over, and the readings.
    What fails there makes the run fail that went by it. `beside`: whether a tree's run is set beside float64 K-means,
    too, which is told and is no condition.
    """
    found = Findings(outcome.kind)
    found.figures["survey"] = found.figures["seeding"] = found.figures["choice"] = None
    whole = bring_together(outcome, dataset, found)
    if dataset.agreed is not None:
        _check_agreed(dataset, surveyed, found)
    found.figures["scale"] = dataset.grid.scale
    struck = outcome.quarantined
    found.figures["quarantined"] = {
        str(node): {str(by): why for by, why in said.items()} for node, said in struck.items()
    }
    if whole is not None and dataset.grid.scale != "one":
        found.hold(
            f"scale {dataset.grid.scale}: each column is measured by its width on the grid, so SSD and errors are in "
            "widths, and not in the units of the readings; centres are"
        )
    if whole is not None:
        check_start(whole, seeded, found)
    if whole is not None and streamed is not None:
        check_stream(whole, streamed, found)
    if whole is not None and whole.run.kind == "tree":
        check_tree(whole, found, beside)
    elif whole is not None:
        check_gossip(whole, found)
    for node, said in struck.items():
        found.hold(struck_words(node, said))
    if whole is not None and chosen is not None:
        check_choice(outcome, chosen, dataset, found)
    return found.verdict()


def _check_agreed(dataset: Dataset, surveyed: Surveyed | None, found: Findings) -> None:
    """The survey before the run. Whom it went on without is told; the run's own result is whole none the less."""
    if surveyed is None:
        found.hold("the survey in which the nodes agreed on the range is not kept here, and was not checked")
        return
    verdict = check_survey(surveyed.outcome, surveyed.readings, dataset)
    found.figures["survey"] = {"verdict": verdict.word, **verdict.figures}
    said = [f"survey: {reason}" for reason in verdict.reasons]
    if verdict.word == "FAIL":
        found.fail(*said)
    for reason in said:
        found.hold(reason)
