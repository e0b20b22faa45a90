"""What comes of a network once faults have stopped: whatever is said comes, once, and timers run out in their order."""

from facts import Kept, Message, Outcome
from search import Global, Search
from searched import REPEAT, STALL

# Far more patiences than any of these networks needs.
ROUNDS = 400


class Fair:
    """The network of a search, from one of its states on. dead: nodes that don't come back."""

    def __init__(self, search: Search, state: Global, dead: tuple[int, ...] = ()) -> None:
        self._machines = search.machines
        self._near = search.near
        self._run = state.run
        self._numbers = {
            node: number for node, number in zip(search.ids, state.nodes, strict=True) if node not in dead
        }
        self._overdue = dict.fromkeys(self._numbers, 0)
        self._hops = len(search.ids)
        self._queue: list[tuple[int, Message]] = []
        # What was said before comes first, in no order that means anything.
        for message in sorted(search.messages_of(state.said)):
            self._send(message)

    def end(self) -> dict[int, Kept | None]:
        """What everybody holds when all are done, or after ROUNDS patiences."""
        machines = self._machines
        for node, number in self._numbers.items():
            if machines.run_of(number) < self._run:
                self._follow(node, machines.new_run(number, self._run))
        for _ in range(ROUNDS):
            while self._queue:
                node, message = self._queue.pop(0)
                self._follow(node, machines.deliver(self._numbers[node], message))
            if all(machines.done(number) for number in self._numbers.values()):
                break
            for node in self._numbers:
                self._patience(node)
        return {node: machines.kept(number) for node, number in self._numbers.items()}

    def _send(self, message: Message) -> None:
        for node in self._numbers:
            # A node that hears a commit of somebody out of reach, and does not look for one, drops it.
            if node != message.sender and (message.sender in self._near[node] or message.kind == "commit"):
                self._queue.append((node, message))

    def _patience(self, node: int) -> None:
        """One has passed: what was said is said again; and after enough of them in vain, the tree is given up."""
        machines = self._machines
        self._fire(node, REPEAT)
        self._overdue[node] += 1
        # A root waits for the depth of its tree, and others longer, each for a time of its own.
        most = 2 + 2 * self._hops
        if not machines.is_root(self._numbers[node]):
            most = 3 * most + node * 5 % (2 * most)
        if self._overdue[node] >= most or machines.looks(self._numbers[node]):
            self._fire(node, STALL)

    def _fire(self, node: int, timer: str) -> None:
        if timer in self._machines.timers(self._numbers[node]):
            self._follow(node, self._machines.fire(self._numbers[node], timer))

    def _follow(self, node: int, outcome: Outcome) -> None:
        before = self._machines.progress(self._numbers[node])
        self._numbers[node] = outcome.state
        if self._machines.progress(outcome.state) != before:
            self._overdue[node] = 0
        for effect in outcome.effects:
            if effect.message is not None:
                self._send(effect.message)


def unfair_end(search: Search, state: Global, dead: tuple[int, ...] = ()) -> str:
    """What everybody holds in the end, for people, where not all of them end on the same commit; else nothing."""
    held = Fair(search, state, dead).end()
    kept = list(held.values())
    if all(one is not None and one == kept[0] and one.flags & 1 for one in kept):
        return ""
    return repr({node: one and (one.epoch, one.step, one.flags, one.missing) for node, one in held.items()})
