"""What a monitor counts while it listens: messages, runs; and what the nodes have counted themselves.

Pure, as the state that it is a part of.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from dcka.monitor.progress import RunProgress
from dcka.mqtt import NodeStatus
from dcka.mqtt.statuses import PayloadError, wholes
from dcka.runs.ledgers import PLACES

IDLE = "idle"
FINISHED, PARTIAL, FAILED, UNKNOWN = "finished", "partial", "failed", "unknown"
OUTCOMES = (FINISHED, PARTIAL, FAILED, UNKNOWN)
"""How a run ends: with the results of all members; with those of some, the others being named as missing; without, for
another run or `idle` has taken its place; or nobody knows, as we were cut off and may have missed its results."""

OTHER = "other"
DROPPED = (
    "base", "conflict", "duplicate", "epoch", "hash", "json", "length", "oversize", "overlap", "parent", "points",
    "root", "run", "sender", "set", "stale", "stranger", "twin", "value", "version",
)  # fmt: skip
"""Why nodes drop messages (docs/protocol.md, section 7). What is none of these words counts as OTHER: whoever can write
a status could make up new ones for ever."""

KNOWN_NONCES = 8


@dataclass
class NodeCounters:
    """What a node has counted since its last boot. `ledger`: by PLACES, None where it has told of none.

    `dropped`: by DROPPED and OTHER. Within a boot nothing ever falls: an old status, which a broker that has restarted
    may bring, changes nothing. A boot that is over never comes back, so that two nodes of one id don't make the numbers
    jump to and fro.
    """

    ledger: tuple[int, ...] | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    _nonces: list[int] = field(default_factory=list)
    _counted: Mapping[str, int] | None = None

    def take(self, status: NodeStatus) -> None:
        """A status but a will, which has no numbers."""
        if not status.online or status.nonce in self._nonces[:-1]:
            return
        if self._nonces[-1:] != [status.nonce]:
            self._nonces = [*self._nonces[1 - KNOWN_NONCES :], status.nonce]
            self.ledger, self.dropped, self._counted = None, {}, None
        if status.dropped is not self._counted:  # the very same table where nothing was dropped since
            self._count(status.dropped)
            self._counted = status.dropped
        try:
            said = wholes(status.record, "ledger", ())
        except PayloadError:
            return
        if len(said) >= len(PLACES):
            before = self.ledger or (0,) * len(PLACES)
            self.ledger = tuple(map(max, said, before))

    def _count(self, dropped: Mapping[str, int]) -> None:
        sums: Counter[str] = Counter()
        for reason, count in dropped.items():
            sums[reason if reason in DROPPED else OTHER] += max(0, count)
        for reason, count in sums.items():
            self.dropped[reason] = max(count, self.dropped.get(reason, 0))


@dataclass
class Tally:
    """Since the monitor was started. `messages`, `rejected`: by the first part of the topic, those that were of use and
    those that were not. `begun`: runs by kind. `ended`: by (kind, one of OUTCOMES). `reconnects`: outages that are
    over.

    The run that was there before we looked is in neither: nobody knows how much of it we have missed.
    """

    messages: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    reconnects: int = 0
    _open: str = ""
    _cut_off: bool = False

    def run_began(self, run: RunProgress, first: bool, retained: bool) -> None:
        """A run record with a new number, the `first` one that we know of or not. `retained`: it was kept for us."""
        if self._open:
            self._end(UNKNOWN if self._cut_off else FAILED)
        self._cut_off = retained  # then it has begun while we did not hear
        if not (first and retained) and run.kind != IDLE:
            self.begun[run.kind] += 1
            self._open = run.kind

    def run_told(self, run: RunProgress) -> None:
        """A result has come."""
        if self._open and run.done and set(run.members) <= run.done | run.missing:
            self._end(PARTIAL if run.missing else FINISHED)

    def cut_off(self) -> None:
        """The connection is back after an outage, in which anything may have been said."""
        self.reconnects += 1
        self._cut_off = True

    def _end(self, outcome: str) -> None:
        self.ended[self._open, outcome] += 1
        self._open = ""
