"""A version on trial: has it joined the network, and does it stay? Loaded on a board's trial alone.

It has joined when its own status has come back from the broker: it can publish and listen. Then it has to stay for a
while; a run that begins meanwhile has to end first, for that is what a node is for. trial.py, which belongs to the
version before, looks on from outside: it goes back after some starts, or some time, in which nothing came of it.
"""

from dcka_core import ticks
from dcka_device.console import say
from dcka_device.version_files import VersionFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.node import Node
    from dcka_device.console import Console

_STAY_S = 30
_LIMIT_S = 600


class Probation:
    """`is_over` is asked in every turn. last: the folder to go back to. back: goes back to it, at the next restart."""

    def __init__(
        self,
        folder: str,
        last: str,
        back: "Callable[[str], None]",
        settings: "dict[str, Any]",
        node: "Node",
        console: "Console",
        clock: "Callable[[], int]",
    ) -> None:
        limits = settings.get("update") or {}
        self._stay_ms = limits.get("stay_s", _STAY_S) * 1000
        self._limit_ms = limits.get("limit_s", _LIMIT_S) * 1000
        self._folder = folder.strip("/")
        self._last = last.strip("/")
        self._back = back
        self._node = node
        self._console = console
        self._clock = clock
        self._began = clock()
        self._settled: int | None = None
        say("version %s is on trial" % self._folder)

    def is_over(self) -> bool:
        """Whether the version has joined and stayed; it then is what main.py starts. Restarts where it is too late."""
        now = self._clock()
        node = self._node
        if self._settled is None:
            if node.settled:
                self._settled = now
            elif ticks.diff(now, self._began) > self._limit_ms:
                self._go_back()
            return False
        since = ticks.diff(now, self._settled)
        running = node.session is not None and not node.session.done
        if since < self._stay_ms or (running and since < self._limit_ms // 2):
            return False
        self._joined()
        return True

    def _joined(self) -> None:
        VersionFiles(self._folder, lambda: None).joined(self._last)
        self._console.told = False
        say("version %s has joined" % self._folder)

    def _go_back(self) -> None:
        """As trial.py does it where the chip has a timer."""
        self._back("did not join within %d s" % (self._limit_ms // 1000))
        # The guard lets it pass: a soft reset, with what main.py names now.
        raise SystemExit
