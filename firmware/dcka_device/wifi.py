"""Joins the access point, and joins it again: a state machine that never blocks for longer than a scan. Boards only.

Where the access point is (its BSSID and channel) is kept on flash after the first join: later ones need no scan of
ours, which costs 2 s of the receiver. One that has moved is looked for anew. MicroPython's `connect` takes the BSSID
alone, so the chip still goes through the channels up to the access point's.
"""

import machine
import network

from dcka_core import ticks
from dcka_device.console import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_device.store import Store

_CACHE_FILE = "wifi.bin"
# Association and DHCP take 1.6 s on an ESP32 where all is well; ten times that is a fault.
_JOIN_MS = 16000
# The pause after a failure: doubled each time, up to a minute.
_PAUSE_MS = 1000
# A status is said every ten seconds.
_MEASURE_MS = 10000
_PAUSE_CAP_MS = 60000
# How long to sleep where the awake time is used up: doubled each time, up to a quarter of an hour.
_SLEEP_S = 60
_SLEEP_CAP_S = 900
# The chip's own reasons, which `status` hands on: 15 is a handshake that timed out, as it does with a wrong password.
_WRONG_PASSWORD = (15, 202, 204)
# 200: its beacons have stopped. 210 and 211 are left out: it is there, and its security is not what we ask for.
_NO_ACCESS_POINT = (200, 201, 212)
_UNDER_WAY = (network.STAT_CONNECTING, network.STAT_IDLE, network.STAT_GOT_IP)
# RuntimeError is the port's for what it has no name for: no memory, for one.
_REFUSED = (OSError, RuntimeError)
_RTC_MARK = b"dcka"


class Radio:
    """The station. `settings`: the `wifi` of node.json. `clock`: ticks in ms. `jitter`: (bound) -> 0 ... bound - 1.

    joined: how often it has joined the access point.
    """

    def __init__(
        self,
        settings: "dict[str, Any]",
        store: "Store",
        clock: "Callable[[], int]",
        jitter: "Callable[[int], int]",
    ) -> None:
        self._settings = settings
        self._store = store
        self._jitter = jitter
        self._cap_ms = 1000 * int(settings.get("awake_cap_s", 0))
        self._place = _unpack(store.read(_CACHE_FILE), settings["ssid"])
        self._clock = clock
        self._failures = 0
        self.joined = 0
        self._began: int | None = None
        self._stale = 0
        self._retry_at: int | None = None
        self._alone_since: int | None = clock()
        self._on = False
        self._station: Any = network.WLAN(network.STA_IF)
        # Of the node's status: where it says how well the access point is heard.
        self.told: dict[str, Any] = {}
        self._measure_at: int | None = None

    def off(self) -> None:
        """Leave the access point; `tick` joins again."""
        try:
            self._station.active(False)
        except _REFUSED:  # the next attempt switches it off and on, and deep sleep cuts its power
            pass
        self._on = False
        self._began = self._retry_at = None
        self._alone_since = self._clock()

    def tick(self, now: int) -> bool:
        """One step; whether there is an access point. Does not return where the board goes to sleep."""
        if self._alone_since is None:
            if self._station.isconnected():
                self._measure(now)
                return True
            # It was there, and is gone.
            self._alone_since = now
            self._measure_at = None
            say("wifi lost")
        if self._began is not None:
            return self._watch(now, self._began)
        if self._retry_at is None or ticks.diff(now, self._retry_at) >= 0:
            self._begin()
        elif self._cap_ms and ticks.diff(now, self._alone_since) > self._cap_ms:
            self._sleep()
        return False

    def _measure(self, now: int) -> None:
        """The access point's strength in dBm, as often as the status is said."""
        if self._measure_at is not None and ticks.diff(now, self._measure_at) < 0:
            return
        self._measure_at = ticks.add(now, _MEASURE_MS)
        try:
            self.told["rssi"] = self._station.status("rssi")
        except _REFUSED:  # it has just gone
            self.told.pop("rssi", None)

    def _begin(self) -> None:
        say("wifi joining " + self._settings["ssid"])
        try:
            self._connect()
        except _REFUSED as error:
            # Whatever state it is in: the next attempt switches it off and on.
            self._on = False
            self._failed("cannot associate (%s)" % error)
        else:
            # `status` hands on what ended the last attempt, until a new one has an end.
            self._stale = self._station.status()
            self._began = self._clock()

    def _connect(self) -> None:
        settings = self._settings
        station = self._station
        if not self._on:
            # The radio lives through a soft reset, with the network and the address of the time before.
            station.active(False)
            station.active(True)
            # The chip would try for ever, and say "connecting" instead of why it can't.
            station.config(reconnects=0)
            self._on = True
        if settings.get("address"):
            # Without DHCP a join is twice as fast.
            station.ifconfig((settings["address"], settings["netmask"], settings["gateway"], settings["dns"]))
        else:
            station.ipconfig(dhcp4=True)
        if self._place is None:
            self._place = self._find()
        # A hidden access point isn't found by its name, and joined all the same.
        place = {"bssid": self._place[0]} if self._place else {}
        station.connect(settings["ssid"], settings.get("password") or None, **place)

    def _find(self) -> "tuple[bytes, int] | None":
        """(BSSID, channel) of the strongest access point of our name."""
        name = self._settings["ssid"].encode()
        found = [(row[3], row[1], row[2]) for row in self._station.scan() if row[0] == name]
        if not found:
            return None
        _, bssid, channel = max(found)
        return bytes(bssid), channel

    def _watch(self, now: int, began: int) -> bool:
        """A join is under way: has it come about, or failed?"""
        if self._station.isconnected():
            self._joined()
            return True
        status = self._station.status()
        if status in _UNDER_WAY or status == self._stale:
            if ticks.diff(now, began) < _JOIN_MS:
                return False
            if self._associated():
                self._failed("no address")
                return False
        self._failed(_why(status))
        return False

    def _associated(self) -> bool:
        try:
            self._station.status("rssi")
        except _REFUSED:  # without an access point there is none to measure
            return False
        return True

    def _failed(self, why: str) -> None:
        say("wifi failed: " + why)
        try:
            self._station.disconnect()
        except _REFUSED:
            self._on = False
        self._began = None
        self._failures += 1
        # Next time look for it: it may have moved to another channel, or be another one now.
        self._place = None
        pause = min(_PAUSE_CAP_MS, _PAUSE_MS << min(self._failures, 8))
        pause -= self._jitter(pause // 4 + 1)
        self._retry_at = ticks.add(self._clock(), pause)

    def _joined(self) -> None:
        self._began = self._retry_at = self._alone_since = None
        self._failures = 0
        self.joined += 1
        clock = machine.RTC()
        if clock.memory()[:4] == _RTC_MARK:
            # Another record there is a deep sleeper's (dcka_core/carry.py).
            clock.memory(b"")
        channel = self._station.config("channel")
        say("wifi joined %s channel %d" % (self._station.ifconfig()[0], channel))
        if self._place:
            self._keep(self._place[0] + bytes((channel,)) + self._settings["ssid"].encode())

    def _keep(self, record: bytes) -> None:
        if record == self._store.read(_CACHE_FILE):
            return
        try:
            self._store.save(_CACHE_FILE, record)
        except OSError as error:  # the flash is full: it costs a scan
            say("%s can't be written: %s" % (_CACHE_FILE, error))

    def _sleep(self) -> None:
        """The awake time is used up without an access point: the battery is worth more than one more try."""
        clock = machine.RTC()
        kept = clock.memory()
        slept = kept[4] if kept[:4] == _RTC_MARK and len(kept) == 5 else 0
        clock.memory(_RTC_MARK + bytes((min(slept + 1, 8),)))
        seconds = min(_SLEEP_CAP_S, _SLEEP_S << min(slept, 8))
        seconds -= self._jitter(seconds // 4)
        say("asleep for %d s: no access point for %d s" % (seconds, self._cap_ms // 1000))
        self.off()
        machine.deepsleep(seconds * 1000)


def _unpack(record: bytes, ssid: str) -> "tuple[bytes, int] | None":
    """What the cache file says of this access point; of another one it says nothing."""
    if len(record) < 8 or record[7:] != ssid.encode():
        return None
    return record[:6], record[6]


def _why(status: int) -> str:
    if status in _WRONG_PASSWORD:
        return "wrong password"
    if status in _NO_ACCESS_POINT:
        return "no access point"
    return "cannot associate (%d)" % status
