"""Float64 K-means on all readings in one place, from the start of a run: what the run is set beside."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dcka.check.subject import Grid, Subject
from dcka.check.verdict import Centres, Findings, amount
from dcka.reference import TreeRun, cka, ssd

MOST_STEPS = 2000
"""For the comparison with a run that converged: K-means in float64 may take some steps more than the run did."""


@dataclass(frozen=True, eq=False)
class Beside:
    """In the user's units, or scaled as the grid is: `own`, the SSD of the readings with the nodes' centres, and CKA's
    `ssd`.

    `rel_diff`: |own − ssd| / ssd; None where CKA's is 0 and the nodes' is not. `centres`: CKA's, (K, n), in the
    user's units.
    """

    own: float
    ssd: float
    rel_diff: float | None
    centres: Centres


def beside_cka(
    subject: Subject, reference: TreeRun, centres: Mapping[int, Grid], converged: bool, steps: int
) -> Beside:
    """The nodes' final `centres` on the grid, beside CKA in float64 from the same start.

    `reference` has the start: the common centres or, where there are none, those after the first consensus. Where the
    nodes have agreed on the range, readings beyond the grid count as its ends: that was asked for.
    A run of `steps` that did not converge is set beside CKA after as many.
    """
    dataset = subject.dataset
    used = 0 if subject.run.common else 1
    start = reference.steps[0].centres if used else subject.members.basis
    grid = dataset.grid
    own_range = dataset.agreed is not None
    readings = {
        node: grid.scaled(grid.within(values) if own_range else values)
        for node, values in ((node, dataset.values[node]) for node in subject.ids)
    }
    limit = MOST_STEPS if converged else steps - used
    result = cka(np.concatenate(list(readings.values())), grid.scaled(grid.to_units(start)), limit)
    own = sum(
        ssd(readings[node], grid.scaled(grid.to_units(centres[node])))
        for node in subject.ids
        if len(readings[node])
    )
    return Beside(own, result.ssd, relative(own, result.ssd), grid.unscaled(result.centres))


def relative(value: float, reference: float) -> float | None:
    """|value − reference| / reference; 0 where both are 0, None where only the reference is."""
    if value == reference:
        return 0.0
    return abs(value - reference) / reference if reference else None


def distance(rel_diff: float | None) -> str:
    """The end of a sentence that has set two SSDs beside each other."""
    if rel_diff is None:
        return ""
    return f": {rel_diff:.1e} apart, relative" if rel_diff else ": the same"


def tell_beside(subject: Subject, beside: Beside, found: Findings) -> None:
    """The comparison as figures and a sentence. It is no condition: quantised readings can lead K-means to
    another local optimum, and clipped ones are other readings."""
    found.figures.update(float_ssd=beside.ssd, float_ssd_rel_diff=beside.rel_diff)
    start = "the same start" if subject.run.common else "the centres after the first consensus"
    found.hold(
        f"in float64, SSD {amount(beside.own)}, beside {amount(beside.ssd)} of K-means on all readings, from "
        f"{start}{distance(beside.rel_diff)}"
    )
    clipped = sum(subject.dataset.clipped)
    if clipped:
        whole = "has them whole" if subject.dataset.agreed is None else "has them clipped, too"
        found.hold(f"{clipped:,} readings lie outside the range and were clipped: that comparison {whole}")
