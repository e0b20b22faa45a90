"""Connections that are half open, that come and go, and a second client of one name."""

import contextlib
from collections.abc import Callable

from dcka.bench.faults.fault import OUTAGE, Fault, Scene
from dcka.bench.faults.stages import locked, plain
from dcka.bench.proxy import DOWN, UP
from dcka.broker import BrokerUnavailable, probe
from dcka.emulation.cpython import CPythonNetwork

CUTS = 8
SHARE = 0.1
TWIN_S = 5.0
PROBE_S = 3.0


def _half_open(*directions: str) -> Callable[[Scene], None]:
    def inject(scene: Scene) -> None:
        scene.things["proxy"].half_open(*directions)
        scene.over()

    return inject


def _come_and_go(scene: Scene) -> None:
    proxy = scene.things["proxy"]
    for second in range(CUTS):
        scene.later(float(second), lambda: proxy.cut(SHARE))
    scene.notes.append(f"{CUTS} times, a second apart")
    scene.later(CUTS, scene.over)


def _silent(scene: Scene) -> None:
    """Connections are reset, and new ones taken by somebody who says nothing."""
    proxy = scene.things["proxy"]
    proxy.silence(True)
    seconds = min(10.0, scene.settings.pause_s)

    def ask() -> None:
        try:
            probe(proxy.url, PROBE_S)
        except BrokerUnavailable as error:
            scene.notes.append(f"said of it: {error}")
        else:
            scene.require(False, "the silent server was taken for a broker")

    def speak() -> None:
        proxy.silence(False)
        scene.over()

    scene.later(1.0, ask)
    scene.later(seconds, speak)


def _twin(scene: Scene) -> None:
    """Another node of the id of the last one, at the same broker, without data."""
    ids = scene.live.work.config.ids
    twin = CPythonNetwork(
        scene.live.work.config.network.name, [ids[-1]], scene.things["broker"].address, max_message=4096
    )
    twin.start()
    scene.things["ends"] = contextlib.ExitStack()
    scene.things["ends"].callback(twin.stop)

    def leave() -> None:
        twin.stop()
        scene.over()

    scene.later(TWIN_S, leave)


FAULTS = (
    Fault(
        "half_open_one_way",
        "nodes whose words go nowhere find out by themselves, connect again, and the run ends; who comes late is named",
        plain,
        _half_open(UP),
        OUTAGE,
    ),
    Fault(
        "half_open_other_way",
        "nodes that hear nothing more find out by themselves, connect again, and the run ends; who comes late is named",
        plain,
        _half_open(DOWN),
        OUTAGE,
    ),
    Fault(
        "half_open_both_ways",
        "nodes find out by their keepalive, connect again, and the run ends; who comes late is named",
        plain,
        _half_open(UP, DOWN),
        OUTAGE,
    ),
    Fault(
        "nodes_reconnecting",
        "10 % of the nodes lose their connection each second; the run ends; who was gone on without is named",
        plain,
        _come_and_go,
        OUTAGE,
    ),
    Fault(
        "tls_silent_server",
        "no node hangs in a handshake; with the broker back the run ends; who comes late is named",
        locked,
        _silent,
        OUTAGE,
    ),
    Fault(
        "duplicate_id",
        "the run ends whole, or is given up by name; when the second one has gone, all is well",
        plain,
        _twin,
        ("PASS", "PARTIAL", "no result"),
    ),
)
