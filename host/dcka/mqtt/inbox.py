"""What comes over a connection, sorted: each kind of topic to its handler, statuses into one table."""

import re
from collections.abc import Callable, Iterable, Mapping

from dcka.mqtt.channel import Channel
from dcka.mqtt.connection import Message, Reconnected
from dcka.mqtt.statuses import NodeStatus, PayloadError, Statuses

# A broker may miss a retained message that crosses a SUBSCRIBE (docs/broker.md): who waits asks again.
ASK_S = 0.5
MOST_LATE_S = 5.0

# What a status says anew each time. 18 digits: any such number is one that a status may say.
_FIGURES = re.compile(rb'"(?:step|rows|heap|free)":[0-9]{1,18}(?=[,}])|"ledger":\[[0-9,]*\]')
_OFFLINE = b'"offline"'  # a will has no figures of its own

Handler = Callable[[int, Message], None]


class Inbox:
    """The reader of a connection; one at a time, for a message is handed out once.

    `handlers`: by the first part of the topic, called with the node of `<kind>/<node>` (0 for a topic of one
    part) and the message; a PayloadError that one raises is counted, and goes to `on_reject` with the topic
    and the reason. What has no handler is passed over. `on_reconnect` is called after an outage. `heard_at`: by node,
    when its last status came live, by the connection's clock.
    """

    def __init__(
        self,
        connection: Channel,
        handlers: Mapping[str, Handler],
        on_status: Callable[[NodeStatus], None] = lambda status: None,
        on_reject: Callable[[str, str], None] = lambda suffix, reason: None,
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> None:
        self.connection = connection
        self.statuses = Statuses(connection.now)
        self.heard_at: dict[int, float] = {}
        self._status_texts: dict[int, bytes] = {}
        self._handlers = {"status": self._take_status, **handlers}
        self._on_status = on_status
        self._on_reject = on_reject
        self._on_reconnect = on_reconnect

    def turn(self, timeout: float) -> bool:
        """Take one message, waiting `timeout` s at most; whether there was one."""
        arrived = self.connection.next(timeout)
        if isinstance(arrived, Reconnected):
            self._on_reconnect()
        elif arrived is not None:
            self._dispatch(arrived)
        return arrived is not None

    def turn_all(self, most: int) -> tuple[int, int]:
        """Take what waits, `most` messages; how many there were, and how many of them were passed over.

        That is a live status where the next one of its node, which waits too, says the same but for its figures: who is
        behind has enough to do. What is new is never passed over, nor what a node said before it.
        """
        waiting: list[Message | Reconnected] = []
        while len(waiting) < most and (arrived := self.connection.next(0)) is not None:
            waiting.append(arrived)
        kept = without_repeated(waiting)
        for arrived in kept:
            if isinstance(arrived, Reconnected):
                self._on_reconnect()
            else:
                self._dispatch(arrived)
        return len(waiting), len(waiting) - len(kept)

    def drain(self) -> None:
        """Take all that the broker had sent before now."""
        self.connection.flush()
        while self.turn(0):
            pass

    def until(
        self,
        condition: Callable[[], bool],
        limit_s: float,
        *filters: str,
        ask: Callable[[], None] = lambda: None,
    ) -> bool:
        """Take messages until `condition` holds; False where it does not within `limit_s`.

        Every half a second what is retained on `filters` is asked for again, and `ask` is called; less often where the
        answers, of a thousand nodes on a slow machine say, take a second and more to work off.
        """
        clock = self.connection.now
        deadline = clock() + limit_s
        again = clock() + ASK_S
        while not condition():
            now = clock()
            if now >= deadline:
                return False
            if now < again:
                self.turn(min(deadline, again) - now)
            # First what has come already; but who publishes without a pause shall not keep us from asking.
            elif now - again > MOST_LATE_S or not self.turn(0):
                # As long again as it took to get so far: asking takes half the time at most.
                again = now + ASK_S + (now - again)
                if filters:
                    self.connection.ask(*filters)
                ask()
        return True

    def _dispatch(self, message: Message) -> None:
        kind, _, rest = message.suffix.partition("/")
        handler = self._handlers.get(kind)
        if handler is None:
            return
        try:
            # Of `x/<phase>/<node>` the last part is the node.
            handler(_node(rest.rpartition("/")[2] if kind == "x" else rest), message)
        except PayloadError as error:
            self.connection.reject(message.suffix, str(error))
            self._on_reject(message.suffix, str(error))

    def _take_status(self, node: int, message: Message) -> None:
        # What is asked for again mostly says nothing new, and of a thousand nodes would take long to read.
        if message.retained and self._status_texts.get(node) == message.payload:
            return
        status = self.statuses.take(node, message.payload, message.retained)
        if status is not None and not message.retained:
            self.heard_at[node] = message.at
        if status is not None:
            self._status_texts[node] = message.payload
            self._on_status(status)


def without_repeated(waiting: Iterable[Message | Reconnected]) -> list[Message | Reconnected]:
    """Without each live status whose node's next one in the list says the same but for its figures."""
    kept: list[Message | Reconnected] = []
    following: dict[str, bytes] = {}
    for arrived in reversed(list(waiting)):
        if isinstance(arrived, Reconnected):
            following.clear()
        elif arrived.suffix.startswith("status/"):
            if arrived.retained or _OFFLINE in arrived.payload:
                following.pop(arrived.suffix, None)  # it stands between the two
            else:
                bare = _FIGURES.sub(b"", arrived.payload)
                if following.get(arrived.suffix) == bare:
                    continue
                following[arrived.suffix] = bare
        kept.append(arrived)
    return kept[::-1]


def _node(rest: str) -> int:
    if not rest:
        return 0
    if (
        rest.isascii()
        and rest.isdigit()
        and len(rest) <= 5
        and not rest.startswith("0")
        and int(rest) <= 65535
    ):
        return int(rest)
    raise PayloadError("its topic names no node")
