"""A radio, what surrounds it, and what it has said; on CPython and on MicroPython."""

from bench import Flash, Lines, fresh, network

from dcka_device import wifi

HOME = {"ssid": "home", "password": "secret99", "address": None}
FIXED = {
    "ssid": "home",
    "password": "secret99",
    "address": "192.168.1.50",
    "netmask": "255.255.255.0",
    "gateway": "192.168.1.1",
    "dns": "192.168.1.1",
}
A, B = bytes((2, 0, 0, 0, 0, 0xA1)), bytes((2, 0, 0, 0, 0, 0xB2))
LOOK_MS = 100


class Case:
    """A radio, what surrounds it, and what it has said."""

    def __init__(self, settings=None, now=0, jitter=0, flash=None):
        self.clock = fresh(now)
        self.settings = dict(HOME if settings is None else settings)
        self.flash = flash or Flash()
        self.lines = Lines()
        self.moments = []
        self._jitter = jitter
        self.asked = []
        self.radio = self.start()

    def start(self):
        """As after a restart of the program alone: the radio and its access point stay as they are."""
        wifi.say = self.say
        return wifi.Radio(self.settings, self.flash, self.clock, self.jitter)

    def say(self, text):
        self.lines.append(text)
        self.moments.append(network.air.now())

    def jitter(self, bound):
        self.asked.append(bound)
        return min(self._jitter, bound - 1)

    def run(self, ms):
        """Let time pass in the steps of the shell's loop; whether there is an access point at the end."""
        end = network.air.now() + ms
        up = self.radio.tick(self.clock())
        while network.air.now() < end:
            self.clock.pass_by(LOOK_MS)
            up = self.radio.tick(self.clock())
        return up

    def run_until(self, line, limit_ms=300000):
        """ms until a line that begins so is said."""
        began = network.air.now()
        seen = len(self.lines)
        while network.air.now() - began < limit_ms:
            self.radio.tick(self.clock())
            for said in self.lines[seen:]:
                if said.startswith(line):
                    return network.air.now() - began
            self.clock.pass_by(LOOK_MS)
        raise AssertionError(f"no {line!r} within {limit_ms} ms: {self.lines}")

    def said(self, line):
        return len([one for one in self.lines if one.startswith(line)])
