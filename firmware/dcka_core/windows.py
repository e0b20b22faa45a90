"""A node that senses makes its points out of its own readings, where a host asks for a window of them (protocol,
section 6, "Windows"). What that takes is loaded when it is asked for: `window`.
"""

from dcka_core.actions import MAKE
from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.node import Node
    from dcka_core.window import Source


class Windows:
    """The newest window that a node has heard of; one of `Node.others`, under `window`.

    segments: where the readings are. load: `parts.part`, or what does the same.
    """

    def __init__(self, segments: "Source", load: "Callable[[str], Any]") -> None:
        self._segments = segments
        self._load = load
        self._newest = 0
        self._told = b""

    def take(self, payload: "bytes | memoryview") -> None:
        """A record: it is looked at when there is time for it."""
        self._told = bytes(payload)

    def due(self, node: "Node", now: int) -> "list[Any]":
        """What makes the points, unless there are none to make, or a run that goes on needs the old ones."""
        if not self._told or (node.session and not node.session.done):
            return []
        told, self._told = self._told, b""
        try:
            window = self._load("window").Window(told, self._segments)
            if window.number < self._newest or (node.points and node.points.dataset == window.dataset):
                # An older one; or the retained record once more, after a restart or an outage.
                return []
            self._newest = window.number
            window.readings.count_them()
        except (OSError, CoreError) as error:
            return node.data_failed("the window can't be made: %s" % error, now)
        return [(MAKE, window.grid, window.readings)]
