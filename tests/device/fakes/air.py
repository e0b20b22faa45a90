"""The air around the fake radio of network.py: which access points there are, and how long things take."""

import time


def _ticks():
    if hasattr(time, "ticks_ms"):
        return time.ticks_ms()
    return int(time.monotonic() * 1000)


def _sleep(ms):
    if hasattr(time, "sleep_ms"):
        time.sleep_ms(ms)
    else:
        time.sleep(ms / 1000)


class Air:
    """The script. Times in ms, counted from `start`. station: what is switched off and on when it begins anew."""

    def __init__(self, station):
        self._station = station
        self.clock = _ticks
        self.sleep = _sleep
        self.clear()

    def clear(self):
        """No access point, and a station as after power-on."""
        self.start = self.clock()
        self.access_points = []
        self.scan_ms = 2000
        self.not_found_ms = 2400
        self.refused_ms = 4000
        self.associate_ms = 600
        self.address_ms = 1000
        self.beacons_ms = 6000
        self.calls = []
        # Name of a method -> exceptions that its next calls raise, the first first.
        self.faults = {}
        self._station._power_on()

    def add(self, ssid, password="", **more):
        """An access point; returns its dict, which may be changed as time goes by.

        bssid: hex; from_ms, until_ms: when it is there; dhcp: whether it gives out addresses; refusal: the reason that
        a wrong password brings (15, 202 or 204); hidden: whether it keeps its name to itself.
        """
        point = {
            "ssid": ssid,
            "password": password,
            "bssid": "0200000000a1",
            "channel": 6,
            "rssi": -50,
            "hidden": False,
            "dhcp": True,
            "address": "192.168.1.103",
            "refusal": 15,
            "from_ms": 0,
            "until_ms": None,
        }
        point.update(more)
        self.access_points.append(point)
        return point

    def load(self, script):
        """Take a script as a JSON file has it: times by name, access points with their fields."""
        for name in script:
            if name == "access_points":
                for point in script[name]:
                    self.add(**point)
            elif name == "faults":
                for method in script[name]:
                    self.faults[method] = [OSError(text) for text in script[name][method]]
            else:
                setattr(self, name, script[name])

    def now(self):
        """ms since the start."""
        return (self.clock() - self.start) & ((1 << 30) - 1)

    def there(self, point):
        """Whether the access point is there now."""
        until = point["until_ms"]
        begun = point in self.access_points and point["from_ms"] <= self.now()
        return begun and (until is None or self.now() < until)

    def named(self, name):
        """The arguments of all calls of a method so far."""
        return [call[1:] for call in self.calls if call[0] == name]


def script():
    """What `air.json` in the current folder says, or nothing."""
    from json import load

    try:
        with open("air.json") as file:
            return load(file)
    except OSError:
        return {}
