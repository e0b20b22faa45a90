"""The host's way to a simulated network: while the host waits, its time passes."""

from collections import Counter, deque
from collections.abc import Mapping

from dcka.emulation.virtual.broker import Broker
from dcka.emulation.virtual.timeline import US_PER_S, Timeline
from dcka.mqtt.connection import ConnectionLost, Message, Reconnected, encoded

HOST = 0
RECONNECT_S = 1.0
_LATE = "the broker did not confirm what was sent to it"


class VirtualChannel:
    """A `dcka.mqtt.channel.Channel` at `broker`. `now` is the host's clock, which is right: it is what nodes learn."""

    def __init__(self, network: str, broker: Broker, timeline: Timeline) -> None:
        self.network = network
        self.rejected: Counter[tuple[str, str]] = Counter()
        self._broker = broker
        self._timeline = timeline
        self._arrived: deque[Message | Reconnected] = deque()
        self._filters: dict[str, None] = {}
        self._session = broker.connect(HOST, self._take, self._lost)

    @property
    def url(self) -> str:
        return "the simulated broker"

    def now(self) -> float:
        return self._timeline.now_s

    # ---- out ----

    def publish(self, suffix: str, payload: bytes | str | Mapping[str, object], retain: bool = False) -> bool:
        """As `Connection.publish`."""
        if self._session is None:
            return False
        data = encoded(payload) if isinstance(payload, Mapping) else payload
        self._broker.publish(HOST, suffix, data.encode() if isinstance(data, str) else data, retain)
        return True

    def flush(self, timeout: float = 5.0) -> None:
        """As `Connection.flush`: an outage is waited for. Raises ConnectionLost."""
        until = self._timeline.now_us + round(timeout * US_PER_S)
        if not self._timeline.run_until(until, lambda: self._session is not None):
            raise ConnectionLost(_LATE)

    # ---- in ----

    def subscribe(self, *suffixes: str) -> None:
        self._filters.update(dict.fromkeys(suffixes))
        self.ask(*suffixes)

    def ask(self, *suffixes: str) -> None:
        if self._session is not None:
            for suffix in suffixes:
                self._broker.subscribe(self._session, suffix)

    def unsubscribe(self, *suffixes: str) -> None:
        for suffix in suffixes:
            self._filters.pop(suffix, None)
            if self._session is not None:
                self._broker.unsubscribe(self._session, suffix)

    def next(self, timeout: float) -> Message | Reconnected | None:
        """Let the network live until something comes, or `timeout` s of its time are over."""
        if not self._arrived and timeout > 0:
            until = self._timeline.now_us + max(1, round(timeout * US_PER_S))
            self._timeline.run_until(until, self._arrived.__len__)
        return self._arrived.popleft() if self._arrived else None

    def reject(self, suffix: str, reason: str) -> None:
        self.rejected[suffix, reason] += 1

    # ---- the connection ----

    def _lost(self) -> None:
        self._session = None
        self._timeline.after(round(RECONNECT_S * US_PER_S), self._connect)

    def _connect(self) -> None:
        session = self._broker.connect(HOST, self._take, self._lost)
        if session is None:
            self._timeline.after(round(RECONNECT_S * US_PER_S), self._connect)
            return
        self._session = session
        for suffix in self._filters:
            self._broker.subscribe(session, suffix)
        self._arrived.append(Reconnected(self.now()))

    def _take(self, suffix: str, payload: bytes, retained: bool) -> None:
        self._arrived.append(Message(suffix, payload, retained, self.now()))
