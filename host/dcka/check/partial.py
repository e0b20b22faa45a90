"""A run of `tree` that went on without some nodes: compared with a replay of the reference by who was in each step."""

from collections.abc import Mapping

import numpy as np

from dcka.check.subject import Subject
from dcka.reference import TreeRun, tree_run
from dcka_core.messages import Commit

# Two roots may each tell of a step, one of them to nobody else. Each such step can cost a second replay; this many
# are no honest run's.
MOST_REPLAYS = 1000

_Step = tuple[frozenset[int], int]


def ids_of(subject: Subject, members: int) -> set[int]:
    """The ids of a set of nodes, as a commit has it."""
    return {node for index, node in enumerate(subject.run.members) if members >> index & 1}


def missing_of(subject: Subject, commits: Mapping[int, Commit]) -> list[int]:
    """The ids that were missing in a step of anybody's chain, and those that gave no result."""
    ever = 0
    for commit in commits.values():
        ever |= commit.missing
    return sorted(ids_of(subject, ever) | set(subject.outcome.absent))


def replay(subject: Subject, commit: Commit) -> tuple[TreeRun | None, str]:
    """(the reference's run with the contributors that the nodes told of, ""); or (None, why there is none).

    Each step has more than half of the members, and its SSD is what was told of it. The whole is final; it ends in the
    commit's centres, counts and SSD, bit for bit, and who was missing in it is who the commit says was.
    """
    told = _told(subject, commit.step)
    untold = [step for step, choices in enumerate(told) if not choices]
    if untold:
        steps = "step" if len(untold) == 1 else "steps"
        return None, (
            f"no report came of {steps} {', '.join(map(str, untold))}: without it nobody knows whose readings are in"
        )
    picked = [0] * len(told)
    for _ in range(MOST_REPLAYS):
        chain = [choices[pick] for choices, pick in zip(told, picked, strict=True)]
        made = tree_run(**subject.start, contributors=[present for present, _ in chain])
        agreed = _agreed(made, chain)
        if agreed == len(chain) and _is_end(subject, made, commit):
            return made, ""
        if not _pick_next(picked, told, min(agreed, len(made.steps) - 1)):
            break
    return None, (
        "no replay of the reference, with the contributors that the roots told of, has their SSDs and ends in this "
        "result"
    )


def _pick_next(picked: list[int], told: list[list[_Step]], place: int) -> bool:
    """The next choice at `place`, where a replay went wrong, or before it; False where there is no other."""
    while place >= 0 and picked[place] + 1 == len(told[place]):
        place -= 1
    if place < 0:
        return False
    picked[place] += 1
    picked[place + 1 :] = [0] * (len(picked) - place - 1)
    return True


def _agreed(made: TreeRun, chain: list[_Step]) -> int:
    """In how many steps from the first on the SSD is what was told."""
    for number, (step, (_, ssd)) in enumerate(zip(made.steps, chain, strict=False)):
        if step.ssd != ssd:
            return number
    return len(made.steps)


def _told(subject: Subject, steps: int) -> list[list[_Step]]:
    """By step, what was told of it: (who was in, the SSD); what cannot be is passed over."""
    everyone = frozenset(subject.ids)
    found: list[set[_Step]] = [set() for _ in range(steps)]
    for reports in subject.outcome.steps.values():
        for report in reports:
            number, ssd, absent = report.get("step"), report.get("ssd"), report.get("missing", [])
            if type(number) is not int or type(ssd) is not int or not isinstance(absent, list):
                continue
            present = everyone - {one for one in absent if type(one) is int}
            if 0 <= number < steps and 2 * len(present) > len(everyone):
                found[number].add((present, ssd))
    return [sorted(choices, key=lambda one: (-len(one[0]), sorted(one[0]), one[1])) for choices in found]


def _is_end(subject: Subject, made: TreeRun, commit: Commit) -> bool:
    return bool(
        made.final
        and len(made.steps) == commit.step
        and made.missing == ids_of(subject, commit.missing)
        and made.steps[-1].contributors == ids_of(subject, commit.contributors)
        and np.array_equal(subject.table(commit.centres), made.centres)
        and list(commit.counts) == [int(count) for count in made.counts]
        and commit.ssd == made.ssd
    )
