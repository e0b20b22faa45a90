"""The pace of clusterings, and the time: what nodes that sleep deeply go by (docs/protocol.md, section 8).

The pace is retained. The time can't be: the host says it to everybody whenever a node has said something of itself, for
whoever has just woken speaks first.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from dcka.broker import BrokerUrl
from dcka.errors import UsageError
from dcka.mqtt import Connection, Message, NodeStatus
from dcka.mqtt.inbox import Inbox
from dcka.mqtt.statuses import ASLEEP, PayloadError, read_object
from dcka_core.clock import MOST_S, UNIX_2020
from dcka_core.errors import CoreError
from dcka_core.rota import Pace, read_pace

LEAST_S = 10
MOST_PACE_S = 31 * 86_400
# Nodes of a network wake together: one answer is for all whose status came in so short a time.
_TOGETHER_S = 0.1
_TURN_S = 0.2
_ASK_S = 2.0


def seconds(unix: float) -> int:
    """Whole seconds since 2020-01-01 00:00 UTC."""
    return int(unix) - UNIX_2020


def unix(second: int) -> float:
    """The same as time.time() has it."""
    return float(second + UNIX_2020)


def beacon(now: float) -> dict[str, object]:
    """The record on `time`. `now`: by time.time()."""
    ms = round(now * 1000) - UNIX_2020 * 1000
    return {"v": 1, "time": ms // 1000, "ms": ms % 1000}


def pace_of(every_s: int, at: int, awake_s: int) -> Pace:
    """A pace that is fit to be published; times in s, `at` since 2020. Raises UsageError."""
    if not LEAST_S <= every_s <= MOST_PACE_S:
        raise UsageError(f"a pace of {every_s} s: it must be {LEAST_S} s to {MOST_PACE_S} s")
    if not 1 <= awake_s <= 3600:
        raise UsageError(f"{awake_s} s to wait for a clustering: it must be 1 to 3600")
    if not 0 < at < MOST_S:
        raise UsageError("the first clustering must be between 2020 and 2054")
    return Pace(every_s, at, awake_s)


def publish(connection: Connection, pace: Pace | None, limit_s: float = 5.0) -> None:
    """Say the pace to all nodes, and to those that come later; None: there is none, and nodes stay awake.

    Raises ConnectionLost.
    """
    record: dict[str, object] = {"v": 1, "every_s": 0, "at": 0, "awake_s": 0}
    if pace is not None:
        record = {"v": 1, "every_s": pace.every_s, "at": pace.at, "awake_s": pace.awake_s, "done": pace.done}
    connection.publish("pace", record, retain=True)
    connection.flush(limit_s)


def published(connection: Connection, limit_s: float = _ASK_S) -> Pace | None:
    """The pace that the broker keeps; None where there is none."""
    found: list[Pace | None] = []

    def take(_node: int, message: Message) -> None:
        try:
            found.append(read_pace(read_object(message.payload)) if message.payload else None)
        except CoreError as error:
            raise PayloadError(str(error)) from error

    inbox = Inbox(connection, {"pace": take})
    connection.subscribe("pace")
    inbox.until(lambda: bool(found), limit_s, "pace")
    connection.unsubscribe("pace")
    return found[-1] if found else None


@dataclass
class Timekeeper:
    """Says the time on a connection of its own whenever a node speaks. `told`: how often it has."""

    connection: Connection
    told: int = 0

    def __post_init__(self) -> None:
        self._due: float | None = None
        self._inbox = Inbox(self.connection, {}, self._take)
        self.connection.subscribe("status/+")
        # Those that are awake already have said so before.
        self._say()

    def turn(self, timeout: float = _TURN_S) -> None:
        """Take what has come, waiting `timeout` s at most, and answer it."""
        if self._due is not None:
            timeout = min(timeout, max(0.0, self._due - time.monotonic()))
        self._inbox.turn(timeout)
        if self._due is not None and time.monotonic() >= self._due:
            self._say()

    def _take(self, status: NodeStatus) -> None:
        if status.online and status.state != ASLEEP and self._due is None:
            self._due = time.monotonic() + _TOGETHER_S

    def _say(self) -> None:
        self._due = None
        if self.connection.publish("time", beacon(time.time())):
            self.told += 1


@contextlib.contextmanager
def timekeeping(url: BrokerUrl, network: str) -> Iterator[Timekeeper]:
    """A Timekeeper in a thread of its own while the block runs. Raises BrokerUnavailable."""
    ended = threading.Event()
    with Connection(url, network, role="time") as connection:
        keeper = Timekeeper(connection)

        def keep() -> None:
            while not ended.is_set():
                keeper.turn()

        thread = threading.Thread(target=keep, name="timekeeper", daemon=True)
        thread.start()
        try:
            yield keeper
        finally:
            ended.set()
            thread.join(2.0)


@dataclass
class Paced:
    """A network that goes by a pace, while a host calls its clusterings: `next` says which and when, `finished` lets
    the nodes sleep."""

    connection: Connection
    pace: Pace

    def next(self) -> tuple[int, float]:
        """(number, when by time.time()) of the next clustering that the host is not late for."""
        return next_start(self.pace, time.time())

    def finished(self, number: int) -> None:
        """Clustering `number` is over, whatever came of it: nobody has to wait for it. Raises ConnectionLost."""
        self.pace.done = max(self.pace.done, number)
        publish(self.connection, self.pace)


@contextlib.contextmanager
def paced(url: BrokerUrl, network: str, pace: Pace) -> Iterator[Paced]:
    """Say the pace, and the time to whoever wakes, while the block runs. After it the pace stays: nodes wake for
    whoever calls the next clustering. Raises BrokerUnavailable, ConnectionLost."""
    with timekeeping(url, network), Connection(url, network, role="pace") as connection:
        publish(connection, pace)
        yield Paced(connection, pace)


def next_start(pace: Pace, now: float) -> tuple[int, float]:
    """(number, when by time.time()) of the next clustering that the host is not late for."""
    number = max(pace.number_at(seconds(now) + 1), pace.done + 1)
    return number, unix(pace.start_of(number))
