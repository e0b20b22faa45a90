"""What a node says of itself, in words: when it is news, and how it is told."""

from typing import Any

from dcka.monitor.events import clean, counts
from dcka.mqtt import NodeStatus
from dcka.mqtt.statuses import ASLEEP

Found = tuple[str, str, dict[str, Any], bool]
"""Of an event: kind, text, data, and whether it is bad."""


LONG_MS = 60_000
"""A sleep from here on is told with its length: it is no nap between two slots."""


def seen(status: NodeStatus) -> tuple[object, ...]:
    """What makes a status news: a heartbeat and a nap between two slots are none, and of steps others tell."""
    state = "running" if status.state == ASLEEP else status.state
    told = (state, status.run, status.prepared, status.dataset, status.readings)
    return (
        status.boot,
        status.nonce,
        *told,
        status.problem,
        status.waiting,
        status.twin,
        status.stalled,
        tuple(status.quarantined.items()),
        tuple(sorted(status.dropped.items())),
    )


def held_words(status: NodeStatus) -> str:
    """`node 3 (sums)`: whom a node holds in quarantine, and why."""
    return clean(", ".join(f"node {node} ({why})" for node, why in status.quarantined.items()))


def _holds(status: NodeStatus) -> str:
    """What data it has."""
    if status.dataset:
        return f"{status.rows:,} readings"
    return "readings, on no grid yet" if status.readings else "no data"


def status_event(status: NodeStatus, before: NodeStatus | None, retained: bool) -> Found:
    """What a status says that differs from the one `before`."""
    names = ("node", "state", "boot", "run", "step", "rows", "dataset", "heap", "problem")
    data = {name: getattr(status, name) for name in names}
    data |= {"dropped": dict(status.dropped), "waiting": list(status.waiting), "stalled": status.stalled}
    data |= {
        "quarantined": {str(node): why for node, why in status.quarantined.items()},
        "retained": retained,
    }
    words = [f"node {status.node} {status.state}"]
    if status.state == ASLEEP and status.until_ms >= LONG_MS:
        data["until_ms"] = status.until_ms
        words[0] += f" for {status.until_ms / 60_000:.0f} min"
    if retained:
        words.append("(retained)")
    if status.run and status.state in ("running", "asleep", "done"):
        words.append(f"run {status.run}")
    # Who has slept deeply begins anew, as it said it would.
    woken = before is not None and before.state == ASLEEP
    if before is not None and before.boot != status.boot and status.online and not woken:
        words.append(f"rebooted (boot {status.boot})")
    if status.online and (before is None or before.dataset != status.dataset):
        words.append(_holds(status))
    if status.prepared > status.run:
        words.append(f"prepared for run {status.prepared}")
    if status.stalled:
        words.append("stalled: half of the nodes or more are missing")
    if status.waiting:
        words.append(f"waits for {clean(', '.join(map(str, status.waiting[:12])))}")
    if status.quarantined:
        words.append(f"holds {held_words(status)} in quarantine")
    if status.twin:
        words.append("is there twice")
    if status.problem:
        words.append(f"says: {clean(status.problem)}")
    if status.dropped and (before is None or status.dropped != before.dropped):
        words.append(f"dropped {counts(status.dropped)}")
    return (
        "status",
        ", ".join([" ".join(words[: 1 + retained]), *words[1 + retained :]]),
        data,
        not status.online or bool(status.quarantined),
    )
