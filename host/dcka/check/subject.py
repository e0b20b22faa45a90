"""What is checked: a run and its data, brought together; refused where they do not belong together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcka.check.verdict import Findings, named
from dcka.inject.dataset import Dataset
from dcka.reference.members import Members, prepare
from dcka.runs.outcome import Outcome, OutcomeError, decode_commit
from dcka_core.errors import CoreError
from dcka_core.messages import FINAL, Commit
from dcka_core.record import Run, read_run

Grid = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subject:
    """A finished run with its data. `run`: the record as it was published; `members`: by the reference."""

    outcome: Outcome
    dataset: Dataset
    run: Run
    members: Members

    @property
    def ids(self) -> tuple[int, ...]:
        """The members' ids, in index order."""
        return self.members.ids

    @property
    def given(self) -> Grid | None:
        """The centres that the record carries, (K, n); None where it has none."""
        return None if self.run.centres is None else self.table(self.run.centres)

    @property
    def start(self) -> dict[str, Any]:
        """The arguments that `tree_run` and `gossip_run` have in common."""
        return {
            "node_points": self.members.points,
            "node_ids": self.ids,
            "k": self.run.k,
            "init": start_of(self.run),
            "seed": self.run.seed,
            "extents": self.dataset.grid.extents,
            "max_steps": self.run.max_steps,
            "given": self.given,
            **({"prior": prior} if (prior := self.outcome.record.get("prior")) is not None else {}),
        }

    def table(self, flat: Any) -> Grid:
        """K·n integers as (K, n)."""
        return np.array(flat, dtype=np.int64).reshape(self.run.k, self.run.n)

    def coordinate(self, cluster: int, dimension: int) -> str:
        """`cluster 4, humidity`, for a sentence."""
        return f"cluster {cluster}, {self.dataset.columns[dimension]}"


def start_of(run: Run) -> str:
    """The start by the reference's name: centres that were drawn before a run are given to it."""
    return run.init if run.centres is None else "given"


def bring_together(outcome: Outcome, dataset: Dataset, found: Findings) -> Subject | None:
    """The run with its data; None, and the reason in `found`, where it is not finished or not of this data."""
    found.figures.update(run=outcome.run, nodes=len(outcome.members), rejected=outcome.rejected)
    holds = dataset.id.hex()
    if outcome.dataset != holds or outcome.record.get("dataset") != holds:
        found.fail(
            f"run {outcome.run} clustered the data set {outcome.dataset}, and what is kept here is "
            f"{dataset.name}, {holds}: inject the one of the run again, or run again"
        )
    if not outcome.finished:
        missing = f" (waiting for {named(outcome.waiting)})" if outcome.waiting else ""
        found.fail(f"run {outcome.run} did not finish: {outcome.reason or 'no reason is known'}{missing}")
    if found.failed:
        return None
    try:
        run = read_run(outcome.record)
        if not _fits(run, outcome, dataset, found):
            return None
        points = [dataset.points[node] for node in run.members]
        given = None if run.centres is None else np.array(run.centres).reshape(run.k, run.n)
        members = prepare(points, run.members, run.k, start_of(run), run.seed, dataset.grid.extents, given)
    except (CoreError, ValueError) as error:
        found.fail(f"the record of run {outcome.run} is not one that can be checked: {error}")
        return None
    return Subject(outcome, dataset, run, members)


def _fits(run: Run, outcome: Outcome, dataset: Dataset, found: Findings) -> bool:
    if run.kind == "idle" or run.kind != outcome.kind or run.members != outcome.members:
        found.fail(f"the outcome of run {outcome.run} and its record speak of different runs")
        return False
    if set(run.members) != set(dataset.node_ids):
        found.fail(
            f"run {outcome.run} had the {named(sorted(run.members))}, and {dataset.name} is the data of "
            f"the {named(sorted(dataset.node_ids))}"
        )
    said = (run.n, run.bits, run.points)
    has = (len(dataset.columns), dataset.grid.bits, dataset.size)
    if said != has:
        found.fail(
            f"the record of run {outcome.run} has (dimensions, bits, points) = {said}, the data set {has}"
        )
    return not found.failed


def final_commits(subject: Subject, found: Findings) -> dict[int, Commit]:
    """Each node's final commit; what is missing, broken or not final is a failure."""
    commits: dict[int, Commit] = {}
    units: dict[bytes, NDArray[np.float64]] = {}
    there = [node for node in subject.ids if node not in subject.outcome.absent]
    for node in there:
        try:
            commit = decode_commit(subject.outcome, node)
        except OutcomeError as error:
            found.fail(str(error))
            continue
        if not commit.flags & FINAL:
            found.fail(f"node {node}: its last commit, of step {commit.step}, is not final")
        if not 1 <= commit.step <= subject.run.max_steps:
            found.fail(
                f"node {node}: a commit of step {commit.step}, and the run has {subject.run.max_steps}"
            )
        if commit.sender != node:
            found.fail(f"node {node}: its commit was made by node {commit.sender}")
        commits[node] = commit
        table = subject.table(commit.centres)
        # Exact fractions, and the same ones at all nodes of a tree: reckoned once.
        key = table.tobytes()
        if key not in units:
            units[key] = subject.dataset.grid.to_units(table)
        found.centres[node] = units[key]
    silent = [node for node in there if node not in subject.outcome.results]
    if silent:
        found.fail(f"no result came from {named(silent)}")
    return commits
