"""A run of `tree` that went on without some nodes: compared with a replay of the reference by who was in each step."""

from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

import numpy as np

from dcka.check.subject import Subject
from dcka.reference import TreeRun, tree_run
from dcka_core.messages import Commit

# Two roots may each tell of a step, one of them to nobody else; more than a few of such steps are no honest run.
MOST_CHAINS = 64

_Step = tuple[frozenset[int], int]


def missing_of(subject: Subject, commits: Mapping[int, Commit]) -> list[int]:
    """The ids that were missing in a step of anybody's chain, and those that gave no result."""
    members = subject.run.members
    ever = 0
    for commit in commits.values():
        ever |= commit.missing
    lacking = {node for index, node in enumerate(members) if ever >> index & 1}
    return sorted(lacking | set(subject.outcome.absent))


def replay(subject: Subject, commit: Commit) -> TreeRun | None:
    """The reference's run with the contributors that the nodes told of; None where no such chain ends in `commit`.

    Each step's SSD must be what was told of it, and the last step's centres, counts and SSD the commit's, bit for bit.
    """
    for chain in islice(_chains(subject, commit.step), MOST_CHAINS):
        made = tree_run(**subject.start, contributors=[present for present, _ in chain])
        told = [ssd for _, ssd in chain]
        if [step.ssd for step in made.steps] == told and _is_end(subject, made, commit):
            return made
    return None


def _chains(subject: Subject, steps: int) -> Iterator[tuple[_Step, ...]]:
    """Every way to choose one report a step."""
    everyone = frozenset(subject.ids)
    found: list[set[_Step]] = [set() for _ in range(steps)]
    for reports in subject.outcome.steps.values():
        for report in reports:
            if report["step"] < steps:
                found[report["step"]].add(_read(report, everyone))
    return product(*(sorted(choices, key=lambda one: (len(one[0]), one[1])) for choices in found))


def _read(report: Mapping[str, Any], everyone: frozenset[int]) -> _Step:
    return everyone - frozenset(report.get("missing", ())), int(report["ssd"])


def _is_end(subject: Subject, made: TreeRun, commit: Commit) -> bool:
    return bool(
        len(made.steps) == commit.step
        and np.array_equal(subject.table(commit.centres), made.centres)
        and list(commit.counts) == [int(count) for count in made.counts]
        and commit.ssd == made.ssd
    )
