"""A tail: the distance, and what each node tells of its readings beyond it, are what the reference says."""

from typing import Any

import numpy as np

from dcka.check.survey import present_in
from dcka.check.together import brought_together, there
from dcka.check.verdict import Findings, Verdict
from dcka.inject.dataset import Dataset
from dcka.reference import TailRun, tail_run
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit, greatest_holder
from dcka_core.messages import FINAL
from dcka_core.record import Run

Json = dict[str, Any]


def check_tail(outcome: Outcome, dataset: Dataset, clustering: Outcome | None = None) -> Verdict:
    """Whether the nodes agreed on the reference's distance, and told of the readings that the reference finds beyond.

    `clustering`: the run whose centres the record has, where it is kept. Where nodes were missing in steps, the
    reference goes by the others there, and the verdict is PARTIAL at best.
    """
    found = Findings("tail")
    run = brought_together(outcome, dataset, "measured the data set", "the one", found)
    if run is not None and clustering is not None:
        _check_centres(run, clustering, found)
    reference = None if run is None else _reference(outcome, run, dataset, found)
    if run is not None and reference is not None:
        found.figures.update(tail_ppm=run.tail_ppm, threshold_squared=reference.threshold, reveal=run.reveal)
        for node in there(outcome):
            _check_node(outcome, run, node, reference, found)
        for node in outcome.missing:
            found.miss(f"node {node}: its readings are not in all steps of the run, or it gave no result")
        beyond = sum(len(reference.beyond(place)) for place in range(len(outcome.members)))
        found.figures["beyond"] = beyond
        found.hold(
            f"{len(there(outcome))} of {len(outcome.members)} nodes hold the reference's distance, to the last digit; "
            f"{beyond:,} readings are beyond it"
        )
    found.figures["bit_identical"] = not found.failed and not outcome.missing
    return found.verdict()


def _check_centres(run: Run, clustering: Outcome, found: Findings) -> None:
    """The centres of the record are those that a commit of the clustering has."""
    try:
        centres = decode_commit(clustering, greatest_holder(clustering)).centres
    except OutcomeError as error:
        found.fail(f"the clustering that it is about can't be read: {error}")
        return
    if list(centres) != run.scored:
        found.fail(f"the centres are not those that run {clustering.run} came to")


def _reference(outcome: Outcome, run: Run, dataset: Dataset, found: Findings) -> TailRun | None:
    present = None
    if outcome.missing:
        present = present_in(outcome, run.max_steps)
        if present is None:
            found.fail("not every step was told of, and without that nobody knows whose readings are in it")
            return None
    tables = [dataset.points[node] for node in outcome.members]
    centres = np.array(run.scored, dtype=np.int64).reshape(-1, run.n)
    return tail_run(tables, centres, run.tail_ppm, bins=run.bins, present=present)


def _check_node(outcome: Outcome, run: Run, node: int, reference: TailRun, found: Findings) -> None:
    try:
        commit = decode_commit(outcome, node)
    except OutcomeError as error:
        found.fail(str(error))
        return
    squared = (commit.centres[0] << 16) + commit.centres[1]
    if not commit.flags & FINAL:
        found.fail(f"node {node}: its last commit is not final")
    if squared != reference.threshold:
        found.fail(
            f"node {node}: it holds the squared distance {squared}, the reference {reference.threshold}"
        )
        return
    place = outcome.members.index(node)
    beyond = reference.beyond(place)
    result = outcome.results.get(node)
    if result is None:
        found.fail(f"no result came from node {node}")
    elif not result.get("rebuilt") and result.get("beyond") != len(beyond):
        found.fail(
            f"node {node}: it tells of {result.get('beyond')} readings beyond, the reference of {len(beyond)}"
        )
    _check_events(outcome, run, node, [int(index) for index in beyond[: run.reveal]], reference, found)


def _check_events(
    outcome: Outcome, run: Run, node: int, wanted: list[int], reference: TailRun, found: Findings
) -> None:
    """Each event is of a reading that the reference has among the farthest, with its distance. Some may be lost."""
    distances = reference.distances[outcome.members.index(node)]
    events = [event for event in outcome.events.get(node, []) if event["distance"] > reference.threshold]
    for event in events:
        index = event["index"]
        if index not in wanted or event["distance"] != int(distances[index]):
            found.fail(f"node {node}: it tells of its reading {index}, which the reference does not")
    lost = len(wanted) - len(events)
    if run.reveal and lost > 0:
        found.hold(f"node {node}: {lost} of the {len(wanted)} readings that it has told of did not come")
