"""The networks on which faults happen: nodes behind a proxy, in front of a broker with locks or without."""

import contextlib
from collections.abc import Iterator

from dcka.bench.faults.fault import Scene, Settings, network
from dcka.bench.live import Say, emulated
from dcka.bench.locks import locked_mosquitto
from dcka.bench.proxy import Proxy
from dcka.broker import open_broker

DELAY_S = 0.02
"""On the way to a node, so that a run takes some seconds and a fault finds it in its midst."""


@contextlib.contextmanager
def plain(settings: Settings, say: Say, nodes: int | None = None) -> Iterator[Scene]:
    """A broker without locks, which keeps nothing. `things`: broker, proxy."""
    work = network(settings, nodes)
    with (
        open_broker(settings.engine) as broker,
        Proxy(lambda: broker.address, DELAY_S, settings.seed) as proxy,
        emulated(work, proxy.url, broker.address) as live,
    ):
        yield Scene(live, settings, say, {"broker": broker, "proxy": proxy})


@contextlib.contextmanager
def locked(settings: Settings, say: Say) -> Iterator[Scene]:
    """A mosquitto that is encrypted, asks for passwords and has rules; the host comes in by the same door."""
    work = network(settings)
    with (
        locked_mosquitto() as broker,
        Proxy(lambda: broker.nodes, DELAY_S, settings.seed) as proxy,
        emulated(work, proxy.url, broker.plain) as live,
    ):
        yield Scene(live, settings, say, {"broker": broker, "proxy": proxy})
