"""`tree`: every node holds what the integer reference holds, bit for bit."""

import numpy as np

from dcka.check.beside import beside_cka, tell_beside
from dcka.check.partial import missing_of, replay
from dcka.check.subject import Grid, Subject, final_commits
from dcka.check.verdict import Findings, named
from dcka.reference import TreeRun, tree_run
from dcka_core.messages import CONVERGED, Commit


def check_tree(subject: Subject, found: Findings) -> None:
    """Compare every node's final commit with the reference's; then set the outcome beside float64 K-means.

    Where nodes were missing, the reference is replayed with those who were there, step by step.
    """
    commits = final_commits(subject, found)
    missing = missing_of(subject, commits)
    found.figures["missing"] = missing
    reference = tree_run(**subject.start)
    if missing:
        found.miss(f"without {named(missing)}, for the whole run or a part of it")
        reference = _replayed(subject, commits, found) or reference
    found.reference = subject.dataset.grid.to_units(reference.centres)
    differences = {node: _difference(subject, node, commit, reference) for node, commit in commits.items()}
    found.fail(*(words for words in differences.values() if words))
    same = sum(not words for words in differences.values())
    unit = subject.dataset.grid.step**2
    last = commits.get(subject.run.root) or next(iter(commits.values()), None)
    found.figures.update(
        bit_identical=same == len(subject.ids) and not missing,
        outer_steps=None if last is None else last.step,
        converged=bool(last and last.flags & CONVERGED),
        ssd=None if last is None else last.ssd * unit,
        reference_ssd=reference.ssd * unit,
    )
    found.hold(
        f"{same} of {len(subject.ids)} nodes hold the reference's centres, counts and SSD, bit for bit"
    )
    found.hold(_steps(reference))
    if len(commits) == len(subject.ids) and not missing:
        centres = {node: subject.table(commit.centres) for node, commit in commits.items()}
        beside = beside_cka(subject, reference, centres, reference.converged, len(reference.steps))
        tell_beside(subject, beside, found)


def _replayed(subject: Subject, commits: dict[int, Commit], found: Findings) -> TreeRun | None:
    """The reference with each step's contributors; a failure where the nodes' words and their result don't fit."""
    commit = next(iter(commits.values()), None)
    made = None if commit is None else replay(subject, commit)
    found.figures["replay_identical"] = made is not None
    if made is None:
        found.fail(
            "no replay of the reference, with the contributors that the roots told of, ends in this result"
        )
    else:
        found.hold("a replay of the reference with each step's contributors gives the same bits")
    return made


def _steps(reference: TreeRun) -> str:
    count = len(reference.steps)
    if reference.converged:
        return f"they converged after {count} outer steps, as the reference does"
    return f"they ended after {count} outer steps, the most allowed, as the reference does; not converged"


def _difference(subject: Subject, node: int, commit: Commit, reference: TreeRun) -> str:
    """A sentence for the first thing in which a node's final commit is not the reference's; "" for none."""
    if commit.step != len(reference.steps):
        return f"node {node}: it ended after {commit.step} outer steps, the reference after {len(reference.steps)}"
    centres = first_difference(subject, subject.table(commit.centres), reference.centres)
    if centres:
        return f"node {node}: {centres}"
    counts = np.flatnonzero(np.array(commit.counts) != reference.counts)
    if len(counts):
        k = int(counts[0])
        return f"node {node}: cluster {k} has {commit.counts[k]} points, and {reference.counts[k]} in the reference"
    if commit.ssd != reference.ssd:
        return f"node {node}: its SSD is {commit.ssd} on the grid, the reference's {reference.ssd}"
    if bool(commit.flags & CONVERGED) != reference.converged:
        return f"node {node}: it says converged = {bool(commit.flags & CONVERGED)}, the reference does not"
    return ""


def first_difference(subject: Subject, centres: Grid, expected: Grid) -> str:
    """The first coordinate in which two tables (K, n) differ, with both values, on the grid and in units."""
    where = np.argwhere(centres != expected)
    if not len(where):
        return ""
    k, j = (int(place) for place in where[0])
    units = [float(subject.dataset.grid.to_units(table)[k, j]) for table in (centres, expected)]
    return (
        f"{subject.coordinate(k, j)}: {centres[k, j]} on the grid ({units[0]:.7g}), and the reference has "
        f"{expected[k, j]} ({units[1]:.7g})"
    )
