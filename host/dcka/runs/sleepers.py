"""Members that sleep deeply while a run waits to begin: for how long, and that people are told so."""

from collections.abc import Callable, Collection
from typing import Any

from dcka.mqtt.readiness import named
from dcka.mqtt.statuses import Statuses

# A nap between the slots of an older run is shorter, or ends with that.
_WORTH_TELLING_S = 5.0
# A sleep may be longer by this part of it: the clock of a node that sleeps is off by percents.
_LATE = 1.1


class Sleepers:
    """Those of the nodes in `statuses` that sleep. `tell`: takes the event "waiting" (`nodes`, `reason`)."""

    def __init__(self, statuses: Statuses, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self._statuses = statuses
        self._tell = tell
        self._told: list[int] = []

    def among(self, nodes: Collection[int]) -> list[int]:
        """Who of `nodes` sleeps, in order."""
        return sorted(node for node in nodes if self._statuses.sleeps_s(node) > 0)

    def longest_s(self, nodes: Collection[int]) -> float:
        """Until the last of `nodes` has woken, its clock being as wrong as it may be; 0 where nobody sleeps."""
        return _LATE * max((self._statuses.sleeps_s(node) for node in nodes), default=0.0)

    def words(self, nodes: Collection[int]) -> str:
        """ "node 3 sleeps for another 40 min"; of several, until the last has woken."""
        left_s = max(self._statuses.sleeps_s(node) for node in nodes)
        for_long = f"{left_s / 60:.0f} min" if left_s >= 90 else f"{left_s:.0f} s"
        return f"{named(nodes)} {'sleeps' if len(nodes) == 1 else 'sleep'} for another {for_long}"

    def tell(self, nodes: Collection[int]) -> None:
        """Say who of `nodes` is waited for because it sleeps, where that has changed."""
        asleep = [node for node in self.among(nodes) if self._statuses.sleeps_s(node) > _WORTH_TELLING_S]
        # Who is about to wake was told of before; with others it is not begun anew.
        if not asleep and self._told and self.among(nodes):
            return
        if asleep != self._told:
            self._told = asleep
            self._tell("waiting", {"nodes": asleep, "reason": self.words(asleep) if asleep else ""})
