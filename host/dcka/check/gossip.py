"""`gossip`: in each step every node's centres against the sums that the nodes really put in."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dcka.check.beside import beside_cka, distance, relative, tell_beside
from dcka.check.lossless import matches_reference
from dcka.check.subject import Grid, Subject, final_commits
from dcka.check.telemetry import Reports, read_reports
from dcka.check.verdict import Findings, amount
from dcka.reference import StepCheck, TreeRun, check_step, gossip_tolerance, put_hash, tree_run
from dcka.reference.members import contribution, first_contribution
from dcka_core.messages import CONVERGED, Commit

SSD_ALLOWED = 1e-3
"""How far the final SSD may be from CKA's, relative: more is another local optimum, not the tolerance."""


@dataclass
class _Errors:
    """The largest error so far, in grid steps, and where; and a sentence for each step beyond the tolerance."""

    tolerance: Fraction
    largest: Fraction = Fraction(0)
    where: str = "nowhere"
    beyond: list[str] = field(default_factory=list)

    def take(self, where: str, result: StepCheck) -> None:
        """The worst of one step."""
        if result.error >= self.largest:
            self.largest, self.where = result.error, where
        if not result.within:
            self.beyond.append(
                f"{where}: {float(result.error):.2f} grid steps from Σu/Σm, and {float(self.tolerance):.2f} "
                "are allowed"
            )


def check_gossip(subject: Subject, found: Findings) -> None:
    """Every step of every node; then the final SSD beside CKA's, on the grid and in float64."""
    commits = final_commits(subject, found)
    if found.failed:
        return
    steps = max(commit.step for commit in commits.values())
    found.fail(
        *(
            f"node {node}: it ended after {commit.step} outer steps, others after {steps}"
            for node, commit in commits.items()
            if commit.step != steps
        )
    )
    reports = None if found.failed else read_reports(subject, steps, found)
    if reports is None:
        return
    converged = all(commit.flags & CONVERGED for commit in commits.values())
    slots = [max(own[step].slots for own in reports.values()) for step in range(steps)]
    found.figures.update(outer_steps=steps, converged=converged, slots=sum(slots))
    ending = "converged" if converged else "ended, the most allowed; not converged,"
    found.hold(
        f"{len(subject.ids)} of {len(subject.ids)} nodes {ending} after {steps} outer steps, {sum(slots)} slots"
    )
    _check_steps(subject, reports, found)
    _check_end(subject, commits, reports, found)
    if not found.failed:
        found.figures["matches_reference"] = matches_reference(subject, reports, found)


def _check_steps(subject: Subject, reports: Reports, found: Findings) -> None:
    errors = _Errors(gossip_tolerance(subject.run.tolerance))
    before: list[Grid | None] = list(subject.members.starts)
    steps = len(reports[subject.ids[0]])
    for step in range(steps):
        inputs = _inputs(subject, reports, before, step, found)
        if inputs is None:
            return
        centres = np.stack([reports[node][step].centres for node in subject.ids])
        result = check_step(inputs, centres, errors.tolerance)
        if result.worst is not None:
            i, k, j = result.worst
            errors.take(f"node {subject.ids[i]}, {subject.coordinate(k, j)}, step {step}", result)
        basis = [subject.members.basis if step == 0 or own is None else own for own in before]
        _check_kept(subject, step, inputs, centres, basis, found)
        before = list(centres)
    _tell_errors(subject, steps, errors, found)


def _tell_errors(subject: Subject, steps: int, errors: _Errors, found: Findings) -> None:
    unit = subject.dataset.grid.unit
    largest, tolerance = float(errors.largest), float(errors.tolerance)
    found.figures.update(
        max_error=largest * unit,
        tolerance=tolerance * unit,
        max_error_grid=largest,
        tolerance_grid=tolerance,
    )
    found.fail(*errors.beyond)
    found.hold(f"in each of the {steps} steps every node put in the sums of its own readings")
    found.hold(
        f"every centre came within the tolerance of Σu/Σm, {tolerance * unit:.3g} ({tolerance:.2f} grid steps); "
        f"the largest error is {largest * unit:.3g} ({largest:.2f}): {errors.where}"
    )


def _inputs(
    subject: Subject, reports: Reports, before: list[Grid | None], step: int, found: Findings
) -> Grid | None:
    """What the nodes put into a step, (N, K, n + 1), each from its own centres and readings; None, and the
    nodes that put in something else in `found`, where the hashes do not bear it out."""
    inputs = []
    wrong = []
    for i, node in enumerate(subject.ids):
        sums, ssd = (
            contribution(subject.members.points[i], before[i], subject.run.k)
            if step
            else first_contribution(subject.members, i)
        )
        report = reports[node][step]
        if report.put != put_hash(sums):
            if report.put == put_hash(np.zeros_like(sums)):
                wrong.append(
                    f"node {node} put nothing into step {step}, as one does that comes back in mid-run"
                )
            else:
                wrong.append(f"node {node} put into step {step} what are not the sums of its readings")
        elif report.ssd != ssd:
            wrong.append(
                f"node {node}: its SSD of step {step} is {report.ssd} on the grid, the reference's {ssd}"
            )
        inputs.append(sums)
    found.fail(*wrong)
    return None if wrong else np.stack(inputs)


def _check_kept(
    subject: Subject, step: int, inputs: Grid, centres: Grid, basis: list[Grid], found: Findings
) -> None:
    """A cluster that has no points anywhere keeps its centre, at every node the one it had."""
    for k in np.flatnonzero(inputs[..., 0].sum(axis=0) == 0):
        for i, node in enumerate(subject.ids):
            if not np.array_equal(centres[i, k], basis[i][k]):
                found.fail(
                    f"node {node}: cluster {k} has no points in step {step} and did not keep its centre"
                )


def _check_end(subject: Subject, commits: dict[int, Commit], reports: Reports, found: Findings) -> None:
    """Final commits are the last step's, with the SSD that belongs to them, and that is CKA's."""
    centres = {node: subject.table(commit.centres) for node, commit in commits.items()}
    total = 0
    for i, node in enumerate(subject.ids):
        if not np.array_equal(centres[node], reports[node][-1].centres):
            found.fail(f"node {node}: its final commit has other centres than its report of the last step")
        own = contribution(subject.members.points[i], centres[node], subject.run.k)[1]
        if commits[node].ssd != own:
            found.fail(
                f"node {node}: its final SSD is {commits[node].ssd} on the grid, the reference's {own}"
            )
        total += own
    central = tree_run(**subject.start)
    _check_ssd(subject, total, central, found)
    steps, converged = len(reports[subject.ids[0]]), bool(found.figures["converged"])
    beside = beside_cka(subject, central, centres, converged, steps)
    found.reference = beside.centres
    tell_beside(subject, beside, found)


def _check_ssd(subject: Subject, total: int, central: TreeRun, found: Findings) -> None:
    """Σ over the nodes, each with its own centres, beside CKA on the grid.

    Centres that are off by the tolerance alone add up to M·n·tolerance²: that much is allowed in any case, for
    CKA's SSD may be 0.
    """
    unit = subject.dataset.grid.unit**2
    reference = sum(contribution(own, central.centres, subject.run.k)[1] for own in subject.members.points)
    slack = float(gossip_tolerance(subject.run.tolerance)) ** 2 * subject.run.points * subject.run.n
    apart = relative(float(total), float(reference))
    found.figures.update(ssd=total * unit, cka_ssd=reference * unit, ssd_rel_diff=apart)
    words = (
        f"SSD {amount(total * unit)}, beside {amount(reference * unit)} of K-means on all points of the grid"
    )
    if abs(total - reference) > SSD_ALLOWED * reference + slack:
        found.fail(
            f"{words}: more than {SSD_ALLOWED:g} apart, relative; the run came to another local optimum, "
            "which a smaller tolerance makes rarer"
        )
    found.hold(words + distance(apart))
