"""Whom a run waits for, and why: one sentence from what the nodes' statuses say."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from dcka.mqtt.readiness import TWINS, named
from dcka.mqtt.statuses import NodeStatus, Statuses
from dcka.runs.plan import RunPlan
from dcka.runs.summary import struck_words

STALLED = "stalled"
"""The first word of the sentence for a run of `tree` with too few members to go on."""


def missed(
    plan: RunPlan,
    statuses: Statuses,
    have_result: Mapping[int, object],
    steps: Mapping[int, int],
) -> tuple[list[int], str]:
    """(ids that are missed, the sentence); ([], "") where every member has given its result.

    `steps`: the step that each node is in, as far as its commits and reports say. The nearest cause comes first: two
    with one id, a root without most of the others, who is gone, who will not take part, who has not begun, whom the
    others wait for.
    """
    without = [node for node in plan.members if node not in have_result]
    if not without:
        return [], ""
    twins = sorted(statuses.twins & set(plan.members))
    if twins:
        return twins, f"{named(twins)}: {TWINS}"
    nodes, reason = _cause(plan, statuses, without, steps)
    return nodes, "; ".join([reason, *_quarantined(plan, statuses)])


def _cause(
    plan: RunPlan, statuses: Statuses, without: list[int], steps: Mapping[int, int]
) -> tuple[list[int], str]:
    causes = (
        _stalled(plan, statuses) or _gone(plan, without, statuses, steps),
        _unwilling(plan, without, statuses),
        _not_begun(plan, without, statuses),
        _waited_for(plan, without, statuses, steps),
    )
    return next((cause for cause in causes if cause), (sorted(without), f"no result from {named(without)}"))


def _quarantined(plan: RunPlan, statuses: Statuses) -> list[str]:
    """For each node that its neighbours take nothing from any more: at whom, and why."""
    found: dict[int, dict[int, str]] = {}
    for by in plan.members:
        status = statuses.get(by)
        if status is not None and status.run == plan.number:
            for node, why in status.quarantined.items():
                found.setdefault(node, {})[by] = why
    return [struck_words(node, found[node]) for node in sorted(found)]


def stubborn(plan: RunPlan, statuses: Statuses) -> bool:
    """Whether a member has the rows of this run and says that it cannot take part: waiting does not help."""
    return any(
        status.prepared == plan.number and status.run != plan.number and status.problem
        for node in plan.members
        if (status := statuses.get(node)) is not None and status.online
    )


def has_left(plan: RunPlan, status: NodeStatus) -> bool:
    """Whether a node has begun the run and is no longer in it: it found a block of its data damaged."""
    return status.run == plan.number and status.state == "ready" and bool(status.problem)


_Cause = tuple[list[int], str] | None


def _stalled(plan: RunPlan, statuses: Statuses) -> _Cause:
    """Roots that have too few of the members say whom they miss; where the network has come apart, there are several.

    Who is missed by all of them is gone; where that is nobody, they are all there, and cannot hear each other.
    """
    missed_by = {
        node: set(status.waiting) & set(plan.members)
        for node in plan.members
        if (status := statuses.get(node)) is not None
        and status.online
        and status.stalled
        and status.run == plan.number
    }
    missed_by = {node: missed for node, missed in missed_by.items() if missed}
    if not missed_by:
        return None
    found = sorted(set.intersection(*missed_by.values()) or set.union(*missed_by.values()))
    roots = sorted(missed_by)
    told = "the root, misses" if len(roots) == 1 else "roots of parts of the network, miss"
    return found, (
        f"{STALLED}: more than half of the {len(plan.members)} nodes must be there, and {named(roots)},"
        f" {told} {named(found)}"
    )


def _gone(plan: RunPlan, without: list[int], statuses: Statuses, steps: Mapping[int, int]) -> _Cause:
    gone = sorted(node for node in without if not statuses.online(node))
    if not gone:
        return None
    is_are = "it is" if len(gone) == 1 else "they are"
    return gone, f"no contribution from {named(gone)} {_when(plan, gone, steps)}: {is_are} offline"


def _unwilling(plan: RunPlan, without: list[int], statuses: Statuses) -> _Cause:
    problems = {
        node: status.problem
        for node in sorted(without)
        if (status := statuses.get(node)) is not None
        and status.problem
        and (status.run != plan.number or has_left(plan, status))
    }
    if not problems:
        return None
    node, problem = next(iter(problems.items()))
    return list(problems), f"{named(problems)} cannot take part; node {node} says: {problem}"


def _not_begun(plan: RunPlan, without: list[int], statuses: Statuses) -> _Cause:
    outside = sorted(
        node for node in without if (status := statuses.get(node)) is None or status.run != plan.number
    )
    if not outside:
        return None
    return (
        outside,
        f"{named(outside)} did not begin run {plan.number}; does the broker let them read its topics?",
    )


def _waited_for(plan: RunPlan, without: list[int], statuses: Statuses, steps: Mapping[int, int]) -> _Cause:
    """In `tree` the root knows best who is not in; in `gossip` everyone knows its neighbours, and who is kept waiting
    keeps others waiting in turn: it is those for whom the greatest share of their neighbours waits."""
    asked = [plan.root] if plan.root else without
    named_by = Counter(
        waited
        for node in asked
        if (status := statuses.get(node)) is not None
        for waited in set(status.waiting) & set(plan.members)
    )
    near = Counter(other for row in plan.rows.values() for other in row["near"])
    shares = {node: Fraction(count, max(count, near[node])) for node, count in named_by.items()}
    found = sorted(node for node, share in shares.items() if plan.root or share == max(shares.values()))
    if not found:
        return None
    return found, (
        f"no contribution from {named(found)} {_when(plan, found, steps)}, though online: "
        f"does the broker take what they publish?"
    )


def _when(plan: RunPlan, nodes: list[int], steps: Mapping[int, int]) -> str:
    if plan.root:
        return f"in step {max(steps.values(), default=0)}"
    return f"from step {min(steps.get(node, 0) for node in nodes)} on"
