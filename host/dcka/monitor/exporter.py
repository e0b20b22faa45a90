"""The metrics of a network over HTTP, for Prometheus to fetch."""

import contextlib
import time
from collections.abc import Iterable, Iterator
from threading import Lock

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dcka.errors import DckaError
from dcka.monitor.metrics import families
from dcka.monitor.state import NetworkState


class ExporterError(DckaError):
    """The metrics cannot be served."""


class StateCollector(Collector):
    """Works the metrics out of the state whenever somebody asks. `guard`: held by whoever changes the state."""

    def __init__(self, state: NetworkState, guard: Lock) -> None:
        self._state = state
        self._guard = guard

    def collect(self) -> Iterable[Metric]:
        """All of one moment."""
        with self._guard:
            return list(families(self._state, time.monotonic()))


@contextlib.contextmanager
def exporting(state: NetworkState, guard: Lock, address: str, port: int) -> Iterator[str]:
    """Serve the metrics for the time of the block; its URL. Port 0: a free one. Raises ExporterError."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StateCollector(state, guard))
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(port, address, registry)
    except (OSError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise ExporterError(
            f"metrics cannot be served on {address}, port {port}: {why}: stop what listens there, or choose another"
            " with --metrics"
        ) from error
    try:
        host = f"[{address}]" if ":" in address else address
        yield f"http://{host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
