"""A survey: the range, the grid and every node's points are those of the reference, which sorts all readings."""

from collections.abc import Collection

import numpy as np

from dcka.check.together import brought_together, there
from dcka.check.verdict import Findings, Verdict, named
from dcka.inject import data_file
from dcka.inject.dataset import Dataset
from dcka.inject.readings import ReadingSet
from dcka.reference import ReadingsGrid, SurveyRun, survey_run
from dcka.runs.agree import survey_grid
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka_core.messages import FINAL
from dcka_core.record import Run


def check_survey(outcome: Outcome, readings: ReadingSet, dataset: Dataset | None = None) -> Verdict:
    """Whether the nodes agreed on what the reference says, and made the points that follow.

    `dataset`: the one that came of it, where it is kept. Where nodes were missing in steps, the reference goes by the
    others there, and the verdict is PARTIAL at best.
    """
    found = Findings("survey")
    run = brought_together(outcome, readings, "was about the readings", "those", found)
    reference = None if run is None else _reference(outcome, run, readings, found)
    if run is not None and reference is not None:
        found.figures.update(tail_ppm=run.tail_ppm, scale=run.scale, outer_steps=reference.steps)
        _check_grids(outcome, reference.grid, found)
        _check_points(outcome, readings, reference.grid, found)
        if dataset is not None and dataset.agreed is not None and dataset.agreed.run == outcome.run:
            _check_kept(dataset, readings, reference.grid, found)
        for node in outcome.missing:
            found.miss(f"node {node}: its readings are not in all steps of the survey, or it gave no result")
        _tell(reference, readings, found)
    found.figures["bit_identical"] = not found.failed and not outcome.missing
    return found.verdict()


def _reference(outcome: Outcome, run: Run, readings: ReadingSet, found: Findings) -> SurveyRun | None:
    present = None
    if outcome.missing:
        present = present_in(outcome, run.max_steps)
        if present is None:
            found.fail("not every step was told of, and without that nobody knows whose readings are in it")
            return None
    tables = [readings.numbers[node] for node in outcome.members]
    return survey_run(
        tables, run.grid_bits, tail_ppm=run.tail_ppm, scale=run.scale, bins=run.bins, present=present
    )


def present_in(outcome: Outcome, steps: int) -> list[Collection[int]] | None:
    """For each step the indices of who was in it, as the root of the highest epoch has told; None where one lacks."""
    told: dict[int, tuple[list[int], list[int]]] = {}
    for reports in outcome.steps.values():
        for report in reports:
            epoch = list(report.get("epoch", [0]))
            if report["step"] not in told or epoch > told[report["step"]][0]:
                told[report["step"]] = epoch, report.get("missing", [])
    if not set(range(steps)) <= told.keys():
        return None
    return [
        [index for index, node in enumerate(outcome.members) if node not in told[step][1]]
        for step in range(steps)
    ]


def _check_grids(outcome: Outcome, grid: ReadingsGrid, found: Findings) -> None:
    """The final commit of each node leads to the reference's grid."""
    expected = list(grid.low), list(grid.width), list(grid.extents)
    wrong = []
    for node in there(outcome):
        try:
            made, final = survey_grid(outcome, node), decode_commit(outcome, node).flags & FINAL
        except OutcomeError as error:
            wrong.append(str(error))
            continue
        if not final:
            wrong.append(f"node {node}: its last commit is not final")
        elif (made.low, made.width, made.extents) != expected:
            wrong.append(
                f"node {node}: it came to the lower ends {made.low} and widths {made.width} (in readings), the "
                f"reference to {expected[0]} and {expected[1]}"
            )
    found.fail(*wrong)
    found.hold(
        f"{len(there(outcome))} of {len(outcome.members)} nodes agreed on the reference's range, to the last digit"
    )


def _check_points(outcome: Outcome, readings: ReadingSet, grid: ReadingsGrid, found: Findings) -> None:
    """Each node's data file is the one that the reference's levels make, and it has clipped what the reference does."""
    derived = grid.dataset(readings.id)
    total, wrong = 0, []
    for node in there(outcome):
        points, clipped = grid.quantise(readings.numbers[node])
        total += int(clipped.sum())
        counts = clipped.tolist() if len(clipped) <= 16 else [int(clipped.sum())]
        digest = data_file.checksum(data_file.encode(points, grid.bits, grid.extents, derived))
        status = outcome.statuses.get(node, {})
        if (status.get("dataset"), status.get("data")) != (derived.hex(), digest[:16]):
            wrong.append(
                f"node {node}: its points are {status.get('data') or 'not told of'}, and by the reference's grid "
                f"{digest[:16]}"
            )
        elif status.get("clipped") != counts:
            wrong.append(f"node {node}: it has clipped {status.get('clipped')}, the reference {counts}")
    found.fail(*wrong)
    found.figures["clipped"] = total
    found.hold(
        f"every node made the points of that range, byte for byte, and clipped {total:,} numbers in all"
    )


def _check_kept(dataset: Dataset, readings: ReadingSet, grid: ReadingsGrid, found: Findings) -> None:
    """What is kept here, and every check of a clustering goes by, is the reference's too."""
    whole = dataset.grid.whole
    if whole is None or (whole.low, whole.width, whole.extents) != (grid.low, grid.width, grid.extents):
        found.fail(f"the data set {dataset.id.hex()} that is kept here is on another grid; run again")
        return
    others = [
        node
        for node in readings.node_ids
        if not np.array_equal(dataset.points[node], grid.quantise(readings.numbers[node])[0])
    ]
    if others:
        found.fail(
            f"the data set that is kept here has other points of {named(others)} than the reference; run again"
        )


def _tell(reference: SurveyRun, readings: ReadingSet, found: Findings) -> None:
    """The range in the user's units, as figures."""
    place = 10.0**-readings.decimals
    for name, ends in (("low", reference.low), ("high", reference.high)):
        found.figures[name] = dict(zip(readings.columns, (ends * place).tolist(), strict=True))
