"""Whether a `gossip` run is, bit for bit, the one in which nothing is lost or late."""

import numpy as np

from dcka.check.subject import Subject
from dcka.check.telemetry import Reports
from dcka.check.verdict import Findings
from dcka.reference import GossipRules, Link, gossip_run


def matches_reference(subject: Subject, reports: Reports, found: Findings) -> bool:
    """True where every step of every node is the reference's. It need not be: what is late or lost is made up
    for, within the tolerance, and leaves other bits."""
    run = subject.run
    try:
        rules = GossipRules(_links(subject), run.window, run.tolerance, run.max_slots, run.slots)
        reference = gossip_run(**subject.start, rules=rules)
    except (ValueError, KeyError, TypeError) as error:
        found.hold(f"not compared with the reference that loses nothing, which refuses the schedule: {error}")
        return False
    same = all(len(own) == len(reference.steps) for own in reports.values()) and all(
        np.array_equal(reports[node][number].centres, step.centres[place])
        for place, node in enumerate(subject.ids)
        for number, step in enumerate(reference.steps)
    )
    if same:
        found.hold("the same bits in every step as the reference, which loses nothing")
    else:
        found.hold("not the bits of the reference, which loses nothing: some messages were late or lost")
    return same


def _links(subject: Subject) -> list[list[Link]]:
    """The links of each phase, out of the rows that the nodes were given."""
    phases: list[set[Link]] = []
    for node in subject.ids:
        for number, phase in enumerate(subject.outcome.rows[node]["phases"]):
            while len(phases) <= number:
                phases.append(set())
            phases[number].update((min(node, other), max(node, other)) for other, _ in phase["hear"])
    return [sorted(links) for links in phases]
