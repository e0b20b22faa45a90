"""What a network is doing: `state` (messages in, events out), `watch` (over a connection), `table` (on a terminal)."""

from dcka.monitor.events import Event
from dcka.monitor.state import NetworkState
from dcka.monitor.watch import Listener, watch

__all__ = ["Event", "Listener", "NetworkState", "watch"]
