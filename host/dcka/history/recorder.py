"""`Recorder`: writes what a monitor sees into a history, in a thread of its own, in batches."""

import threading
import time
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

from sqlalchemy.exc import SQLAlchemyError

from dcka.history.batch import Batch
from dcka.history.database import passes, reason
from dcka.history.history import History
from dcka.history.store import Store
from dcka.history.transcriber import Transcriber, gap_row
from dcka.monitor.events import Event
from dcka.mqtt import Message

FLUSH_S = 0.2
"""What comes is written after so long at the latest: all that a monitor that is killed may lose."""
SEEN_S = 2.0
"""How often a monitor says that it lives; where it was killed, its gap begins up to so long before."""
AGAIN_S = (0.5, 10.0)
"""Pauses between attempts to write where the place refuses: each twice as long as the one before."""
MOST_WAITING = 200_000
"""Rows and messages kept in memory while nothing can be written; some 200 MB at the worst."""
PATIENCE_S = 1.5
"""Trouble that is over sooner, another writer's lock say, is not worth a word."""
CLOSE_S = 5.0

Say = Callable[[str, bool], None]
"""Called from the recorder's thread with a sentence, and whether it is bad."""


class _Heard(NamedTuple):
    node: int
    message: Message
    events: tuple[Event, ...]
    at: float


class Recorder:
    """`with Recorder(history, network, say) as recorder: watch(…, listener=recorder)`.

    Its methods but `flush` return at once, and never raise: a network is watched whether or not it can be recorded.
    `written`: rows that are in the database; `written_at`: since when; `lost`: messages for which there was no room;
    `trouble`: why nothing can be written at the moment, or "".
    """

    def __init__(
        self, history: History, network: str, say: Say = lambda text, bad: None, most: int = MOST_WAITING
    ) -> None:
        self.session = uuid.uuid4().hex
        self.written = 0
        self.written_at = 0.0
        self.lost = 0
        self.trouble = ""
        self._network = network
        self._where = history.name
        self._store = Store(history.engine)
        self._transcriber = Transcriber(network, self.session)
        self._say = say
        self._most = most
        self._changed = threading.Condition()
        self._heard: list[_Heard | Event | float] = []
        self._taken = self._made = self._done = 0
        self._closing = False
        self._pending = Batch()
        self._began_at = time.time()
        self._opened = False
        self._seen_at = 0.0
        self._failing_since: float | None = None
        self._told = False
        self._full_at: float | None = None
        self._thread = threading.Thread(target=self._work, name="history", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- what is to be written: the listener of dcka.monitor.watch ----

    def message(self, node: int, message: Message, events: list[Event], at: float) -> None:
        """A message that the monitor took, and the events that came of it. `at`: seconds since 1970."""
        self._put(_Heard(node, message, tuple(events), at))

    def event(self, event: Event) -> None:
        """An event that no message brought."""
        self._put(event)

    def reconnected(self, at: float) -> None:
        """The broker was away, however short."""
        self._put(at)

    def _put(self, one: "_Heard | Event | float") -> None:
        with self._changed:
            if len(self._heard) >= self._most:
                self.lost += 1
                self._full_at = self._full_at or time.time()
                return
            self._heard.append(one)
            self._taken += 1
            if len(self._heard) == 1:
                self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until all that was handed over before is written; whether it is."""
        with self._changed:
            wanted = self._taken
            return self._changed.wait_for(lambda: self._done >= wanted, timeout)

    def close(self) -> None:
        """Write what there is, and end; within some seconds, whatever the database does."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(CLOSE_S)

    # ---- the thread ----

    def _work(self) -> None:
        pause = AGAIN_S[0]
        try:
            while not self._waited(FLUSH_S / 2):
                if self._turn():
                    pause = AGAIN_S[0]
                    continue
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, pause)
                pause = min(2 * pause, AGAIN_S[1])
            self._turn(last=True)
        except BaseException as error:
            # A fault of ours: the thread's traceback is shown, and the monitor goes on without us.
            self.trouble = f"a fault of dcka: {error!r}"
            self._say(f"nothing more goes into the history {self._where}: {self.trouble}", True)
            raise
        finally:
            self._store.close()

    def _waited(self, gather_s: float) -> bool:
        """Wait for something to come, and for more to come with it; whether this is the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or bool(self._heard), SEEN_S)
            return self._changed.wait_for(lambda: self._closing, gather_s)

    def _turn(self, last: bool = False) -> bool:
        """Make rows of what has come, and write them; whether that went well."""
        self._make_rows()
        now = time.time()
        if not last and not len(self._pending) and now - self._seen_at < SEEN_S:
            return True
        self._pending.session = {
            "id": self.session,
            "network": self._network,
            "began_at": self._began_at,
            "seen_at": now,
            "ended_at": now if last else None,
        }
        try:
            self._open()
            self._write()
        except SQLAlchemyError as error:
            self._fails(reason(error))
            return False
        self._seen_at = now
        self._is_well(now)
        return True

    def _make_rows(self) -> None:
        if len(self._pending) >= self._most:
            return  # what comes waits as it is, and has its own limit
        with self._changed:
            heard, self._heard = self._heard, []
        for one in heard:
            if isinstance(one, _Heard):
                self._transcriber.message(one.node, one.message, one.at, one.events)
            elif isinstance(one, Event):
                self._transcriber.event(one)
            else:
                self._transcriber.reconnected(one)
        self._pending.add(self._transcriber.take())
        self._made += len(heard)

    def _open(self) -> None:
        """Once: mark what no monitor has seen before this one."""
        if self._opened:
            return
        before = self._store.last_seen(self._network)
        if before is not None and before < self._began_at:
            gap = gap_row(self._network, "monitor", self.session, before, self._began_at)
            self._pending.gaps.append(gap)
        self._opened = True

    def _write(self) -> None:
        """The pending rows, as one; row by row where the database refuses one of them for what it is."""
        count, refused = len(self._pending), 0
        try:
            self._store.write(self._pending)
        except SQLAlchemyError as error:
            if passes(error):
                raise
            for part in self._pending.divided():
                try:
                    self._store.write(part)
                except SQLAlchemyError as worse:
                    if passes(worse):
                        raise
                    refused += 1
                    told = f"the history {self._where} refuses a row: {reason(worse)}"
            if refused:
                self._say(f"{told} ({refused} of {count} rows)", True)
        self._pending = Batch()
        with self._changed:
            self.written += count - refused
            if count:
                self.written_at = time.time()
            self._done = self._made
            self._changed.notify_all()

    def _fails(self, why: str) -> None:
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        self.trouble = why
        if not self._told and now - self._failing_since >= PATIENCE_S:
            self._told = True
            self._say(
                f"the history {self._where} cannot be written: {why}; the monitor goes on, keeps what comes in memory,"
                f" up to {self._most:,} messages, and writes it when that is over",
                True,
            )

    def _is_well(self, now: float) -> None:
        self._failing_since, self.trouble = None, ""
        lost = self.lost
        if self._full_at is not None:
            self._transcriber.lost(self._full_at, now)
            self._full_at = None
        if self._told:
            self._told = False
            what = f"{lost:,} messages were lost" if lost else "nothing was lost"
            self._say(f"the history {self._where} is written again; {what}", bool(lost))
