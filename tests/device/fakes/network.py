"""The ESP32's `network.WLAN` without a radio: as MicroPython's port has it, over access points that are scripted.

It runs on CPython and on MicroPython. The access points and the moments at which things happen are in `air`; where the
current folder has an `air.json`, they are read from it: so a whole emulated board can be given a fake radio.

What it keeps to, after the port's source (network_wlan.c, network_common.c):
- `connect` returns at once, and what becomes of it is seen in `status` and `isconnected`;
- `status` hands on the reason of the last disconnect, and keeps it during the next attempt: 201, 210-212 and 202 (also
  for 205) as they are, 8 as STAT_IDLE; any other reason only where nothing is under way. Only an address clears it;
- with reconnects=0 the station does not try again by itself, with -1 it does, for ever;
- the radio lives through a soft reset: this module has one station, and it stays as it is;
- the port's exceptions are OSError and, for what it has no name for, RuntimeError.

Air times are rough: no test may depend on more than their order.
"""

from air import Air, script

STA_IF = 0
AP_IF = 1
STAT_IDLE = 1000
STAT_CONNECTING = 1001
STAT_GOT_IP = 1010
STAT_BEACON_TIMEOUT = 200
STAT_NO_AP_FOUND = 201
STAT_WRONG_PASSWORD = 202
STAT_ASSOC_FAIL = 203
STAT_HANDSHAKE_TIMEOUT = 204

_LEFT = 8
_NO_SECURITY_IN_COMMON = 210
# Reasons that `status` shows whatever is under way.
_STICKY = (201, 202, 210, 211, 212)
_ANY = ("0.0.0.0", "0.0.0.0", "0.0.0.0", "0.0.0.0")


class WLAN:
    """The station; each `WLAN(STA_IF)` is the same one, as on the chip."""

    IF_STA = STA_IF
    IF_AP = AP_IF

    def __new__(cls, interface=STA_IF):
        if interface != STA_IF:
            raise ValueError("invalid WLAN interface identifier")
        return _station

    def _power_on(self):
        self._active = False
        self._reconnects = 0  # the port's own count: 0 is for ever, 1 is none
        self._tried = 0
        self._requested = False
        self._wanted = None  # (ssid, key, bssid) of the attempt
        self._point = None  # the access point that it is associated with, or asks
        self._due = None  # (moment, event)
        self._reason = 0
        self._online = False
        self._gone_at = None
        self._static = None

    def active(self, *flag):
        if not flag:
            return self._active
        self._note("active", flag[0])
        if self._active and not flag[0] and (self._point or self._due):
            self._end(_LEFT)
        self._active = bool(flag[0])
        return self._active

    def config(self, *name, **values):
        self._look()
        if name:
            return self._config(name[0])
        self._note("config", values)
        # The port writes back the whole configuration, which the chip refuses during an attempt.
        if self._due and not self._online:
            raise OSError("Wifi Internal State Error")
        for key in values:
            if key == "reconnects":
                self._reconnects = 0 if values[key] == -1 else values[key] + 1
            elif key != "pm" and key != "txpower":
                raise ValueError("unknown config param")
        return None

    def _config(self, name):
        if name == "channel":
            return self._point["channel"] if self._point else 1
        if name in ("ssid", "essid"):
            return self._wanted[0] if self._wanted else ""
        if name == "mac":
            return bytes((2, 0, 0, 0, 0, 1))
        if name == "reconnects":
            return self._reconnects - 1
        raise ValueError("unknown config param")

    def connect(self, ssid, key=None, bssid=None):
        self._look()
        self._note("connect", ssid, key, bssid)
        if not self._active:
            raise OSError("Wifi Not Started")
        if self._due and not self._online:
            raise OSError("Wifi Internal State Error")
        if bssid is not None and len(bssid) != 6:
            raise ValueError
        self._wanted = (ssid, key, bssid)
        self._tried = 0
        self._attempt()
        self._requested = True

    def disconnect(self):
        self._look()
        self._note("disconnect")
        self._requested = False
        if not self._active:
            raise OSError("Wifi Not Started")
        if self._point or self._due:
            self._end(_LEFT)

    def status(self, *what):
        self._look()
        if what:
            if what[0] != "rssi":
                raise ValueError("unknown status param")
            if not self._point or not (self._online or self._due is None or self._due[1] == "address"):
                raise OSError("Wifi Not Connected")
            return self._point["rssi"]
        if self._online:
            return STAT_GOT_IP
        if self._reason == 205:
            return STAT_WRONG_PASSWORD
        if self._reason in _STICKY:
            return self._reason
        if self._reason == _LEFT:
            return STAT_IDLE
        if self._requested and (self._reconnects == 0 or self._tried < self._reconnects):
            return STAT_CONNECTING
        return self._reason or STAT_IDLE

    def isconnected(self):
        self._look()
        return self._online

    def scan(self):
        self._look()
        self._note("scan")
        if not self._active:
            raise OSError("STA must be active")
        if self._due and not self._online:
            return []  # the chip refuses to scan during an attempt, and the port says nothing of it
        air.sleep(air.scan_ms)
        return [
            (
                b"" if point["hidden"] else point["ssid"].encode(),
                _bytes(point["bssid"]),
                point["channel"],
                point["rssi"],
                3 if point["password"] else 0,
                False,
            )
            for point in air.access_points
            if air.there(point)
        ]

    def ifconfig(self, *setting):
        self._look()
        if not setting:
            if self._static:
                return self._static
            if not self._online:
                return _ANY
            return (self._point["address"], "255.255.255.0", "192.168.1.1", "192.168.1.1")
        self._note("ifconfig", setting[0])
        if setting[0] == "dhcp":
            if self._static is None:
                raise RuntimeError("Wifi Unknown Error 0x5007")  # it runs already
            self._static = None
            return None
        address, netmask, gateway, dns = setting[0]
        for text in (address, netmask, gateway, dns):
            if len([part for part in text.split(".") if part.isdigit()]) != 4:
                raise ValueError("invalid arguments")
        self._static = (address, netmask, gateway, dns)
        return None

    def ipconfig(self, *name, **values):
        if name:
            if name[0] == "dhcp4":
                return self._static is None
            raise ValueError("unexpected key")
        self._note("ipconfig", values)
        for key in values:
            if key != "dhcp4":
                raise ValueError("unexpected key")
            if values[key]:
                self._static = None
        return None

    def _note(self, name, *arguments):
        air.calls.append((name,) + arguments)  # noqa: RUF005 - MicroPython unpacks in calls alone
        faults = air.faults.get(name)
        if faults:
            raise faults.pop(0)

    def _attempt(self):
        """Decide what becomes of an attempt that begins now."""
        ssid, key, bssid = self._wanted
        self._online = False
        self._point = None
        now = air.now()
        found = [
            point
            for point in air.access_points
            if air.there(point) and point["ssid"] == ssid and bssid in (None, _bytes(point["bssid"]))
        ]
        if not found:
            self._due = (now + air.not_found_ms, 201)
            return
        point = max(found, key=lambda one: one["rssi"])
        if bool(key) != bool(point["password"]):
            self._due = (now + air.not_found_ms, _NO_SECURITY_IN_COMMON)
        elif key and key != point["password"]:
            self._due = (now + air.refused_ms, point["refusal"])
        else:
            self._point = point
            self._due = (now + air.associate_ms, "associated")

    def _look(self):
        """Let happen what was due by now."""
        while self._due and self._due[0] <= air.now():
            moment, event = self._due
            self._due = None
            if event == "associated":
                self._due = (moment + (10 if self._static else air.address_ms), "address")
                if not (self._static or self._point["dhcp"]):
                    self._due = None
            elif event == "address":
                self._online = True
                self._reason = 0
            else:
                self._end(event)
        if self._point and not air.there(self._point):
            if self._gone_at is None:
                self._gone_at = air.now()
            elif air.now() - self._gone_at >= air.beacons_ms:
                self._end(200)
        else:
            self._gone_at = None

    def _end(self, reason):
        """The chip's event of a disconnect, and what the port does about it."""
        self._point = self._due = self._gone_at = None
        self._online = False
        self._reason = reason
        if self._requested:
            if self._reconnects:
                self._tried += 1
                if self._tried >= self._reconnects:
                    return
            self._attempt()


def _bytes(text):
    return bytes(int(text[index : index + 2], 16) for index in range(0, len(text), 2))


_station = object.__new__(WLAN)
air = Air(_station)
air.load(script())
