"""`dcka demo --web`: the monitor's page beside the demonstration, and after it for as long as somebody looks."""

import contextlib
import threading
import time
from collections.abc import Iterator
from threading import Lock
from typing import Any, cast

from dcka.check import Verdict
from dcka.cli.monitor_web import Wish, page
from dcka.cli.output import Output
from dcka.config import Config
from dcka.demo.play import View
from dcka.demo.stage import Stage
from dcka.inject.dataset import Dataset
from dcka.monitor import Event, NetworkState, watch
from dcka.mqtt import Connection
from dcka.web.control import Control
from dcka.web.live import Live
from dcka.web.points import sample
from dcka.web.verdicts import verdict_record

JOIN_S = 5.0
WHY = (
    "This network is a demonstration, and makes its own runs. For one of your own: dcka init, dcka broker, "
    "dcka emulate, dcka inject, and dcka monitor --web."
)


class _Over(Exception):
    """The demonstration is."""


class Beside:
    """What `dcka.demo.play` has beside it: the page of its network. `view`: tells the other view, and the page."""

    def __init__(self, wish: Wish, view: View, output: Output) -> None:
        self.view = cast(View, _Telling(view, self))
        self._wish = wish
        self._output = output
        self._over = threading.Event()
        self.live: Live | None = None
        self.dataset: Dataset | None = None

    @contextlib.contextmanager
    def network(self, up: Stage, config: Config) -> Iterator[None]:
        """The page of the network that is up; at the end of the block, which did not fail, until Ctrl-C."""
        state, guard = NetworkState(config.network.name, config.ids), Lock()
        control = Control(None, WHY)
        url = up.connection.url
        with (
            Connection(url, config.network.name, role="monitor") as connection,
            page(self._wish, state, str(url), guard, control, points=self._points) as live,
        ):
            self.live = live
            listening = threading.Thread(
                target=self._listen, args=(connection, state, live, guard), name="monitor", daemon=True
            )
            listening.start()
            try:
                yield
                self._output.say("the network stays up for the page; Ctrl-C ends it")
                with contextlib.suppress(KeyboardInterrupt):
                    while True:
                        time.sleep(0.5)
                        up.require_alive()
            finally:
                self._over.set()
                listening.join(JOIN_S)

    def _listen(self, connection: Connection, state: NetworkState, live: Live, guard: Lock) -> None:
        def tell(events: list[Event]) -> None:
            live.tell(events)
            if self._over.is_set():
                raise _Over

        with contextlib.suppress(_Over):
            watch(connection, state, tell, guard=guard, tap=live)

    def _points(self, dataset: str) -> dict[str, Any] | None:
        held = self.dataset
        return sample(held) if held is not None and held.id.hex() == dataset else None


class _Telling:
    """A view that hands everything on, and keeps for the page what that needs."""

    def __init__(self, view: View, beside: Beside) -> None:
        self._view = view
        self._beside = beside

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def held(self, dataset: Dataset) -> None:
        """What the nodes hold."""
        self._beside.dataset = dataset
        self._view.held(dataset)

    def ended(self, kind: str, figures: dict[str, Any], verdict: Verdict) -> None:
        """A run has ended, and was checked."""
        if self._beside.live is not None:
            self._beside.live.verdict(figures["run"], verdict_record(verdict))
        self._view.ended(kind, figures, verdict)
