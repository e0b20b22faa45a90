"""`watch`: a network's topics, listened to until it is enough."""

import contextlib
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dcka.broker import NotAllowed
from dcka.monitor.events import Event
from dcka.monitor.state import NetworkState
from dcka.mqtt import Connection, Message, NotGranted
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import PayloadError

TOPICS = ("run", "dataset", "status/+", "step/+", "commit/+", "result/+")
RETAINED = ("run", "dataset", "status/+")
TURN_S = 0.25
# A broker may miss a retained message that crosses a SUBSCRIBE (docs/broker.md), so they are asked for again, as long
# after the (re)connect; not for ever: each time all of them come.
ASK_AGAIN_S = (0.5, 2.0)
# A broker that has just started may refuse for a moment.
REFUSED_S = 5.0
MORE_S = 1.0
# Who is woken for every message takes several times as long for it as who takes them by the dozen.
TOGETHER_S = 0.01
MOST_TOGETHER = 4000


class Listener(Protocol):
    """Who wants the messages themselves, and not only what happened: a recorder, say. Times are seconds since 1970."""

    def message(self, node: int, message: Message, events: list[Event], at: float) -> None:
        """A message that was of use, with the events that it brought."""

    def event(self, event: Event) -> None:
        """An event that no message brought."""

    def reconnected(self, at: float) -> None:
        """The broker was away, however short: what was said meanwhile is lost."""


class Tap(Protocol):
    """Who gets every message that was of use, with the guard held, and those of more topics than the state needs."""

    topics: Sequence[str]
    """Listened to besides TOPICS, where the broker lets us."""

    def take(self, node: int, message: Message) -> None:
        """A message of `<kind>/<node>`. May raise PayloadError, where it is of no use."""

    def refused(self, topic: str) -> None:
        """The broker does not let us listen to one of `topics`."""


def watch(
    connection: Connection,
    state: NetworkState,
    on_events: Callable[[list[Event]], None],
    limit_s: float | None = None,
    guard: AbstractContextManager[Any] | None = None,
    listener: Listener | None = None,
    tap: Tap | None = None,
) -> None:
    """Take in what comes over the connection, and hand on what happened, for `limit_s` seconds or until interrupted.

    `on_events` is called where something happened, and after what came together and in pauses, then with no events. An
    outage of the broker is an event, and so is its end. `guard` is held whenever the state changes, for other threads
    that look at it. `listener` is told first, and `tap` with the state; of statuses that wait together and differ only
    in their figures, all have the last. Raises NotAllowed where the broker is there, and refuses the user that it had
    let in.
    """
    _Watch(connection, state, on_events, guard or contextlib.nullcontext(), listener, tap).go(limit_s)


class _Watch:
    def __init__(
        self,
        connection: Connection,
        state: NetworkState,
        on_events: Callable[[list[Event]], None],
        guard: AbstractContextManager[Any],
        listener: Listener | None,
        tap: Tap | None,
    ) -> None:
        self._tap = tap
        self._connection = connection
        self._guard = guard
        self._state = state
        self._on_events = on_events
        self._listener = listener
        own = dict.fromkeys((topic.partition("/")[0] for topic in TOPICS), self._take)
        more = dict.fromkeys(
            (topic.partition("/")[0] for topic in (tap.topics if tap else ())), self._take_more
        )
        self._inbox = Inbox(
            connection,
            {**more, **own},
            on_reject=self._reject,
            on_reconnect=self._reconnected,
        )
        self._ask_at: list[float] = []

    def go(self, limit_s: float | None) -> None:
        """Until `limit_s` has passed."""
        began = time.monotonic()
        self._connection.subscribe(*TOPICS)
        self._subscribe_more()
        self._plan_asking()
        while limit_s is None or time.monotonic() - began < limit_s:
            left = TURN_S if limit_s is None else min(TURN_S, began + limit_s - time.monotonic())
            came = self._inbox.turn(max(0.0, left))
            if came:
                self._take_what_came()
            now = time.monotonic()
            with self._guard:
                events = self._state.broker_is(self._connection.connected, now, time.time())
            self._tell(events)
            if now - (self._connection.refused_at or now) > REFUSED_S:
                raise NotAllowed(
                    f"{self._connection.at} lets this user in no longer: if its password is a new one, start again"
                )
            if self._ask_at and now >= self._ask_at[0]:
                self._ask_at.pop(0)
                self._connection.ask(*RETAINED)
            if not came:
                self._tell([])

    def _take_what_came(self) -> None:
        """All that waits, and what comes in the next moment, together."""
        time.sleep(TOGETHER_S)
        _, repeated = self._inbox.turn_all(MOST_TOGETHER)
        if repeated:
            with self._guard:
                self._state.repeated(repeated)

    def _subscribe_more(self) -> None:
        for topic in self._tap.topics if self._tap else ():
            try:
                self._connection.subscribe(topic, timeout=MORE_S)
            except NotGranted:
                self._connection.unsubscribe(topic)
                if self._tap is not None:
                    self._tap.refused(topic)

    def _plan_asking(self) -> None:
        now = time.monotonic()
        self._ask_at = [now + after for after in ASK_AGAIN_S]

    def _take(self, node: int, message: Message) -> None:
        at = time.time()
        with self._guard:
            events = self._state.take(node, message, at)
            self._take_tapped(node, message)
        if self._listener is not None:
            self._listener.message(node, message, events, at)
        if events:
            self._on_events(events)

    def _take_more(self, node: int, message: Message) -> None:
        with self._guard:
            self._take_tapped(node, message)

    def _take_tapped(self, node: int, message: Message) -> None:
        if self._tap is not None:
            with contextlib.suppress(PayloadError):  # the state has told of it, if it was worth telling
                self._tap.take(node, message)

    def _reject(self, topic: str, reason: str) -> None:
        with self._guard:
            events = self._state.rejected(topic, reason, time.time())
        self._tell(events)

    def _reconnected(self) -> None:
        with self._guard:
            self._state.reconnected()
        if self._listener is not None:
            self._listener.reconnected(time.time())
        self._plan_asking()

    def _tell(self, events: list[Event]) -> None:
        """Events that no message brought."""
        if self._listener is not None:
            for event in events:
                self._listener.event(event)
        self._on_events(events)
