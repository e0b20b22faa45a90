"""Joining the access point. Only a board has the `network` module; on a desktop the shell leaves this file out."""

import time

import network

from dcka_core.ticks import diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Association and DHCP take 1.6 s on an ESP32 where all is well; ten times that is a fault.
_JOIN_MS = 16000
_LOOK_MS = 100


def join(settings: "dict[str, Any] | None", clock: "Callable[[], int]") -> None:
    """Join the access point in `settings` (ssid, password). Raises OSError where it can't within 16 s of `clock`."""
    if not settings:
        raise OSError("no wifi in node.json")
    station = network.WLAN(network.STA_IF)
    station.active(True)
    if station.isconnected():
        return
    station.connect(settings["ssid"], settings.get("password", ""))
    began = clock()
    while not station.isconnected():
        if diff(clock(), began) > _JOIN_MS:
            raise OSError("wifi %s: status %r" % (settings["ssid"], station.status()))
        time.sleep_ms(_LOOK_MS)


def joined() -> bool:
    """Whether the radio has an access point."""
    return network.WLAN(network.STA_IF).isconnected()
