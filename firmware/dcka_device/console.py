"""What a board says on its serial port: one line for each thing that changes. Only boards load it.

`dcka board provision` waits for these lines, `logs` shows them, docs/boards.md explains them: change them together.
"""

from chumicro_mqtt.client import ProtocolState

from dcka_core import ticks
from dcka_core.voice import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dcka_core.node import Node
    from dcka_device.link import Link

# The same failure is said again only after a minute: a broker that is away is asked every two seconds.
_AGAIN_MS = 60000


def say(text: str) -> None:
    """One line."""
    print("dcka: " + text)


class Console:
    """Compares what is with what was said last."""

    def __init__(self, settings: "dict[str, Any]", boot: int, folder: str = "") -> None:
        self._folder = folder
        # Whether the broker knows which version this is.
        self.told = False
        self._broker = settings["broker"]
        self._troubles: dict[str, int] = {}
        self._connecting = False
        self._ready = False
        self._data = ""
        say("node %d of %s, boot %d, firmware %s" % (settings["node"], settings["network"], boot, VERSION))

    def look(self, link: "Link", node: "Node", now: int) -> None:
        """Say what has changed since the last look."""
        self._look_at_data(node)
        state = link.client.state
        if state == ProtocolState.CONNECTED:
            self._troubles = {}
            self._connecting = False
        elif state == ProtocolState.FAILED:
            self._ready = False
            self._tell(_trouble_of(link), now)
        elif not self._connecting and not self._troubles:
            self._connecting = True
            say("broker connecting " + self._address())
        if link.up and node.settled and not self._ready:
            self._ready = True
            self.told = False
            say("ready")
        if self._ready and not self.told:
            self.told = True
            self._tell_version(link, node)

    def _tell_version(self, link: "Link", node: "Node") -> None:
        if not self._folder:
            return
        try:
            from dcka_device.version_word import tell

            tell(link, node, self._folder)
        except MemoryError:  # a small heap in a run has no room: it is told when the board gets ready again
            pass

    def _look_at_data(self, node: "Node") -> None:
        if node.problem.startswith("the data can't"):
            data = "data refused: " + node.problem
        elif node.points:
            data = "data %d points" % node.points.count
        elif self._data.startswith("data refused"):
            return
        else:
            data = "no data"
        if data != self._data:
            self._data = data
            say(data)

    def _tell(self, trouble: str, now: int) -> None:
        if self._broker.get("others"):
            trouble += " at " + self._address()
        elif trouble not in self._troubles:
            self._troubles = {}
        said_at = self._troubles.get(trouble)
        if said_at is None or ticks.diff(now, said_at) >= _AGAIN_MS:
            self._troubles[trouble] = now
            self._connecting = False
            say("broker failed: " + trouble)

    def _address(self) -> str:
        return "%s:%d" % (self._broker["host"], self._broker["port"])


def _trouble_of(link: "Link") -> str:
    """One of the words that people look up, and what the client says."""
    error: Any = link.client.last_error
    code = getattr(error, "return_code", None)
    if code in (4, 5):
        return "login"
    if code is not None:
        return "unavailable (%s)" % error
    connector: Any = link.connector
    if connector is None:
        return "closed (%s)" % error
    return "%s (%s)" % (connector.reason, connector.last_error or error)
