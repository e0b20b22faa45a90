"""The real node as a function: (state, event) → (state, what it saved and said), each worked out once and remembered.

A state is a whole `dcka_core.node.Node` in the middle of a run, with its flash. What time it is plays no part: timers
fire when the search says so, and whatever only counts or tells (statistics, moments, status) is set back after each
event, so that states which behave alike are one.
"""

from json import dumps, loads
from typing import Any, NamedTuple

from alike import LATER, NOW, copied, forget_who_waits, key_of, set_back
from facts import Effect, Flash, Kept, Message, Outcome, flash_after, kept_of
from laws import Laws, Violation

from dcka_core import epochs, tree
from dcka_core import node as core_node
from dcka_core.actions import PUBLISH, SAVE
from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.messages import MAX_ID, UP, Commit, is_change, peek_commit, peek_run, read_commit, read_head
from dcka_core.parts import part
from dcka_core.record import read_run
from dcka_core.tree_messages import _read_form, read_change

PREFIX = "dcka/t/"
REPEAT, STALL = "repeat", "stall"


class State(NamedTuple):
    """A node that is up."""

    machine: "QuietNode"
    flash: Flash


class Weak:
    """The classes that stand in the place of tree's; in the tests of the search, ones that lack a rule."""

    Session: type = tree.Session
    Epochs: type = epochs.Epochs


class QuietNode(core_node.Node):
    """A node that keeps its state to itself: a status has no part in the protocol but to come back once."""

    def _publish_status(self, now: int) -> None:
        self._heartbeat = None


class Machines:
    """All states that a network's nodes were ever found in, by number, and what comes of each event in each.

    points: by node. records: the run records, by number. rows: by run number, then node. weak: other classes than the
    firmware's.
    """

    def __init__(
        self,
        points: dict[int, Any],
        records: dict[int, dict[str, Any]],
        rows: dict[int, dict[int, dict[str, Any]]],
        weak: "Weak | None" = None,
        whole: bool = False,
        laws: Laws | None = None,
    ) -> None:
        self.laws = laws
        self.points = points
        self.records = records
        self.rows = rows
        self.runs = {number: read_run(record) for number, record in records.items()}
        self.states: list[State] = []
        # What was ever said as a change of a commit, with the commit that it stands for.
        self.changes: dict[bytes, Kept] = {}
        self.commits: dict[Kept, Commit] = {}
        self._numbers: dict[Any, int] = {}
        self._known: dict[Any, Outcome] = {}
        self._honest = weak is None
        self._weak = weak or Weak()
        self.whole = whole
        if whole:
            self._weak = _speaking_in_full(self._weak)

    def load(self, name: str) -> Any:
        """`parts.part`, with other classes in the place of tree's."""
        return self._weak if name in ("tree", "epochs") else part(name)

    # ---- events ----

    def boot(self, node: int, flash: Flash, run: int, retained: Message | None) -> Outcome:
        """A node starts, hears one retained commit or none, and then of a run."""
        key = (node, flash, run, retained)
        if key not in self._known:
            machine = QuietNode(
                "t",
                node,
                flash.boot,
                1,
                loads(flash.memory) if flash.memory else None,
                flash.commit,
                4096,
                "",
                _vitals,
                self.load,
            )
            machine.data_loaded(self.points[node], NOW)
            machine.connected(NOW)
            if retained:
                machine.receive(f"{PREFIX}commit/{retained.sender}", retained.payload, NOW)
            status = {"v": 1, "node": node, "nonce": 1, "state": "ready"}
            machine.receive(f"{PREFIX}status/{node}", dumps(status).encode(), NOW)
            machine.dropped.clear()
            self._known[key] = self._outcome(machine, flash, None, self._told_of(machine, run), retained)
        return self._known[key]

    def new_run(self, number: int, run: int) -> Outcome:
        """The host's word of the next run comes."""
        key = (number, run)
        if key not in self._known:
            machine, flash = self._copy(number)
            before = machine.session.epoch
            # A commit of the run that was heard before the run itself.
            early = self._message("c", 0, machine._furthest, None) if machine._furthest else None
            self._known[key] = self._outcome(machine, flash, before, self._told_of(machine, run), early)
        return self._known[key]

    def deliver(self, number: int, message: Message) -> Outcome:
        """A message comes."""
        key = (number, message)
        if key not in self._known:
            machine, flash = self._copy(number)
            before = machine.session.epoch
            kind = "x/0" if message.kind == "x" else message.kind
            actions = machine.receive(f"{PREFIX}{kind}/{message.sender}", message.payload, NOW)
            self._known[key] = self._outcome(machine, flash, before, actions, message)
        return self._known[key]

    def timers(self, number: int) -> tuple[str, ...]:
        """What may run out in this state."""
        session = self.states[number].machine.session
        if session.done:
            return ()
        return (REPEAT, STALL)

    def fire(self, number: int, timer: str) -> Outcome:
        """A timer has run out, and no other."""
        key = (number, timer)
        if key not in self._known:
            machine, flash = self._copy(number)
            session = machine.session
            before = session.epoch
            session._repeat_at = NOW if timer == REPEAT else LATER
            session.stall_at = NOW if timer == STALL else LATER
            session.deadline = NOW
            self._known[key] = self._outcome(machine, flash, before, machine.tick(NOW))
        return self._known[key]

    def useless(self, number: int, message: Message, crashes: int) -> bool:
        """Whether a message means nothing any more to a node in this state, whatever else will happen to it."""
        node = self.states[number].machine._id
        session = self.states[number].machine.session
        if (
            message.sender == node
            or message.run < session.run.number
            or (message.kind == "x" and message.to != node)
        ):
            return True
        if message.run > session.run.number:
            return False
        if message.kind == "commit":
            held = session.held
            return held is not None and not read_commit(message.payload, session.run).beats(held)
        if session.done or (message.kind == "epoch" and message.sender not in session.rows.near):
            return True
        # Power cuts make a node forget its epoch, but never what it holds.
        return (not crashes and message.epoch < session.epoch) or (
            message.kind == "x" and message.step < session._step
        )

    def up(self, number: int) -> Message | None:
        """What a node in this state says to its parent whenever a patience has passed."""
        machine, flash = self._copy(number)
        session = machine.session
        if session.done or not session.parent:
            return None
        session._send_up(True)
        return self._message("x", session.node, bytes(session.out[-1][2]), flash)

    def held(self, number: int) -> Message | None:
        """What a node in this state may always say: the commit that it holds, as when its link comes back."""
        session = self.states[number].machine.session
        return None if session.held is None else self._whole(session.node, session.held, session.run)

    def check_changes(self) -> int:
        """How many pairs there are of a change that was said and a commit that was held, whether or not they can meet.

        Violation where one makes something of the other that is not what was meant.
        """
        for payload, meant in self.changes.items():
            for held, commit in self.commits.items():
                if held.run == meant.run:
                    try:
                        made = kept_of(read_change(payload, self.runs[held.run], commit), held.run)
                    except MessageError:
                        continue
                    if made != meant:
                        raise Violation(f"a change that stands for {meant} makes {made} of {held}")
        return len(self.changes) * len(self.commits)

    # ---- what a state says ----

    def done(self, number: int) -> bool:
        return bool(self.states[number].machine.session.done)

    def is_root(self, number: int) -> bool:
        return bool(self.states[number].machine.session.root)

    def looks(self, number: int) -> bool:
        """Whether the node listens to everybody's commits before it mints."""
        epochs = self.states[number].machine.session._epochs
        return epochs is not None and epochs._looking is not None

    def run_of(self, number: int) -> int:
        return int(self.states[number].machine.session.run.number)

    def kept(self, number: int) -> Kept | None:
        """What the node holds in its run."""
        session = self.states[number].machine.session
        return None if session.held is None else kept_of(session.held, session.run.number)

    def progress(self, number: int) -> tuple[object, ...]:
        """What makes a node wait anew for the next commit."""
        session = self.states[number].machine.session
        return (session.run.number, self.kept(number), session.epoch)

    # ---- inside ----

    def _told_of(self, machine: QuietNode, run: int) -> list[Any]:
        row = self.rows[run][machine._id]
        actions = machine.receive(f"{PREFIX}rows/{machine._id}", dumps(row).encode(), NOW)
        return actions + machine.receive(f"{PREFIX}run", dumps(self.records[run]).encode(), NOW)

    def _copy(self, number: int) -> tuple[QuietNode, Flash]:
        state = self.states[number]
        machine: QuietNode = copied(state.machine)
        machine.session = copied(machine.session)
        machine.session.out = machine._out
        machine.session.asked = machine._asked
        if machine.session._epochs is not None:
            machine.session._epochs = copied(machine.session._epochs)
            machine.session._epochs._node = machine.session
        return machine, state.flash

    def _outcome(
        self, machine: QuietNode, flash: Flash, before: Any, actions: list[Any], heard: Message | None = None
    ) -> Outcome:
        effects = []
        known = [self._kept(flash.commit)] if flash.commit else []
        held = known[0] if known and known[0].run == machine.session.run.number else None
        if heard is not None and heard.kind == "commit":
            known.append(self._kept(heard.payload))
        for action in actions:
            if action[0] == SAVE:
                effect = self._saved(action[1], action[2])
                flash = flash_after(flash, effect)
                effects.append(effect)
                if effect.kept is not None and self.laws is not None:
                    self.laws.check_order(held, effect.kept)
                    if effect.kept not in known:
                        self.laws.check(machine._id, flash.boot, held, effect.kept)
                    held = effect.kept
            elif action[0] == PUBLISH:
                kind, _, sender = action[1].removeprefix(PREFIX).rpartition("/")
                if kind in ("x/0", "commit", "epoch"):
                    effects.append(
                        Effect(self._message(kind[0], int(sender), bytes(action[2]), flash), "", b"", None)
                    )
        session = machine.session
        if self._honest and session.quarantine is not None:
            raise Violation(f"node {machine._id} suspects a neighbour: {machine.dropped}")
        minted = session.root and session.epoch != before and session.epoch[0] > 0
        return Outcome(self._number(machine, flash), tuple(effects), minted)

    def _saved(self, name: str, payload: Any) -> Effect:
        if name != "commit.bin":
            return Effect(None, name, payload, None)
        return Effect(None, name, bytes(payload), self._kept(payload))

    def _kept(self, payload: Any) -> Kept:
        number = peek_run(payload)
        try:
            commit = read_commit(payload, self.runs[number])
        except MessageError as error:
            raise Violation(f"a commit that nobody takes: {error.reason}") from None
        kept = kept_of(commit, number)
        self.commits[kept] = commit
        return kept

    def _message(self, kind: str, sender: int, payload: bytes, flash: Flash | None) -> Message:
        number = peek_run(payload)
        run = self.runs[number]
        if kind == "c":
            if flash is None:
                return self._whole(sender, read_commit(payload, run), run)
            if not flash.commit or peek_commit(payload)[::2] != peek_commit(flash.commit)[::2]:
                raise Violation(f"node {sender} says a commit that is not on its flash")
            if not is_change(payload):
                return self._whole(sender, read_commit(payload, run), run)
            on_flash = self._kept(flash.commit)
            if self.changes.setdefault(payload, on_flash) != on_flash:
                raise Violation(f"a change of node {sender} stands for two commits")
            return self._whole(sender, read_commit(flash.commit, run), run)
        if kind == "e":
            _, _, epoch, parent = epochs.read_place(payload, run)
            return Message(
                "epoch",
                sender,
                bytes(epochs.write_place(run, sender, 0, 0, epoch, parent)),
                number,
                0,
                epoch,
                0,
            )
        reader = Reader(payload)
        step = read_head(reader, UP)[3]
        _, epoch = _read_form(reader, run)
        return Message("x", sender, payload, number, step, epoch, reader.varint(MAX_ID))

    def _whole(self, sender: int, commit: Commit, run: Any) -> Message:
        said = copied(commit)
        said.sender, said.boot = sender, 0
        return Message("commit", sender, bytes(said.encode(run)), run.number, commit.step, commit.epoch, 0)

    def _number(self, machine: QuietNode, flash: Flash) -> int:
        set_back(machine)
        if self.whole:
            forget_who_waits(machine.session)
        key = key_of(machine, flash)
        if key not in self._numbers:
            self._numbers[key] = len(self.states)
            self.states.append(State(machine, flash))
        return self._numbers[key]


def _speaking_in_full(weak: Weak) -> Weak:
    class Session(weak.Session):  # type: ignore[name-defined,misc]
        def _send_up(self, whole: bool = False) -> None:
            super()._send_up(True)

    other = Weak()
    other.Session, other.Epochs = Session, weak.Epochs
    return other


def _vitals() -> tuple[int, int]:
    return 0, 0
