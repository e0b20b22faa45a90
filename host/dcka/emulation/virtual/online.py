"""A node while its radio is on: the core is fed as a board's shell feeds it, and what it asks for is done."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dcka.emulation.numpy_kernel import accumulate
from dcka.emulation.virtual.broker import Session
from dcka.emulation.virtual.timeline import US_PER_MS
from dcka.emulation.virtual.updating import answered, version_word
from dcka_core import ticks
from dcka_core.actions import MAKE, PUBLISH, SAVE, SUBSCRIBE, UNSUBSCRIBE, UPDATE
from dcka_core.clock import read_beacon
from dcka_core.errors import CoreError, MessageError
from dcka_core.member import RUN_FILE
from dcka_core.points import Points
from dcka_core.rota import read_pace
from dcka_core.session import COMMIT_FILE
from dcka_core.windows import Windows

if TYPE_CHECKING:
    from array import array

    from dcka.emulation.virtual.awake import Awake

RUNTIME = "cpython simulated"
# What a status says of a board's heap.
LIVE_BYTES, FREE_BYTES = 50_000, 40_000
# Waking, the radio is associated after this (docs/energy.md); a broker that is away is tried again after that.
JOIN_MS, RETRY_MS = 730, 3000
# For the last answer to leave, before a board restarts.
RESTART_MS = 300
_OWN = ("time", "pace")


class Online:
    """One stretch with the radio on, of a node that is awake (`awake`): begin it, and `leave`."""

    def __init__(self, awake: "Awake", on_change: Callable[[], None]) -> None:
        self.heard_time = False
        self.connected_s: int | None = None
        self._awake = awake
        self._board = board = awake.board
        self._world = world = board.world
        self._on_change = on_change
        self._session: Session | None = None
        self._prefix = f"dcka/{world.network}/"
        self._armed: int | None = None
        self._radio_since: int | None = None
        memory = _memory(board.flash.read(RUN_FILE))
        # A run that it was in before it slept, and finds again at the broker, is none to stay for.
        self._before = 0 if memory is None else int(memory.get("run", 0))
        self.took_part = False
        self.core = world.node(
            world.network,
            board.id,
            board.flash.raise_boot(),
            board.chance.getrandbits(32),
            memory,
            board.flash.read(COMMIT_FILE) or b"",
            world.max_message,
            RUNTIME,
            lambda: (LIVE_BYTES, FREE_BYTES),
            world.parts,
        )
        self.core.others["window"] = Windows(awake.segments, world.parts)
        self._topics = dict.fromkeys(self.core.standing_topics())
        self._topics.update(dict.fromkeys(self._prefix + kind for kind in _OWN))
        points = board.flash.points()
        if points is not None:
            self._feed(self.core.data_loaded, self._metered(points))
        board.meter.associations += 1
        awake.life.after(JOIN_MS * US_PER_MS, self._associated)

    # ---- the connection ----

    def _associated(self) -> None:
        self._radio_since = self._world.timeline.now_us
        self._connect()

    def _connect(self) -> None:
        life = self._awake.life
        will = self.core.will()
        session = self._world.broker.connect(
            self._board.id,
            lambda suffix, payload, retained: life.now(self._receive, suffix, payload),
            lambda: life.now(self._lost),
            (will[0].removeprefix(self._prefix), will[1].encode()),
        )
        if session is None:
            life.after(RETRY_MS * US_PER_MS, self._connect)
            return
        self._session = session
        if self.connected_s is None:
            self.connected_s = self._awake.ticks() // 1000
        for topic in self._topics:
            self._world.broker.subscribe(session, topic.removeprefix(self._prefix))
        self._feed(self.core.connected)
        self.tell_version()

    def _lost(self) -> None:
        self._session = None
        self.core.disconnected()
        self._awake.life.after(RETRY_MS * US_PER_MS, self._connect)

    def leave(self, until_ms: int) -> None:
        """Say for how long it will sleep, and take leave, so that no will is published."""
        if self._session is not None:
            self.core.also.update(state="asleep", until_ms=until_ms)
            self._perform(self.core.connected(self._awake.ticks()))
            self._world.broker.leave(self._session)
        self.close()

    def close(self) -> None:
        """The radio is off, whatever the broker thinks."""
        if self._session is not None:
            self._world.broker.silent(self._session)
            self._session = None
        if self._radio_since is not None:
            spent_us = self._world.timeline.now_us - self._radio_since
            self._board.meter.radio_ms += spent_us / US_PER_MS
            self._radio_since = None

    # ---- events ----

    def _receive(self, suffix: str, payload: bytes) -> None:
        self._board.meter.hear(len(payload))
        if suffix in _OWN:
            self._take_own(suffix, payload)
        else:
            self._feed(self.core.receive, self._prefix + suffix, payload)

    def _take_own(self, kind: str, payload: bytes) -> None:
        """What the shell hears for itself, and not for the run."""
        awake = self._awake
        try:
            record = json.loads(payload)
            if kind == "pace":
                awake.rota.take_pace(read_pace(record))
            elif awake.clock.hear(*read_beacon(record), awake.ticks()):
                self.heard_time = True
        except (CoreError, ValueError):
            self.core.count("json")
        self._after()

    def _tick(self) -> None:
        self._armed = None
        self._feed(self.core.tick)

    def _feed(self, event: Callable[..., list[Any]], *arguments: Any) -> None:
        self._perform(event(*arguments, self._awake.ticks()))
        self._after()

    def _after(self) -> None:
        """What comes of an event: the next deadline, and whether to stay."""
        due = self.core.deadline()
        if due is not None and due != self._armed:
            self._armed = due
            wait_us = max(0, ticks.diff(due, self._awake.ticks())) * US_PER_MS
            self._awake.life.after(self._board.oscillator.true_us(wait_us), self._ring, due)
        session = self.core.session
        if session is not None and session.done and session.run.number > self._before:
            self.took_part = True
        self._on_change()

    def _ring(self, due: int) -> None:
        if self._armed == due:
            self._tick()

    # ---- actions ----

    def _perform(self, actions: list[Any]) -> None:
        for action in actions:
            what = action[0]
            if what == PUBLISH:
                payload = action[2].encode() if isinstance(action[2], str) else bytes(action[2])
                self._publish(action[1].removeprefix(self._prefix), payload, action[3])
            elif what == SAVE:
                text = action[2]
                self._board.flash.save(action[1], text.encode() if isinstance(text, str) else bytes(text))
            elif what == SUBSCRIBE:
                self._topics[action[1]] = None
                if self._session is not None:
                    self._world.broker.subscribe(self._session, action[1].removeprefix(self._prefix))
            elif what == UNSUBSCRIBE:
                self._topics.pop(action[1], None)
                if self._session is not None:
                    self._world.broker.unsubscribe(self._session, action[1].removeprefix(self._prefix))
            elif what == MAKE:
                self._make(action[1], action[2])
            elif what == UPDATE:
                self._update(action[1], action[2])
            else:
                raise RuntimeError(
                    f"node {self._board.id} asks for action {what}, which no simulated board has"
                )

    def _update(self, payload: bytes, intake: Any) -> None:
        """A message of an update; where it ends with the word to start, the board restarts."""
        try:
            answer, start = answered(self._board, payload, intake)
        except MessageError as error:
            self.core.count(error.reason)
            return
        self._publish(f"got/{self._board.id}", answer, False)
        if start:
            self._awake.life.after(RESTART_MS * US_PER_MS, self._board.restart)

    def tell_version(self) -> None:
        """What runs here, retained; said when it is connected, and when a trial is over."""
        if self._board.versions.key:
            self._publish(f"version/{self._board.id}", version_word(self._board), True)

    def _publish(self, suffix: str, payload: bytes, retain: bool) -> None:
        if self._session is not None:
            self._board.meter.send(len(payload))
            self._world.broker.publish(self._board.id, suffix, payload, retain)

    def _make(self, grid: Any, readings: Any) -> None:
        """Make the points of a window; where that fails, the old ones stay."""
        self._world.watcher.made(self._board.id, grid.dataset(readings.dataset))
        try:
            points = self._board.flash.make(grid, readings)
        except (OSError, CoreError) as error:
            self._feed(self.core.data_failed, f"the points can't be made: {error}")
            return
        self.core.forget_data()
        self._feed(self.core.points_made, self._metered(points), grid.told())

    def _metered(self, points: Points) -> Points:
        meter = self._board.meter

        def kernel(
            block: "array[int]", count: int, n: int, centres: "array[int]", k: int, sums: "array[int]"
        ) -> None:
            meter.compute(count, k, n)
            accumulate(block, count, n, centres, k, sums)

        points.kernel = kernel
        return points


def _memory(content: bytes | None) -> dict[str, Any] | None:
    return None if content is None else json.loads(content)
