"""What the nodes of a `gossip` run said of each step, read with care: it came over the network."""

from dataclasses import dataclass

from dcka.check.subject import Grid, Subject
from dcka.check.verdict import Findings


@dataclass(frozen=True, eq=False)
class Report:
    """`step/<i>`: the hash of what the node put in, the centres it came to (K, n), the SSD, the slots."""

    put: str
    centres: Grid
    ssd: int
    slots: int


Reports = dict[int, list[Report]]


def read_reports(subject: Subject, steps: int, found: Findings) -> Reports | None:
    """For each node its reports of steps 0 … `steps` − 1; None, and in `found` what is missing or broken."""
    reports: Reports = {}
    for node in subject.ids:
        by_step = _by_step(subject.outcome.steps.get(node, []))
        missing = [step for step in range(steps) if step not in by_step]
        if missing:
            found.fail(_missing(node, missing, steps))
            continue
        try:
            reports[node] = [_report(subject, by_step[step]) for step in range(steps)]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            found.fail(f"node {node}: a report of a step is broken: {error!r}")
    return None if found.failed else reports


def _by_step(told: object) -> dict[int, dict[str, object]]:
    entries = [entry for entry in told if isinstance(entry, dict)] if isinstance(told, list) else []
    return {entry["step"]: entry for entry in entries if type(entry.get("step")) is int}


def _missing(node: int, missing: list[int], steps: int) -> str:
    if len(missing) == steps:
        return f"node {node}: no report of any of the {steps} steps came, so nothing says what it put in"
    shown = ", ".join(map(str, missing[:8])) + (" …" if len(missing) > 8 else "")
    return f"node {node}: no report came of {'step' if len(missing) == 1 else 'steps'} {shown} (of {steps})"


def _report(subject: Subject, entry: dict[str, object]) -> Report:
    flat, put, ssd, slots = entry["centres"], entry["put"], entry["ssd"], entry["slots"]
    if not isinstance(flat, list) or any(type(value) is not int for value in flat):
        raise ValueError("centres are whole numbers")
    if type(put) is not str or type(ssd) is not int or type(slots) is not int:
        raise ValueError("put is a text, ssd and slots are whole numbers")
    centres = subject.table(flat)
    if centres.min() < 0 or centres.max() >> subject.run.bits:
        raise ValueError(f"a centre is not within the grid's {subject.run.bits} bits")
    return Report(put, centres, ssd, slots)
