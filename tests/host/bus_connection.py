"""A network of real node cores in memory, and the host's connection to it: time passes as the host waits.

`BusConnection` has the face of `dcka.mqtt.Connection`; the broker and the nodes behind it are those of
`tests/core/bus.py`, with the flash that a transfer needs.
"""

import io
from collections import Counter, deque

import pytest
from bus import Bus, _matches

from dcka.broker import BrokerUrl
from dcka.mqtt import ConnectionLost, Message, Reconnected
from dcka.mqtt.connection import encoded
from dcka_core.actions import ADOPT
from dcka_core.errors import CoreError
from dcka_core.points import load


class HostBus(Bus):
    """Nodes that store and load what is put to them."""

    def perform(self, node, actions):
        for action in actions:
            super().perform(node, [action])
            if action[0] == ADOPT:
                self._load(node, action[2])

    def _load(self, node, name):
        machine = self.nodes[node]
        content = self.flash[node][name]
        try:
            found = load(io.BytesIO(content))
        except CoreError as error:
            self.perform(node, machine.data_failed(str(error), self.now))
            return
        if name == "readings.bin":
            self.readings[node] = found.dataset, lambda: load(io.BytesIO(content))
            self.perform(node, machine.readings_held(*self.readings[node], self.now))
        else:
            self.points[node] = found
            self.perform(node, machine.data_loaded(found, self.now))


class BusConnection:
    """The host at a bus.

    `lose`: told (topic suffix, payload) of what comes to the host, True loses it. `on_way`: told the same of what
    the host publishes, returns the payload that arrives, or None where it is lost. `sent`: what the host has
    published, as (suffix, payload, retain).
    """

    def __init__(self, bus):
        self.bus = bus
        self.network = bus.network
        self.url = BrokerUrl("127.0.0.1")
        self.rejected = Counter()
        self.sent = []
        self.lose = lambda suffix, payload: False
        self.on_way = lambda suffix, payload: payload
        self.up = True
        self._prefix = f"dcka/{bus.network}/"
        self._filters = []
        self._arrived = deque()
        bus.watch = self._watch

    def _watch(self, topic, payload):
        if self.up and any(_matches(wanted, topic) for wanted in self._filters):
            self.arrive(topic.removeprefix(self._prefix), payload)

    def arrive(self, suffix, payload, retained=False):
        """A message comes to the host."""
        if not self.lose(suffix, payload):
            self._arrived.append(Message(suffix, payload, retained, self.bus.now / 1000))

    def forget(self):
        """What has come and was not read is gone."""
        self._arrived.clear()

    def outage(self, retained_lost=False):
        """The connection breaks and comes back; the broker may have forgotten what it kept."""
        self.forget()
        if retained_lost:
            self.bus.retained.clear()
        self._arrived.append(Reconnected(self.bus.now / 1000))

    def now(self):
        return self.bus.now / 1000

    def publish(self, suffix, payload, retain=False):
        data = encoded(payload) if isinstance(payload, dict) else payload
        self.sent.append((suffix, data, retain))
        arriving = self.on_way(suffix, data) if self.up else None
        if arriving is not None:
            self.bus.publish(self._prefix + suffix, arriving, retain)
            if retain and not arriving:
                self.bus.retained.pop(self._prefix + suffix, None)
        return self.up

    def flush(self, timeout=1.0):
        if not self.up:
            raise ConnectionLost("gone")

    def subscribe(self, *suffixes):
        for suffix in suffixes:
            if self._prefix + suffix not in self._filters:
                self._filters.append(self._prefix + suffix)
        self.ask(*suffixes)

    def ask(self, *suffixes):
        for topic, payload in list(self.bus.retained.items()):
            if payload and any(_matches(self._prefix + suffix, topic) for suffix in suffixes):
                self.arrive(topic.removeprefix(self._prefix), payload, retained=True)

    def unsubscribe(self, *suffixes):
        for suffix in suffixes:
            self._filters.remove(self._prefix + suffix)

    def next(self, timeout):
        """Let the nodes work, and time pass, until something comes or `timeout` seconds are over."""
        deadline = self.bus.now + round(timeout * 1000)
        while not self._arrived and timeout > 0:
            waits = [machine.deadline() for machine in self.bus.nodes.values()]
            due = min((wait for wait in waits if wait is not None), default=deadline + 1)
            if not self.bus.queue and due > deadline:
                self.bus.now = deadline
                break
            self.bus.step()
        return self._arrived.popleft() if self._arrived else None

    def reject(self, suffix, reason):
        self.rejected[suffix, reason] += 1


def retained(host, suffix):
    """What the broker keeps on a topic, or None."""
    return host.bus.retained.get(f"dcka/{host.network}/{suffix}")


@pytest.fixture
def host():
    """A connection to an empty bus, whose clock is the host's."""
    return BusConnection(HostBus("lab"))
