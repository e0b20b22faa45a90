"""An exhaustive search over what a network of real nodes can come to.

What was ever said stays said: every message may be delivered to whoever hears its sender, at any time, as often as one
likes, or never. That is unbounded loss, duplication, delay and reordering. Timers run out whenever they like. A node
may lose its power between any two things that it does, and finds what it had saved; so often, and so many epochs may be
minted, as the bounds say. A node that never comes back is one to which nothing is delivered any more.

What was said and what was committed only grows, and more of it takes no possibility away: a state whose nodes are as in
a known one, with no more said, is not looked at again.
"""

from collections import deque
from collections.abc import Iterator
from time import monotonic
from typing import NamedTuple

from facts import Effect, Flash, Kept, Message, Outcome, flash_after
from laws import Violation
from searched import Machines


class Bounds(NamedTuple):
    """So many power cuts and minted epochs in all; seconds: stop after these, unfinished (0: never)."""

    crashes: int
    mints: int
    seconds: float = 0.0


class Global(NamedTuple):
    """nodes: by place, the number of each node's state. said: the set of messages and commits, as bits. crashes, mints:
    how many are left. run: the newest that the host has told of."""

    nodes: tuple[int, ...]
    said: int
    crashes: int
    mints: int
    run: int


class Found(NamedTuple):
    """What a search came to. violation: what is broken, and how it came to that, event by event."""

    states: int
    seconds: float
    finished: bool
    violation: "tuple[str, list[str]] | None"


class Search:
    """near: who hears whom. Where `machines` are of nodes that speak in full, a node may say its sums at any time."""

    def __init__(self, machines: Machines, near: dict[int, list[int]], bounds: Bounds) -> None:
        self.machines = machines
        self.ids = sorted(near)
        self.near = near
        self.bounds = bounds
        # Bits of `said`: messages and, as ghosts that nobody hears, commits that were on some flash.
        self._bits: dict[Message | Kept, int] = {}
        self._messages: list[Message | None] = []
        self._rivals: dict[tuple[object, ...], int] = {}
        self._heard = dict.fromkeys(self.ids, 0)
        self._commits = 0
        # By state: the messages that change nothing in it, and say nothing new.
        self._idle: dict[int, int] = {}
        self._held: dict[int, int] = {}
        self._dead: dict[tuple[int, bool], tuple[int, int]] = {}
        self._seen: dict[tuple[object, ...], list[int]] = {}
        self.states: list[Global] = []
        self._came: list[tuple[int, str]] = []
        self._ahead: deque[int] = deque()

    def run(self) -> Found:
        """Look at all that can be, shortest ways first; end at the first violation."""
        begin = monotonic()
        violation = None
        place = -1
        try:
            self._add(-1, "", self._start())
            while self._ahead and not 0.0 < self.bounds.seconds < monotonic() - begin:
                place = self._ahead.popleft()
                for label, after in self.successors(self.states[place]):
                    self._add(place, label, after)
        except Violation as error:
            violation = (str(error), [*self.way(place), error.label])
        return Found(len(self.states), monotonic() - begin, not self._ahead and violation is None, violation)

    def way(self, place: int) -> list[str]:
        """The events that led to a state."""
        labels: list[str] = []
        while place >= 0 and self._came[place][0] >= 0:
            labels.insert(0, self._came[place][1])
            place = self._came[place][0]
        return labels

    def messages_of(self, said: int) -> list[Message]:
        """The messages of a set."""
        found = [self._messages[bit] for bit in _bits_of(said)]
        return [message for message in found if message is not None]

    # ---- events ----

    def _start(self) -> Global:
        """Everybody is up, and has heard of the first run."""
        numbers = []
        said = 0
        run = min(self.machines.runs)
        for node in self.ids:
            outcome = self.machines.boot(node, Flash(1, "", b""), run, None)
            said = self._with(said, outcome.effects, "boot")
            numbers.append(outcome.state)
        return Global(tuple(numbers), said, self.bounds.crashes, self.bounds.mints, run)

    def successors(self, state: Global) -> Iterator[tuple[str, Global]]:
        """(what happens, the state after it)."""
        if state.run + 1 in self.machines.runs:
            yield "run", state._replace(run=state.run + 1)
        for place, node in enumerate(self.ids):
            number = state.nodes[place]
            for label, outcome in self._events(state, place):
                said = self._with(state.said, outcome.effects, label)
                mints = state.mints - outcome.minted
                if mints >= 0 and (outcome.state != number or said != state.said):
                    yield label, self._moved(state, place, outcome.state, said, mints=mints)
                if state.crashes:
                    # The power goes after some of it.
                    for cut in range(1, len(outcome.effects)):
                        if mints >= 0:
                            yield from self._crash(state, place, outcome.effects[:cut], label, mints)
            if state.crashes:
                yield from self._reboot(
                    state, place, self.machines.states[number].flash, state.said, f"{node} dies", state.mints
                )

    def _events(self, state: Global, place: int) -> Iterator[tuple[str, Outcome]]:
        node, number = self.ids[place], state.nodes[place]
        machines = self.machines
        for bit in _bits_of(state.said & self._heard[node] & ~self._idle.get(number, 0)):
            message = self._messages[bit]
            assert message is not None
            outcome = machines.deliver(number, message)
            if outcome.state == number and not outcome.effects:
                self._idle[number] = self._idle.get(number, 0) | 1 << bit
                continue
            yield f"{node} hears {message.kind} of {message.sender}", outcome
        for timer in machines.timers(number):
            yield f"{node}: {timer}", machines.fire(number, timer)
        session = machines.states[number].machine.session
        if session.run.number < state.run:
            yield f"{node} hears of run {state.run}", machines.new_run(number, state.run)

    def _crash(
        self, state: Global, place: int, effects: tuple[Effect, ...], label: str, mints: int
    ) -> Iterator[tuple[str, Global]]:
        flash = self.machines.states[state.nodes[place]].flash
        for effect in effects:
            flash = flash_after(flash, effect)
        said = self._with(state.said, effects, label)
        yield from self._reboot(state, place, flash, said, f"{label}, dies after {len(effects)} acts", mints)

    def _reboot(
        self, state: Global, place: int, flash: Flash, said: int, label: str, mints: int
    ) -> Iterator[tuple[str, Global]]:
        """It comes back: with or without one of the retained commits."""
        node = self.ids[place]
        flash = flash._replace(boot=flash.boot + 1)
        known = set()
        for bit in [-1, *_bits_of(said & self._commits)]:
            retained = self._messages[bit] if bit >= 0 else None
            outcome = self.machines.boot(node, flash, state.run, retained)
            if (outcome.state, outcome.effects) not in known:
                known.add((outcome.state, outcome.effects))
                after = self._with(said, outcome.effects, label)
                yield label, self._moved(state, place, outcome.state, after, state.crashes - 1, mints)

    def _moved(
        self, state: Global, place: int, number: int, said: int, crashes: int = -1, mints: int = -1
    ) -> Global:
        nodes = (*state.nodes[:place], number, *state.nodes[place + 1 :])
        left = state.crashes if crashes < 0 else crashes
        return Global(nodes, said, left, mints, state.run)

    # ---- what was said ----

    def _with(self, said: int, effects: tuple[Effect, ...], label: str) -> int:
        """`said` with these effects; Violation where two commits of a step differ."""
        for effect in effects:
            what = effect.message or effect.kept
            if what is None:
                continue
            bit = self._bit(what)
            if effect.kept is not None and said & self._rivals[_place(effect.kept)] & ~(1 << bit):
                raise Violation(
                    f"two commits of epoch {effect.kept.epoch} and step {effect.kept.step}", label
                )
            said |= 1 << bit
        return said

    def _bit(self, what: Message | Kept) -> int:
        bit = self._bits.get(what)
        if bit is not None:
            return bit
        bit = self._bits[what] = len(self._messages)
        if isinstance(what, Kept):
            self._messages.append(None)
            self._rivals[_place(what)] = self._rivals.get(_place(what), 0) | 1 << bit
            return bit
        self._messages.append(what)
        for node in self.ids:
            # Before it mints, a node hears everybody's commits.
            if node != what.sender and (what.sender in self.near[node] or what.kind == "commit"):
                self._heard[node] |= 1 << bit
        if what.kind == "commit":
            self._commits |= 1 << bit
        return bit

    def _alive(self, state: Global) -> Global:
        """Without what nobody can make use of any more, and with what everybody may say at any time."""
        said = state.said
        for number in state.nodes:
            held = self._held.get(number)
            if held is None:
                held = self._held[number] = self._always(number)
            said |= held
        dead = -1
        for number in state.nodes:
            dead &= self._useless(number, state.crashes)
        return state._replace(said=said & ~dead)

    def _always(self, number: int) -> int:
        said = 0
        for message in (
            self.machines.held(number),
            self.machines.up(number) if self.machines.whole else None,
        ):
            if message is not None:
                said |= 1 << self._bit(message)
        return said

    def _useless(self, number: int, crashes: int) -> int:
        key = (number, crashes > 0)
        mask, known = self._dead.get(key, (0, 0))
        if known < len(self._messages):
            for bit in range(known, len(self._messages)):
                message = self._messages[bit]
                if message is not None and self.machines.useless(number, message, crashes):
                    mask |= 1 << bit
            self._dead[key] = (mask, len(self._messages))
        return mask

    def _add(self, origin: int, label: str, state: Global) -> None:
        state = self._alive(state)
        key = (state.nodes, state.run)
        known = self._seen.setdefault(key, [])
        for place in known:
            other = self.states[place]
            if (
                state.said & ~other.said == 0
                and state.crashes <= other.crashes
                and state.mints <= other.mints
            ):
                return
        known.append(len(self.states))
        self._ahead.append(len(self.states))
        self.states.append(state)
        self._came.append((origin, label))


def _place(kept: Kept) -> tuple[object, ...]:
    return (kept.run, kept.epoch, kept.step)


def _bits_of(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
