"""Neighbours that do not keep to the rules (protocol, section 5, "Quarantine"): whose fault it is, what comes of it.

A node loads this file when something comes that nobody sends who keeps to the rules, or more than anybody can send.
Most runs do without.
"""

from dcka_core import ticks
from dcka_core.actions import UNSUBSCRIBE
from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.messages import CHANGE, DELTA, FIRST, MAX_ID, UP, read_epoch, read_head
from dcka_core.session import MANY, topics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A neighbour may be wrong so often in a run, less one: what was damaged on its way is not its fault.
_FAULTS = 4
# What a neighbour says in a patience: some by itself, some to each other node that asks or mints; as much again, and
# what may have piled up while a broker did not answer. With each step or slot, as much as it can take to say that.
_OFTEN, _OFTEN_EACH, _OFTEN_STEP, _PILED_UP = 32, 8, 8, 512
# It is watched for so many patiences who sends so much.
_WATCHED = 16
_MALFORMED = ("length", "value", "version")


class Session:
    """What a node's session holds against its neighbours; who is in quarantine is said there: `struck`.

    Of all that a part is asked for by name the name stays in the build: it is one that others have, too.
    """

    def __init__(self, session: "Any") -> None:
        self._node = session
        self._faults: dict[int, int] = {}
        # What has come since this file was loaded, and patiences since.
        self._heard: dict[int, int] = {}
        self._began = session.ledger[0]
        self._patiences = 0
        self._counted_at: int | None = None

    def suspect(self, topic: str, payload: "bytes | memoryview", reason: str, now: int) -> bool:
        """A message came on `topic`, and was dropped for `reason`, if any. Whether somebody is in quarantine for it."""
        node = self._node
        sender = int(topic[topic.rfind("/") + 1 :])
        if sender not in node.rows.near:
            return False
        if not reason:
            self._heard[sender] = self._heard.get(sender, 0) + 1
            if self._heard[sender] > self._often(now):
                self._strike(sender, "flood", now)
                return True
            if self._patiences >= _WATCHED and not self._faults and not node.struck:
                # Nobody: the room is needed.
                node.most = node.ledger[4] + MANY
                node.quarantine = None
        elif self._is_fault(sender, payload, reason):
            self._faults[sender] = self._faults.get(sender, 0) + 1
            if self._faults[sender] >= _FAULTS:
                self._strike(sender, "malformed" if reason in _MALFORMED else reason, now)
                return True
        return False

    def _often(self, now: int) -> int:
        """How many messages a neighbour can have sent since."""
        node = self._node
        patience_ms: int = node.run.patience_ms
        if self._counted_at is None:
            self._counted_at = now
        passed = max(0, ticks.diff(now, self._counted_at) // patience_ms)
        self._patiences += passed
        self._counted_at = ticks.add(self._counted_at, passed * patience_ms)
        steps: int = node.ledger[0] - self._began + (node.held.step if node.held else 0)
        each: int = _OFTEN + _OFTEN_EACH * len(node.run.members)
        return _PILED_UP + each * (1 + self._patiences) + _OFTEN_STEP * steps

    # ---- whose fault ----

    def _is_fault(self, sender: int, payload: "bytes | memoryview", reason: str) -> bool:
        """Whether the neighbour itself must have said it: of this run, under its name, and no other can be behind it.

        Noise names nobody. Differences may be right, and what this node adds them to forged by somebody else. Sums of
        several nodes that contradict earlier ones may come from any of these.
        """
        run = self._node.run
        try:
            reader = Reader(payload)
            kind = payload[0] & 15 if len(payload) else 0
            if read_head(reader, kind)[:2] != (run.number, sender):
                return False
            form = reader.byte() if kind == UP else 0
            if kind == CHANGE or form & DELTA:
                return reason == "length"
            if reason != "conflict":
                return True
            if not form & FIRST:
                read_epoch(reader)
            # The parent; then whose sums they are.
            reader.varint(MAX_ID)
            alone: bool = reader.set(len(run.members)) == 1 << run.members.index(sender)
            return alone
        except MessageError:
            # Too short even to say whose it is; or to be of one of several forms.
            return False

    # ---- what comes of it ----

    def _strike(self, who: int, reason: str, now: int) -> None:
        """Until the run ends nothing is heard of this neighbour: to this node it is as one that has died."""
        node = self._node
        rows = node.rows
        node.struck[str(who)] = reason
        before = topics(rows) + node.asked
        rows.near.remove(who)
        if rows.phases:
            for phase in rows.phases:
                phase[1].pop(who, None)
        else:
            for group in (rows.children, node.children, node.unheard):
                if who in group:
                    group.remove(who)
            if rows.parent == who:
                rows.parent = 0
        end = "/%d" % who
        node.asked[:] = [topic for topic in node.asked if not topic.endswith(end)]
        after = topics(rows) + node.asked
        node.out.extend([(UNSUBSCRIBE, node.prefix + topic) for topic in before if topic not in after])
        node.forget(who, now)
