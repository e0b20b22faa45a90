"""An MQTT broker in memory: subscriptions, what is retained, wills, outages; QoS 0."""

from collections.abc import Callable
from dataclasses import dataclass, field

from dcka.emulation.virtual.air import Air
from dcka.emulation.virtual.timeline import US_PER_S, Timeline

KEEPALIVE_S = 10
"""As the nodes' own; a silent client is given up after one and a half of it (MQTT 3.1.1, section 3.1.2.10)."""

Deliver = Callable[[str, bytes, bool], None]
"""(suffix of the topic, payload, whether it was retained)."""


@dataclass(eq=False)
class Session:
    """A client's connection. `client`: a node's id, 0 for the host. `will`: (suffix, payload), retained; None for none.

    `on_lost`: called where the broker goes away.
    """

    client: int
    deliver: Deliver
    on_lost: Callable[[], None]
    will: tuple[str, bytes] | None = None
    filters: dict[str, None] = field(default_factory=dict)
    open: bool = True
    arrives_us: int = 0

    def take(self, suffix: str, payload: bytes, retained: bool) -> None:
        """A message is there; it is for nobody where the connection has ended meanwhile."""
        if self.open:
            self.deliver(suffix, payload, retained)


class Broker:
    """One network's topics, without their prefix. A filter is a topic, or ends in `/+`.

    What one client sends on a topic reaches another in its order, unless the air turns it round. `refused`: connections
    that were tried while it was away.
    """

    def __init__(self, timeline: Timeline, air: Air) -> None:
        self.retained: dict[str, bytes] = {}
        self.up = True
        self.refused = 0
        self._timeline = timeline
        self._air = air
        self._sessions: dict[int, Session] = {}
        self._hearers: dict[str, dict[int, Session]] = {}
        self._unreachable: set[int] = set()

    # ---- connections ----

    def connect(
        self,
        client: int,
        deliver: Deliver,
        on_lost: Callable[[], None] = lambda: None,
        will: tuple[str, bytes] | None = None,
    ) -> Session | None:
        """A connection; None while the broker is away. An older one of the client ends, and its will is published."""
        if not self.up or client in self._unreachable:
            self.refused += 1
            return None
        self._end(client, with_will=True)
        session = self._sessions[client] = Session(client, deliver, on_lost, will)
        return session

    def leave(self, session: Session) -> None:
        """A DISCONNECT: no will."""
        if session.open and self._sessions.get(session.client) is session:
            self._end(session.client, with_will=False)

    def silent(self, session: Session) -> None:
        """The client is gone without a word: its will comes when the keepalive has passed, unless it is back before."""
        session.deliver = _nobody
        session.on_lost = _nothing
        self._timeline.after(KEEPALIVE_S * 3 * US_PER_S // 2, self._give_up, session)

    def _give_up(self, session: Session) -> None:
        if session.open and self._sessions.get(session.client) is session:
            self._end(session.client, with_will=True)

    def _end(self, client: int, with_will: bool) -> None:
        session = self._sessions.pop(client, None)
        if session is None:
            return
        session.open = False
        for suffix in session.filters:
            self._hearers[suffix].pop(client, None)
        if with_will and session.will is not None:
            self.publish(client, *session.will, True)

    def go_away(self, forget: bool) -> None:
        """An outage begins; where it `forget`s, what was retained is gone when it is back. There are no wills."""
        self.up = False
        sessions, self._sessions = list(self._sessions.values()), {}
        self._hearers.clear()
        if forget:
            self.retained.clear()
        for session in sessions:
            session.open = False
            session.on_lost()

    def come_back(self) -> None:
        self.up = True

    def out_of_reach(self, client: int) -> None:
        """The client's radio reaches nobody any more: it notices, and the broker after its keepalive."""
        self._unreachable.add(client)
        session = self._sessions.get(client)
        if session is not None:
            lost = session.on_lost
            self.silent(session)
            lost()

    def within_reach(self, client: int) -> None:
        self._unreachable.discard(client)

    # ---- messages ----

    def subscribe(self, session: Session, suffix: str) -> None:
        """Listen; what is retained comes at once, once more where it was subscribed before."""
        if not session.open:
            return
        session.filters[suffix] = None
        self._hearers.setdefault(suffix, {})[session.client] = session
        for known in self._matching(suffix):
            self._deliver(session, known, self.retained[known], True, self._air.way_us())

    def unsubscribe(self, session: Session, suffix: str) -> None:
        session.filters.pop(suffix, None)
        if session.open:
            self._hearers.get(suffix, {}).pop(session.client, None)

    def publish(self, sender: int, suffix: str, payload: bytes, retain: bool) -> list[int]:
        """Take a message; the clients that it goes to. An empty retained one removes what was kept."""
        if not self.up:
            return []
        if retain and payload:
            self.retained[suffix] = payload
        elif retain:
            self.retained.pop(suffix, None)
        hearers = self._hearers.get(suffix, {})
        wild = self._hearers.get(f"{suffix.rpartition('/')[0]}/+")
        if wild:
            hearers = {**hearers, **wild}
        now_s, reached = self._timeline.now_s, []
        for client in sorted(hearers):
            delays = self._air.delays_us(sender, client, suffix, now_s)
            for delay in delays:
                self._deliver(hearers[client], suffix, payload, False, delay)
            if delays:
                reached.append(client)
        return reached

    def _matching(self, wanted: str) -> list[str]:
        if not wanted.endswith("/+"):
            return [wanted] if wanted in self.retained else []
        return [known for known in self.retained if known.rpartition("/")[0] == wanted[:-2]]

    def _deliver(self, session: Session, suffix: str, payload: bytes, retained: bool, delay_us: int) -> None:
        # TCP keeps the order of what has not been held up by the air.
        arrives = self._timeline.now_us + delay_us
        if delay_us < _HELD_UP_US:
            arrives = session.arrives_us = max(arrives, session.arrives_us)
        self._timeline.at(arrives, session.take, suffix, payload, retained)


_HELD_UP_US = 100_000


def _nobody(suffix: str, payload: bytes, retained: bool) -> None:
    """What comes for a client that is gone."""


def _nothing() -> None:
    """Whom it would be told to is gone."""
