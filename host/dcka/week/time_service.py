"""The host's word on what time it is: a beacon for whoever says that it is there."""

from dcka.emulation.virtual.broker import Session
from dcka.emulation.virtual.timeline import US_PER_S
from dcka.emulation.virtual.world import World
from dcka.mqtt.connection import encoded
from dcka.runs.pace import beacon, unix

TIME = "time"
# No client's id, and neither the host's nor a node's.
_CLIENT = -1
_RETRY_S = 1
# One beacon serves all who came in this time: nodes wake together, and each says several things.
_AT_MOST_EVERY_S = 1.5
_GONE = (b'"state":"asleep"', b'"state": "asleep"', b'"state":"offline"', b'"state": "offline"')


class TimeService:
    """A client of its own at the world's broker."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._due = False
        self._connect()

    def _connect(self) -> None:
        broker = self._world.broker
        session = broker.connect(_CLIENT, self._take, self._lost)
        if session is None:
            self._world.timeline.after(_RETRY_S * US_PER_S, self._connect)
            return
        self._session: Session = session
        broker.subscribe(session, "status/+")

    def _lost(self) -> None:
        self._world.timeline.after(_RETRY_S * US_PER_S, self._connect)

    def _take(self, suffix: str, payload: bytes, retained: bool) -> None:
        if retained or self._due or any(word in payload for word in _GONE):
            return
        self._due = True
        self._world.timeline.after(round(_AT_MOST_EVERY_S * US_PER_S), self._say)

    def _say(self) -> None:
        self._due = False
        record = beacon(unix(self._world.start_s) + self._world.timeline.now_s)
        self._world.broker.publish(_CLIENT, TIME, encoded(record), False)
