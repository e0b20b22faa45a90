"""One clustering of a stream: a window, the nodes' points of it, a run from the last centres, what is remembered."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dcka.anomalies import find
from dcka.config import Config, State
from dcka.errors import DckaError, UsageError
from dcka.mqtt.connection import Connection, Message
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.readiness import READY_S, NotReady, require_single
from dcka.mqtt.statuses import ASLEEP, NodeStatus, read_object, whole
from dcka.runs.controller import OnEvent, run
from dcka.runs.outcome import Outcome, decode_commit, greatest_holder
from dcka.runs.plan import RunPlan, idle, plan
from dcka.runs.seed import PLUS, seeded_plan
from dcka.runs.survey import Survey, next_number
from dcka.streams.drift import Drift, drift
from dcka.streams.forgetting import remembered, weighed
from dcka.streams.members import Part, part_of
from dcka.streams.memory import Memory, keep, keep_window, recall
from dcka.streams.window import EPOCH_S, Range, Window, range_of

Json = dict[str, Any]

LAG_S = 2
"""A window ends so long before now: nodes' clocks are this close, and a reading is taken within it."""
MADE_S = 20.0
"""A node makes its points of 100,000 readings within it."""


class Skipped(DckaError):
    """There is nothing to be clustered in this window; the stream goes on with the next."""


@dataclass(frozen=True)
class Clustering:
    """`window`, and `dataset`, the record of what the nodes hold of it. `part`: who took part. `empty`: who has no
    reading in it. `outcome`: of the run. `drift`: None for the first. `notes`: sentences for people.
    """

    window: Window
    dataset: Json
    part: Part
    empty: tuple[int, ...]
    outcome: Outcome
    drift: Drift | None
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether all nodes of the network were in all of it."""
        return self.outcome.whole and not self.part.away and not self.part.cut_off


class Stream:
    """The clusterings of a network's stream over `connection`; where it was is in `state`.

    `ready_s`: how long nodes are waited for that do not hold the window. `on_event`: as for `dcka.runs.controller.run`,
    and "window" (`window`, `since`, `until`) when one is published, "held" (`nodes`, `away`) when it is known who has
    its points. Raises UsageError for what the network file asks for and can't be.
    """

    def __init__(
        self,
        connection: Connection,
        config: Config,
        state: State,
        *,
        ready_s: float = READY_S,
        limit_s: float | None = None,
        on_event: OnEvent | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.range: Range = range_of(config)
        if config.stream.half_life is not None and config.run.schedule != "tree":
            raise UsageError(
                f"[stream] half_life goes with the exact consensus, and [run] schedule is {config.run.schedule}: take "
                'schedule = "tree", or a window that slides'
            )
        self._connection = connection
        self._config = config
        self._state = state
        self._ready_s = ready_s
        self._limit_s = limit_s
        self._tell: OnEvent = on_event or (lambda kind, data: None)
        self._clock = clock
        # The greatest numbers that the broker keeps.
        self._known = {"window": 0, "run": 0}

    @property
    def memory(self) -> Memory:
        """Where the stream is."""
        return recall(self._state)

    def now_s(self) -> int:
        """Seconds since 2020."""
        return int(self._clock()) - EPOCH_S

    def cluster(self) -> Clustering:
        """The next clustering; what came of it is kept.

        Raises Skipped, NotReady where nobody has the window, and as `dcka.runs.controller.run` does. What the stream
        remembers is changed by a clustering that has finished, and by nothing else.
        """
        memory = self._fitting(self.memory)
        inbox, number = self._look()
        window = self._next(memory, number)
        # Before it is said: a number is never used twice, whatever ends this.
        keep(self._state, replace(self.memory, window=window.number))
        self._end_last(inbox)
        held = self._await_held(inbox, window)
        dataset = window.dataset_record(self._config.network.name, held)
        part = part_of(self._config, held)
        if part is None:
            raise NotReady(f"nobody holds window {window.number}", self._config.ids)
        points = sum(held[node].rows for node in part.config.ids)
        dataset["nodes"] = {str(node): dataset["nodes"][str(node)] for node in part.config.ids}
        self._tell("held", {"nodes": list(part.config.ids), "away": list(part.away), "points": points})
        k = self._config.run.k
        if points < k:
            what = "no reading" if not points else f"{points:,} reading{'s' if points > 1 else ''}"
            raise Skipped(
                f"window {window.number} has {what} in the whole network, and K is {k}: it is passed over"
            )
        self._connection.publish("dataset", dataset, retain=True)
        room = {node: status.max_message for node, status in held.items() if status.max_message}
        found = Survey(held, dataset, self._last_number(inbox), room)
        keep_window(self._state, dataset, self._before(memory, window))
        made = self._plan(part, dataset, memory, window, found)
        outcome = run(
            self._connection, made, limit_s=self._limit_s, ready_s=self._ready_s, await_sleepers=False,
            on_event=self._tell,
        )  # fmt: skip
        outcome.save(self._state)
        moved = self._remember(outcome, memory, window) if outcome.finished else None
        empty = tuple(node for node in part.config.ids if not held[node].rows)
        return Clustering(window, dataset, part, empty, outcome, moved, made.notes)

    def anomalies(self, made: Clustering, tail_ppm: int, reveal: int, on_event: OnEvent) -> Outcome:
        """The run in which the nodes that took part agree on the tail about its centres; kept. Raises as `find`."""
        room = {
            node: int(one["max_message"])
            for node, one in made.outcome.statuses.items()
            if "max_message" in one
        }
        outcome = find(
            self._connection, made.part.config, made.dataset, made.outcome.run + 1, made.outcome, tail_ppm,
            reveal=reveal, max_message=room, limit_s=self._limit_s, await_sleepers=False,
            on_event=on_event,
        )  # fmt: skip
        outcome.save(self._state)
        return outcome

    # ---- the window ----

    def _look(self) -> tuple[Inbox, int]:
        """An inbox that knows all statuses, and the number of the newest window that the broker knows."""
        known = self._known

        def take(name: str) -> Callable[[int, Message], None]:
            def note(node: int, message: Message) -> None:
                if message.payload:
                    known[name] = max(known[name], whole(read_object(message.payload), name))

            return note

        inbox = Inbox(self._connection, {"window": take("window"), "run": take("run")})
        self._connection.subscribe("window", "run")
        self._connection.subscribe("status/+")
        inbox.drain()
        return inbox, known["window"]

    def _last_number(self, inbox: Inbox) -> int:
        statuses = inbox.statuses.by_node.values()
        return max([self._known["run"], *(number for one in statuses for number in (one.run, one.prepared))])

    def _end_last(self, inbox: Inbox) -> None:
        """Who was cut off in the last run, and has come back, shall not go on waiting for the others in it: it would
        miss the window."""
        last = self._last_number(inbox)
        if last:
            self._known["run"] = last + 1
            self._connection.publish("run", idle(last + 1), retain=True)

    def _next(self, memory: Memory, newest: int) -> Window:
        stream = self._config.stream
        until = self.now_s() - LAG_S
        since = until - stream.window
        if stream.half_life is not None and memory.until:
            since = memory.until
        if since >= until:
            raise Skipped("the last window ended just now: nothing can have been sensed since")
        return Window(max(memory.window, self.memory.window, newest) + 1, max(0, since), until, self.range)

    def _await_held(self, inbox: Inbox, window: Window) -> dict[int, NodeStatus]:
        """The statuses of those who have made their points of the window, and are awake: who sleeps deeply would hold
        the others up for as long as that. Raises NotReady where nobody has."""
        ids = self._config.ids
        self._connection.publish("window", window.record(), retain=True)
        self._tell("window", {"window": window.number, "since": window.since, "until": window.until})

        def decided(node: int) -> bool:
            status = inbox.statuses.get(node)
            return status is not None and (status.dataset == window.dataset or bool(status.problem))

        def awake(node: int) -> bool:
            status = inbox.statuses.get(node)
            return status is not None and status.state != ASLEEP and inbox.statuses.online(node)

        def there() -> bool:
            """Whether all who are awake have decided: those who are away may be waited for no longer."""
            return all(decided(node) for node in ids if awake(node)) and any(map(decided, ids))

        # First all; then, where somebody is away, those who are there.
        made = inbox.until(lambda: all(map(decided, ids)), self._ready_s, "status/+")
        if not made and any(map(awake, ids)):
            inbox.until(there, MADE_S, "status/+")
        require_single(inbox.statuses, ids)
        statuses = {
            node: inbox.statuses.by_node[node] for node in ids if inbox.statuses.get(node) is not None
        }
        held = {
            node: status
            for node, status in statuses.items()
            if status.dataset == window.dataset and awake(node)
        }
        if not held:
            said = [f"node {node} says: {one.problem}" for node, one in statuses.items() if one.problem]
            raise NotReady(
                f"nobody has made points of window {window.number} within {self._ready_s:g} s"
                + (f"; {said[0]}" if said else ": are the nodes online, and do they sense?"),
                ids,
            )
        return held

    # ---- the run ----

    def _fitting(self, memory: Memory) -> Memory:
        """What is remembered; only where the stream was, if K, the columns or their range are other ones now."""
        whole = self.range.whole
        grid = [whole.bits, list(whole.low), list(whole.width)]
        if memory.k and (memory.grid != grid or memory.k != self._config.run.k):
            self._tell("anew", {"reason": "K is another" if memory.grid == grid else "the range is another"})
            return Memory(window=memory.window)
        return memory

    def _plan(self, part: Part, dataset: Json, memory: Memory, window: Window, found: Survey) -> RunPlan:
        number = next_number(found, self._state)
        options: Json = {"max_message": found.max_message}
        if memory.k:
            n = memory.n
            centres = [memory.centres[at : at + n] for at in range(0, len(memory.centres), n)]
            options |= {"centres": centres, "on_grid": True, "prior": self._prior(memory, window)}
            return plan(part.config, dataset, number, **options)
        if part.config.run.init == PLUS:
            asked: Json = {
                "limit_s": self._limit_s,
                "await_sleepers": False,
                "on_event": self._tell,
                **options,
            }
            return seeded_plan(self._connection, part.config, dataset, number, self._state, **asked)
        return plan(part.config, dataset, number, **options)

    def _prior(self, memory: Memory, window: Window) -> list[int] | None:
        half_life = self._config.stream.half_life
        return (
            None if half_life is None else remembered(memory.weights, window.until - memory.until, half_life)
        )

    def _before(self, memory: Memory, window: Window) -> Json | None:
        """What a check holds the start and the prior against."""
        if not memory.k:
            return None
        return {
            "run": memory.run,
            "weights": memory.weights,
            "passed_s": window.until - memory.until,
            "half_life_s": self._config.stream.half_life,
        }

    def _remember(self, outcome: Outcome, memory: Memory, window: Window) -> Drift | None:
        """Keep where the centres are now; how far they have moved."""
        commit = decode_commit(outcome, greatest_holder(outcome))
        whole = self.range.whole
        prior = outcome.record.get("prior") or [0] * len(commit.counts)
        after = Memory(
            window=window.number,
            until=window.until,
            run=outcome.run,
            n=len(self.range.columns),
            centres=list(commit.centres),
            weights=weighed(prior, commit.counts),
            grid=[whole.bits, list(whole.low), list(whole.width)],
        )
        keep(self._state, after)
        if not memory.k:
            return None
        return drift(memory.centres, after.centres, self.range.grid, self._config.stream.drift)
