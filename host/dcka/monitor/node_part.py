"""One node as the page shows it. All that came over the network is made harmless text, or a number."""

from typing import Any

from dcka.monitor.events import clean
from dcka.monitor.state import NodeView
from dcka.mqtt.statuses import ASLEEP, OFFLINE
from dcka.runs.ledgers import PLACES

Json = dict[str, Any]

SILENT = "silent"
LONGEST = 200
MOST_REASONS = 24
MOST_WAITING = 32


def node_part(view: NodeView, now: float, member: bool) -> Json:
    """A record that JSON can hold. Times are monotonic ms of the one clock that `now` (seconds) is of.

    `there`: whether it is online or asleep. `since`: where it is not, when it went, or was last heard of.
    `heard`: when it last spoke; None where all that is known of it was retained, which may be of any age.
    """
    status, figures = view.status, view.figures
    state = view.state(now)
    gone_at = view.live_at if state == SILENT else view.offline_at
    signal = status.record.get("rssi")
    return {
        "member": member,
        "state": state,
        "there": state not in (SILENT, OFFLINE),
        "asleep": state == ASLEEP,
        "since": None if state not in (SILENT, OFFLINE) or gone_at is None else _ms(gone_at),
        "heard": None if view.live_at is None else _ms(view.live_at),
        "known": _ms(view.known_at),
        "boot": figures.boot,
        "run": figures.run,
        "step": figures.step,
        "rows": figures.rows,
        "heap": figures.heap,
        "free": figures.free,
        "rssi": signal if type(signal) is int and -200 < signal < 0 else None,
        "firmware": clean(figures.firmware, LONGEST),
        "runtime": clean(figures.runtime, LONGEST),
        "problem": clean(status.problem, LONGEST),
        "twin": status.twin,
        "stalled": status.stalled,
        "waiting": list(status.waiting[:MOST_WAITING]),
        "quarantined": {str(node): clean(why, 20) for node, why in status.quarantined.items()},
        "dropped": _most(view.counters.dropped),
        "ledger": None
        if view.counters.ledger is None
        else dict(zip(PLACES, view.counters.ledger, strict=False)),
    }


def _most(dropped: dict[str, int]) -> dict[str, int]:
    ranked = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:MOST_REASONS])


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
