"""A node in a run of `gossip`: slot after slot of shares, and a decision that all come to by themselves."""

from hashlib import sha256

from dcka_core import session, ticks
from dcka_core.errors import MessageError
from dcka_core.gossip import Gossip
from dcka_core.lloyd import assign, update_centres
from dcka_core.messages import CONVERGED, FINAL, GOSSIP, KEPT, UNDECIDED, Commit, read_commit


class Session(session.Session):
    """The slots' order and their timeouts; the mass itself lives in `Gossip`."""

    def start(self, held: "Commit | None", now: int) -> None:
        """Enter the run. A node that has come back puts nothing into the step it finds: its mass may be in it."""
        self._gossip = Gossip(self.run, self.rows, self.node, self.boot, self.returned)
        self._own_ssd = 0
        self._put = ""
        self._repeated: int | None = None
        self._half_way = False
        # The step and the flags of a neighbour's final commit.
        self._final_at = -1
        self._final_flags = 0
        self._ahead = -1
        if self.returned:
            self._listen()
        self._centres: list[int] | None = None
        if held and held.flags & FINAL:
            # The run is over; what is left is to say so.
            self._finish(held.step, held.centres, held.counts, held.flags)
            return
        if held:
            self.held = held
            self._enter(held.step, held.centres, True, True)
        else:
            self._enter(0, self.start_centres(), True, self.returned)
        self._next_slot(now)
        self._go(now)

    def receive(self, phase: int, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A message on an x topic."""
        try:
            lacking = self._gossip.take(sender, phase, payload)
        except MessageError as error:
            if error.reason == "stale":
                self._repeat(phase, now)
            raise
        if lacking or self.done:
            self._repeat(phase, now)
            raise MessageError("duplicate" if lacking else "stale")
        self.waiting = []
        self._go(now)

    def receive_commit(self, sender: int, payload: "bytes | memoryview", now: int) -> None:
        """A neighbour's commit: only a node that has been left behind makes use of it."""
        commit = read_commit(payload, self.run)
        step = commit.step
        self._ahead = max(self._ahead, step)
        if commit.flags & FINAL:
            self._final_at = step
            self._final_flags = commit.flags & (FINAL | CONVERGED)
        behind = step - self._gossip.step
        final = commit.flags & FINAL
        if self.done or (behind < 1 and not final) or (behind == 1 and not self.returned):
            return
        if final:
            # Nobody is left to gossip with: what they decided is the outcome here too.
            self._finish(step, commit.centres, commit.counts, GOSSIP | UNDECIDED | self._final_flags)
        else:
            self._enter(step, commit.centres, True, True)
            self._next_slot(now)
            self._go(now)

    def tick(self, now: int) -> "list[int]":
        """Half the patience: say it again. All of it: go on without, or end the step if the neighbours have."""
        if self.done:
            self.deadline = None
        elif not self._half_way:
            self._half_way = True
            self.deadline = ticks.add(now, self.run.patience_ms // 2)
            self._send()
        else:
            self.waiting = self._gossip.waiting()
            self._listen()
            if self._gossip.left_behind() or self._ahead > self._gossip.step:
                self._gossip.end_step()
            self._leave_slot(now)
            self._go(now)
        return self.waiting

    def reconnected(self, now: int) -> None:
        """The link is back: what was said into the outage is said again."""
        self.publish_held()
        if not self.done:
            self._send()

    def forget(self, who: int, now: int) -> None:
        """A neighbour is in quarantine: nothing is waited for from it."""
        self._gossip.forget(who)
        self._go(now)

    def _listen(self) -> None:
        """Ask for the neighbours' commits: they are retained, and only a node that may be left behind needs them."""
        for who in self.rows.near:
            self.ask("commit/%d" % who)

    # ---- slots ----

    def _go(self, now: int) -> None:
        while not self.done:
            if self._gossip.abandoned():
                self._gossip.end_step()
            elif not self._gossip.slot_complete():
                break
            self._leave_slot(now)

    def _leave_slot(self, now: int) -> None:
        if not self._gossip.ended:
            self._gossip.end_slot()
        if self._gossip.ended:
            self._end_step()
        if not self.done:
            self._next_slot(now)

    def _next_slot(self, now: int) -> None:
        self._gossip.enter_slot()
        # In the ledger: a slot that the node is awake in.
        self.ledger[0] += 1
        self._half_way = False
        self.deadline = ticks.add(now, self.run.patience_ms // 2)
        self._send()
        self._gossip.take_early(self.lost)

    def _send(self) -> None:
        phase = self._gossip.phase
        message = self._gossip.message(phase)
        if message:
            self.send("x/%d/%d" % (phase, self.node), message)

    def _repeat(self, phase: int, now: int) -> None:
        """Answer a neighbour that seems to lack our last message of `phase`: seldom, or two would echo for ever."""
        if self._repeated is not None and ticks.diff(now, self._repeated) < self.run.patience_ms // 2:
            return
        self._repeated = now
        message = self._gossip.message(phase)
        if message:
            self.send("x/%d/%d" % (phase, self.node), message)
        if self.done:
            # It may not have heard of the end, and would go on alone.
            self.publish_held()

    # ---- steps ----

    def _enter(self, step: int, centres: "list[int] | None", moved: bool, silent: bool) -> None:
        run = self.run
        self._centres = centres
        if silent:
            sums, self._own_ssd = [0] * run.rows, 0
        elif centres is None:
            sums, self._own_ssd = self.first_sums(), 0
        else:
            sums, self._own_ssd = assign(self.points, centres, run.k)
        digest = sha256()
        for value in sums:
            digest.update(value.to_bytes(8, "little"))
        self._put = digest.digest()[:8].hex()
        self._gossip.begin(step, sums, moved)

    def _end_step(self) -> None:
        run = self.run
        gossip = self._gossip
        step = gossip.step
        own = self._centres
        previous = own if own is not None and (step or run.common) else self.shared_centres()
        # Floors can lift the ratio of tiny masses above the grid, where a squared distance would leave 31 bits.
        top = (1 << run.bits) - 1
        centres = [min(top, value) for value in update_centres(gossip.mass, run.k, run.n, previous)]
        counts = gossip.counts()
        flags = GOSSIP | (KEPT if 0 in [gossip.mass[row] for row in range(0, run.rows, run.n + 1)] else 0)
        if gossip.doubtful:
            self.lost.append("points")
        if not gossip.decided or gossip.doubtful or self.struck:
            flags |= UNDECIDED
        if gossip.still():
            flags |= FINAL | CONVERGED
        elif self._final_at == step + 1:
            flags |= self._final_flags
        elif step + 1 >= run.max_steps:
            flags |= FINAL
        moved = own is None or self._differs(own, centres)
        self._report(step, centres, moved, flags)
        self._finish(step + 1, centres, counts, flags)
        if not self.done:
            self._enter(step + 1, centres, moved, False)

    def _finish(self, step: int, centres: "list[int]", counts: "list[int]", flags: int) -> None:
        """Hold the commit of `step`; with a final one the run is over, and the SSD is that of its centres."""
        if flags & FINAL:
            self.done = True
            self._own_ssd = assign(self.points, centres, self.run.k)[1]
            self.deadline = None
            self.waiting = []
        commit = Commit()
        commit.step = step
        commit.flags = flags
        commit.epoch = (0, 0, 0)
        commit.contributors = self.own
        commit.missing = 0
        commit.centres = centres
        commit.counts = counts
        commit.ssd = self._own_ssd
        self.keep(commit)
        self.publish_held()

    def _report(self, step: int, centres: "list[int]", moved: bool, flags: int) -> None:
        report = {
            "step": step,
            "ssd": self._own_ssd,
            "moved": moved,
            "slots": self._gossip.slot + 1,
            "centres": centres,
            "put": self._put,
            "flags": flags,
        }
        self.tell("step", report)

    def _differs(self, old: "list[int]", new: "list[int]") -> bool:
        far = [abs(new[index] - old[index]) * 256 > self.run.tolerance for index in range(len(old))]
        return True in far
