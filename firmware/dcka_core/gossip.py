"""`gossip`: the paper's consensus on a switching topology, in whole numbers (protocol, section 5).

One object per run. Mass is fixed-point; a share is a floor division and the remainder stays home, so that mass is
conserved to the last bit. Messages carry running sums of all that was ever passed on in (step, phase): a lost one
delays mass and never destroys it.
"""

from dcka_core.codec import Reader, put_varint
from dcka_core.errors import MessageError
from dcka_core.messages import SHARE, put_head, read_head
from dcka_core.spread import Spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Rows, Run

_MAX_SLOT = 1 << 32


class _Heard:
    """What a node has of one neighbour in one phase: the last running sums counted, and one message in waiting."""

    def __init__(self, rows: int) -> None:
        self.last = [0] * rows
        self.slot = -1
        self.boot = -1
        self.fresh = False
        self.waiting = b""
        self.waiting_at = (-1, -1)


class Gossip:
    """One node's mass in the step and slot that it is in.

    returned: whether the node was in this run before, and may be given again what it has given on since. doubtful:
    whether a share of this step was left out that is more than all there is.
    """

    def __init__(self, run: "Run", rows: "Rows", node: int, boot: int, returned: bool = False) -> None:
        self._run = run
        self._returned = returned
        self._rows = rows
        self._node = node
        self._boot = boot
        self._own_bit = 1 << run.members.index(node)
        self._mask = (1 << run.modulus_bits) - 1
        self._width = (run.modulus_bits + 7) // 8
        self._heard = [{who: _Heard(run.rows) for who in phase[1]} for phase in rows.phases]
        self._spread = Spread(run.k, run.n, len(run.members))
        self._sent_slot: list[int] = []
        self._given: list[list[list[int]]] = []
        self.decided = self.doubtful = False
        self._unheard = 0
        self.step = -1
        self.slot = -1
        self.mass: list[int] = []
        self.moved = True
        self.ended = False

    @property
    def phase(self) -> int:
        return self.slot % len(self._rows.phases)

    # ---- a step ----

    def begin(self, step: int, sums: "list[int]", moved: bool) -> None:
        """Enter `step` with the node's own sums, K rows of (m, u_1 ... u_n)."""
        self.step = step
        self.slot = -1
        self.ended = False
        self.decided = self.doubtful = False
        self.mass = [value << self._run.fraction for value in sums]
        self.moved = moved
        self._given = [[[0] * self._run.rows for _ in phase[0]] for phase in self._rows.phases]
        self._sent_slot = [-1 for _ in self._rows.phases]
        for phase in self._heard:
            for who in phase:
                phase[who].last = [0] * self._run.rows
                phase[who].slot = -1

    def enter_slot(self) -> None:
        """Go to the next slot: give shares away, to be said in `message`."""
        self.slot += 1
        if self.slot % self._run.window == 0:
            self._open_window()
        phase = self.phase
        shares = self._rows.phases[phase][0]
        given = self._given[phase]
        for index in range(self._run.rows):
            mass = left = self.mass[index]
            for group in range(len(shares)):
                divisor, count = shares[group]
                share = mass // divisor
                left -= share * count
                given[group][index] = (given[group][index] + share) & self._mask
            self.mass[index] = left
        self._sent_slot[phase] = self.slot

    def take_early(self, lost: "list[str]") -> None:
        """Count what neighbours that are ahead have sent for this slot already; add to `lost` why one was dropped."""
        phase = self.phase
        for who in self._heard[phase]:
            heard = self._heard[phase][who]
            if heard.waiting_at == (self.step, self.slot):
                payload = heard.waiting
                heard.waiting = b""
                heard.waiting_at = (-1, -1)
                try:
                    self.take(who, phase, payload)
                except MessageError as error:
                    lost.append(error.reason)

    def message(self, phase: int) -> bytearray:
        """What this node has to say in `phase` of this step; empty before its first slot there, or if nobody hears."""
        slot = self._sent_slot[phase] if self._sent_slot else -1
        if slot < 0 or not self._rows.phases[phase][0]:
            return bytearray()
        out = put_head(SHARE, self._run.number, self._node, self._boot, self.step)
        put_varint(out, phase)
        put_varint(out, slot)
        put_varint(out, len(self._given[phase]))
        for group in self._given[phase]:
            for value in group:
                out.extend(value.to_bytes(self._width, "little"))
        self._spread.put(out, slot // self._run.window == self.slot // self._run.window)
        return out

    def _open_window(self) -> None:
        whole = self.slot > 0 and not self._unheard
        self._spread.begin(self.mass, self._own_bit if whole else 0, self.moved)
        self._unheard = sum([len(phase[1]) for phase in self._rows.phases])
        for phase in self._heard:
            for who in phase:
                phase[who].fresh = False

    # ---- what neighbours send ----

    def take(self, sender: int, phase: int, payload: "bytes | memoryview") -> bool:
        """A neighbour's message. True where it shows that the neighbour lacks our last one of this phase.

        Raises MessageError with the reason for which it is dropped.
        """
        if phase >= len(self._heard) or sender not in self._heard[phase]:
            raise MessageError("stranger")
        reader = Reader(payload)
        run, named, boot, step = read_head(reader, SHARE)
        if run != self._run.number:
            raise MessageError("run")
        if named != sender or reader.varint(_MAX_SLOT) != phase:
            raise MessageError("sender")
        slot = reader.varint(_MAX_SLOT)
        if (step, slot) > (self.step, self.slot):
            heard = self._heard[phase][sender]
            if (step, slot) < heard.waiting_at:
                raise MessageError("stale")
            if (step, slot) == heard.waiting_at:
                raise MessageError("duplicate")
            self._check(phase, sender, reader)
            heard.waiting = bytes(payload)
            heard.waiting_at = (step, slot)
            return False
        if step < self.step:
            raise MessageError("stale")
        return self._count(phase, sender, boot, slot, reader)

    def _count(self, phase: int, sender: int, boot: int, slot: int, reader: Reader) -> bool:
        """Add what a message of this step, this slot or an earlier one, brings. True where it is the last one again."""
        heard = self._heard[phase][sender]
        sums, window = self._check(phase, sender, reader)
        if boot < heard.boot:
            raise MessageError("stale")
        if boot != heard.boot:
            heard.boot = boot
            heard.last = [0] * self._run.rows
            heard.slot = -1
        if slot < heard.slot:
            raise MessageError("stale")
        if slot == heard.slot:
            return True
        reader.rewind(sums)
        last = heard.last
        excess = not self._returned and self._is_excess(reader, last)
        self.doubtful = self.doubtful or excess
        reader.rewind(sums)
        for index in range(self._run.rows):
            passed = reader.integer(self._width)
            if not excess:
                self.mass[index] += (passed - last[index]) & self._mask
            last[index] = passed
        heard.slot = slot
        if slot // self._run.window == self.slot // self._run.window:
            reader.rewind(window)
            self._spread.read(reader, True)
        if not heard.fresh:
            heard.fresh = True
            self._unheard -= 1
        return False

    def _is_excess(self, reader: Reader, last: "list[int]") -> bool:
        """Whether more comes than all nodes have put in: what was given and has not arrived is in nobody's hands.

        The numbers are read twice, since a list of them would be what a small heap lacks.
        """
        run = self._run
        most = run.points << run.fraction
        for index in range(run.rows):
            arrived = (reader.integer(self._width) - last[index]) & self._mask
            if arrived > (most << run.bits if index % (run.n + 1) else most):
                return True
        return False

    def forget(self, who: int) -> None:
        """Wait for nothing of a neighbour any more."""
        for phase in self._heard:
            heard = phase.pop(who, None)
            if heard and not heard.fresh:
                self._unheard -= 1

    def _check(self, phase: int, sender: int, reader: Reader) -> "tuple[int, int]":
        """Read the rest of a message without taking it in, since what is malformed must not be taken in half.

        Returns where the running sums begin that are meant for this node, and where the window does.
        """
        rows = self._run.rows
        groups = reader.varint(len(self._run.members))
        mine = self._rows.phases[phase][1][sender]
        if mine >= groups:
            raise MessageError("value")
        reader.take(mine * rows * self._width)
        sums = reader.position
        for _ in range(rows):
            if reader.integer(self._width) > self._mask:
                raise MessageError("value")
        reader.take((groups - 1 - mine) * rows * self._width)
        window = reader.position
        self._spread.read(reader, False)
        reader.end()
        return sums, window

    # ---- when a slot and a step end ----

    def slot_complete(self) -> bool:
        """Whether everyone in this phase has been heard for this slot or a later one."""
        return not self.waiting()

    def waiting(self) -> "list[int]":
        """The neighbours of this phase that haven't been heard for this slot, nor for a later one of this step."""
        here = (self.step, self.slot)
        missed = []
        heard = self._heard[self.phase]
        for who in heard:
            ahead = heard[who].waiting_at
            if heard[who].slot < self.slot and (ahead <= here or ahead[0] > self.step):
                missed.append(who)
        return missed

    def abandoned(self) -> bool:
        """Whether all that this slot waits for have left the step: nothing more comes, and a share would be lost."""
        missed = self.waiting()
        heard = self._heard[self.phase]
        return bool(missed) and not [who for who in missed if heard[who].waiting_at[0] <= self.step]

    def left_behind(self) -> bool:
        """Whether a neighbour is in a later step already."""
        for phase in self._heard:
            for who in phase:
                if phase[who].waiting_at[0] > self.step:
                    return True
        return False

    def end_slot(self) -> None:
        """Leave the slot; sets `ended` where the step ends with it."""
        passed = self.slot + 1
        if self._run.slots:
            self.ended = passed >= self._run.slots
            self.decided = self.ended
        elif passed % self._run.window == 0 and self._spread.settled(self._run.tolerance):
            self.ended = self.decided = True
        if passed >= self._run.max_slots:
            self.ended = True

    def end_step(self) -> None:
        """End the step as it is, because the neighbours have."""
        self.ended = True

    def still(self) -> bool:
        """Whether the step was decided with nobody moved: the run is converged."""
        return self.decided and not self._spread.moved

    def counts(self) -> "list[int]":
        """The network's counts as this node estimates them: N times its mass, rounded."""
        step = self._run.n + 1
        size = len(self._run.members)
        half = (1 << self._run.fraction) >> 1
        masses = [self.mass[row] for row in range(0, self._run.rows, step)]
        return [(size * mass + half) >> self._run.fraction for mass in masses]
