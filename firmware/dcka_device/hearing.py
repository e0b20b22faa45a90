"""What the host says to sleepers: the pace of clusterings, and the time (protocol, section 8)."""

from json import loads

from dcka_core.clock import read_beacon
from dcka_core.errors import CoreError
from dcka_core.rota import read_pace
from dcka_device.night import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.node import Node
    from dcka_device.link import Link
    from dcka_device.night import Night


class Word:
    """Gives a night what the host says. heard: whether it has said the time, since this was last made False."""

    def __init__(self, night: "Night", prefix: str) -> None:
        self.heard = False
        self._night = night
        self._pace = prefix + "pace"
        self._time = prefix + "time"
        self._node: Any = None
        self._keep: Any = None

    def listen(self, link: "Link", node: "Node") -> None:
        """Take out of what the link brings what is for us; the node would count it as a stranger's."""
        self._node = node
        self._keep = link.client.on_message
        link.client.on_message = self._hear
        link.subscribe(self._pace)
        link.subscribe(self._time)

    def _hear(self, topic: str, payload: bytes) -> None:
        """In the client's callback, in which nothing may be raised."""
        if topic not in (self._pace, self._time):
            self._keep(topic, payload)
            return
        try:
            record = loads(payload)
            if not isinstance(record, dict):
                raise CoreError("no object")
            if topic == self._pace:
                self._night.rota.take_pace(read_pace(record))
            else:
                self._take_time(record)
        except (CoreError, ValueError, RuntimeError):  # RuntimeError: brackets, deeper than the parser goes
            self._node.count("json")

    def _take_time(self, record: "dict[str, Any]") -> None:
        second, ms = read_beacon(record)
        if self._night.clock.hear(second, ms, now()):
            self.heard = True
            self._night.set_system()
