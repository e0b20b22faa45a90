"""`tree` in slots: what is said waits for its slot, and between its slots a node sleeps (protocol, section 5, "Slots").

Whatever the slots do, the rules are those of `tree`: a message that nobody was awake for is one that was lost. A later
epoch than the run's first has other children than the slots are for: whoever is in one stays awake.
"""

from dcka_core import ticks, tree
from dcka_core.actions import SLEEP
from dcka_core.errors import MessageError
from dcka_core.session import EPOCH_PHASE
from dcka_core.slots import Turns, is_beacon, read_beacon, write_beacon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.messages import Commit


class Session(tree.Session):
    """A node in a run of `tree` with slots."""

    turns: Turns

    def start(self, held: "Commit | None", now: int) -> None:
        run = self.run
        self._now = now
        self._said_at = -1
        self._before: Commit | None = None
        self._count_from = self.ledger[0]
        self.turns = Turns(run.slot_ms, run.period, self.rows.slots or (0, 0, 0, []), now)
        if self.node != run.root:
            self.ask("epoch/%d" % run.root)
        super().start(held, now)
        if self.root:
            # A slot later: by then the others have the record too, and listen.
            self.turns.begin(ticks.add(now, run.slot_ms))
        self._settle(now)

    def _slotted(self) -> bool:
        """Whether slots hold: in the scheduled tree, where this node has any."""
        return self.rows.slots is not None and not self.epoch[0]

    # ---- events ----

    def receive(self, phase: int, sender: int, payload: "bytes | memoryview", now: int) -> None:
        self._now = now
        if phase == EPOCH_PHASE and is_beacon(payload):
            self._take_beacon(sender, payload, now)
            self._settle(now)
            return
        if self.root:
            self.turns.heard()
        try:
            super().receive(phase, sender, payload, now)
        except MessageError as error:
            if error.reason != "duplicate":
                raise
            self.turns.came.append(sender)
            self._settle(now)
            raise
        if phase != EPOCH_PHASE:
            self.turns.came.append(sender)
            self._settle(now)

    def receive_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        self._now = now
        super().receive_commit(sender, payload, now)

    def tick(self, now: int) -> "list[int]":
        self._now = now
        self.asleep = None
        if not self._slotted():
            return super().tick(now)
        if self.done:
            return self._tick_done(now)
        turns = self.turns
        if turns.away:
            # What is overdue waits too, until somebody can hear it.
            rest_ms = turns.given_up(now)
            news: list[int] = []
        else:
            self._act(now)
            before = self._repeat_at
            waiting = super().tick(now)
            news = waiting if self._repeat_at != before else []
            rest_ms = turns.rest(now, *self._progress()) if self._may_sleep() else 0
        if rest_ms:
            self.asleep = (SLEEP, rest_ms)
            turns.leave(now, rest_ms)
            self.ledger[0] = self._count_from + turns.slots(now)
        self._look(now)
        return news or ([self.node] if rest_ms else [])

    def _tick_done(self, now: int) -> "list[int]":
        """After the end: the last commit may wait for its slot, and farewells for their time."""
        if not self.turns.unsaid:
            return super().tick(now)
        self._act(now)
        self._wait_for_others(now)
        self._look(now)
        return []

    def reconnected(self, now: int) -> None:
        self._now = now
        self.asleep = None
        turns = self.turns
        slept = turns.away
        outage = slept and turns.back(now)
        if self._slotted():
            self._act(now)
        if slept and not outage:
            self._settle(now)
            return
        if outage:
            # Nobody could be heard: that says nothing of the others.
            self.stall_at = ticks.add(now, self.stall_ms(0))
        super().reconnected(now)

    def describe(self, status: "dict[str, Any]") -> None:
        super().describe(status)
        if self.asleep:
            status["state"] = "asleep"
            status["until_ms"] = self.asleep[1]

    def result(self) -> "dict[str, Any]":
        report = super().result()
        self.ledger[0] = self._count_from + self.turns.slots(self._now)
        report["asleep_ms"] = self.turns.slept_ms
        return report

    # ---- slots ----

    def _take_beacon(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """The root says what time it is, and which step it has."""
        named, step, number, late = read_beacon(payload, self.run)
        if named != sender:
            raise MessageError("sender")
        if sender != self.run.root or self.root:
            raise MessageError("stranger")
        if self.epoch[0]:
            if not self.done:
                self._trouble().correct(now)
            raise MessageError("epoch")
        turns = self.turns
        turns.take(number, late, now)
        turns.step = step
        if not self.done and self.parent and step > self._step_held():
            # Everybody is awake now: who sends for an older step is answered with the commit that it lacks.
            super()._send_up(True)
        self._act(now)

    def _step_held(self) -> int:
        return self.held.step if self.held else 0

    def _progress(self) -> "tuple[bool, bool]":
        """(all children have been heard in this period, and so has its commit).

        Heard in this period: what one has said before may have been without those below it.
        """
        complete = not [child for child in self.children if child not in self.turns.came]
        return complete, self._step_held() > self.turns.step

    def _may_sleep(self) -> bool:
        """Not after the end, and not while it listens to everybody before it mints (rule 14)."""
        looking = self._epochs is not None and self._epochs.looks_at(self.node)
        return self._slotted() and not self.done and not looking

    def _act(self, now: int) -> None:
        """Do what the slot is for."""
        turns = self.turns
        if turns.tick(now):
            # Until a beacon says otherwise, the root has what this node has.
            turns.step = self._step_held()
        late = turns.where(now)
        if self.root and not self.done and late >= 0 and self._said_at != turns.number:
            self._said_at = turns.number
            beacon = write_beacon(self.run, self.node, self.boot, self._step_held(), turns.number, late)
            self.send("epoch/%d" % self.node, beacon)
        complete, got = self._progress()
        due = self.parent and not self.done and not turns.said and not got and turns.inside(turns.up, now)
        if due and (complete or turns.overdue(now)):
            # What it has, and also where it was said before: it may have been lost.
            self._send_up()
        if turns.unsaid and turns.inside(turns.down, now):
            turns.unsaid = False
            super()._spread(self._before)
            self._before = None

    def _look(self, now: int) -> None:
        """When to look again."""
        turns = self.turns
        if self._slotted() and (not self.done or turns.unsaid):
            due = turns.deadline(now, *self._progress(), self._may_sleep())
            self.deadline = due if turns.away else ticks.earliest(self.deadline, due)

    def _adopt(self, commit: "Commit", now: int) -> None:
        super()._adopt(commit, now)
        if not self.root:
            # What children have said was for the step before.
            self.turns.came = []

    def _settle(self, now: int) -> None:
        super()._settle(now)
        self._look(now)

    def _send_up(self, whole: bool = False) -> None:
        turns = self.turns
        if self._slotted():
            # With this period's commit here, the sums of the next step wait for the next period.
            if not turns.inside(turns.up, self._now) or self._progress()[1]:
                return
            turns.said = True
        super()._send_up(whole)

    def _spread(self, before: "Commit | None") -> None:
        turns = self.turns
        now = self._now
        if not self._slotted() or not turns.down or turns.inside(turns.down, now) or turns.all_awake(now):
            super()._spread(before)
            return
        # Children that lack one before it can do nothing with its changes.
        self._before = None if turns.unsaid else before
        turns.unsaid = True

    def enter_epoch(self, now: int) -> None:
        # The commit is said with the epoch.
        self.turns.unsaid = False
        super().enter_epoch(now)
