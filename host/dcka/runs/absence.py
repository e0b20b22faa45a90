"""Who takes no part in a run any more: gone while the others have ended, or unwilling for good.

A node that dies while the broker is away leaves no will, and one that says it cannot take part may say so on the way to
taking part: so both are looked at for a while before they are believed.
"""

from collections.abc import Collection

from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import SILENT_S
from dcka.runs.blame import has_left, stubborn
from dcka.runs.plan import RunPlan

STUBBORN_S = 2.0
# A node that has gone while all the others have ended: so long it may come back and end too.
GONE_S = 2.0


class Absence:
    """`nodes`: in `tree`, the members without whom the run has ended."""

    def __init__(self, plan: RunPlan, inbox: Inbox) -> None:
        self.nodes: frozenset[int] = frozenset()
        self._plan = plan
        self._members = frozenset(plan.members)
        self._inbox = inbox
        self._stubborn_since: float | None = None
        self._gone_since: float | None = None

    def look(self, ended: Collection[int], begun_at: float, now: float) -> None:
        """To be called every half a second of a run. ended: who has a result."""
        without = self._members.difference(ended)
        over = self._plan.root and ended and without
        if not over or any(self._is_there(node, begun_at, now) for node in without):
            self._gone_since = None
        elif self._gone_since is None:
            self._gone_since = now
        elif now - self._gone_since > GONE_S:
            self.nodes = without

    def is_stubborn(self, now: float) -> bool:
        """Whether somebody has said for long that it cannot take part."""
        if not stubborn(self._plan, self._inbox.statuses):
            self._stubborn_since = None
        elif self._stubborn_since is None:
            self._stubborn_since = now
        return self._stubborn_since is not None and now - self._stubborn_since > STUBBORN_S

    def _is_there(self, node: int, begun_at: float, now: float) -> bool:
        heard_at = max(self._inbox.heard_at.get(node, 0.0), begun_at)
        status = self._inbox.statuses.get(node)
        if status is not None and has_left(self._plan, status):
            return False
        return self._inbox.statuses.online(node) and now - heard_at < SILENT_S
