"""`tree`: every node holds what the integer reference holds, bit for bit."""

import numpy as np

from dcka.check.beside import beside_cka, tell_beside
from dcka.check.partial import ids_of, missing_of, replay
from dcka.check.subject import Grid, Subject, final_commits
from dcka.check.verdict import Findings, named
from dcka.reference import TreeRun, tree_run
from dcka_core.messages import CONVERGED, Commit


def check_tree(subject: Subject, found: Findings, beside: bool = True) -> None:
    """Compare every node's final commit with the reference's; then set the outcome `beside` float64 K-means, where
    that is asked for.

    Where nodes were missing, the reference is replayed with those who were there, step by step.
    """
    commits = final_commits(subject, found)
    missing = missing_of(subject, commits)
    found.figures.update(missing=missing, replay_identical=None)
    reference = _replayed(subject, commits, found) if missing else tree_run(**subject.start)
    if reference is None:
        found.figures["bit_identical"] = False
        return
    found.reference = subject.dataset.grid.to_units(reference.centres)
    differences = {node: _difference(subject, node, commit, reference) for node, commit in commits.items()}
    found.fail(*(words for words in differences.values() if words))
    same = sum(not words for words in differences.values())
    unit = subject.dataset.grid.unit**2
    last = commits.get(subject.run.root) or next(iter(commits.values()), None)
    found.figures.update(
        bit_identical=same == len(subject.ids) and not missing,
        outer_steps=None if last is None else last.step,
        converged=bool(last and last.flags & CONVERGED),
        ssd=None if last is None else last.ssd * unit,
        reference_ssd=reference.ssd * unit,
    )
    whose = "the replay" if missing else "the reference"
    found.hold(f"{same} of {len(subject.ids)} nodes hold {whose}'s centres, counts and SSD, bit for bit")
    found.hold(_steps(reference, whose))
    if beside and len(commits) == len(subject.ids) and not missing:
        centres = {node: subject.table(commit.centres) for node, commit in commits.items()}
        cka = beside_cka(subject, reference, centres, reference.converged, len(reference.steps))
        tell_beside(subject, cka, found)


def _replayed(subject: Subject, commits: dict[int, Commit], found: Findings) -> TreeRun | None:
    """The reference with each step's contributors; a failure where the nodes' words and their result don't fit."""
    commit = next(iter(commits.values()), None)
    made, reason = replay(subject, commit) if commit else (None, "nobody holds a result to be replayed")
    found.figures["replay_identical"] = made is not None
    if made is None:
        found.fail(reason)
        return None
    for node in sorted(made.missing | set(subject.outcome.absent)):
        found.miss(_without(subject, made, node))
    found.hold("a replay of the reference with each step's contributors gives the same bits")
    return made


def _without(subject: Subject, made: TreeRun, node: int) -> str:
    """`node 3: its readings are not in 13 of 17 steps, and it gave no result`."""
    steps = sum(node not in step.contributors for step in made.steps)
    words = [f"its readings are not in {steps} of {len(made.steps)} steps"] if steps else []
    if node in subject.outcome.absent:
        words.append("it gave no result")
    return f"node {node}: {', and '.join(words)}"


def _steps(reference: TreeRun, whose: str) -> str:
    count = len(reference.steps)
    if reference.converged:
        return f"they converged after {count} outer steps, as {whose} does"
    return f"they ended after {count} outer steps, the most allowed, as {whose} does; not converged"


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
    if ids_of(subject, commit.missing) != reference.missing:
        said, was = sorted(ids_of(subject, commit.missing)), sorted(reference.missing)
        return f"node {node}: it says that {_list(said)} missing in the run, and by the steps {_list(was)}"
    if bool(commit.flags & CONVERGED) != reference.converged:
        return f"node {node}: it says converged = {bool(commit.flags & CONVERGED)}, the reference does not"
    return ""


def _list(nodes: list[int]) -> str:
    return f"{named(nodes)} {'was' if len(nodes) == 1 else 'were'}" if nodes else "nobody was"


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
