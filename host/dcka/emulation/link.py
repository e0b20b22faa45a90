"""A node's MQTT link under CPython: paho with its loop in our hands, the counterpart of a board's link.

paho's callbacks only note what has come; the node looks at it afterwards, since what a callback raises is paho's.
"""

import contextlib
import os
import random
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from dcka.emulation.gate import RETRY_CAP_S, RETRY_S, Gates
from dcka.emulation.loop import EVENT_READ, EVENT_WRITE, Loop
from dcka.mqtt.lane import Lane

# As on a board (firmware/dcka_device/link.py): a packet may be so many bytes longer than `max_message`.
ENVELOPE = 96
# As on a board, where the reasons are: which connections count as short, and which end at once.
SHORT_S = 20.0
AT_ONCE_S = 0.1
# NATS holds the third of two that throw each other out for a second, and closes it: that is as good as thrown out. A
# board does not meet that, for its client waits a second before it asks again.
HELD_S = 0.5
SHORT_CAP_S = 15.0
# paho is asked to look at its keepalive so often in one, but not more often than once a second: a ping is due after
# one, and a broker waits for one and a half.
_LOOKS = 5


class Link:
    """A connection to the broker that mends itself; `notify` is called when something has come or changed.

    settings: as node.json has them. will: (topic, payload), retained. gates: to the broker's addresses; who
    loses a connection goes on to the next. `connections` counts those that came about: a
    short outage shows in it alone. `resting`: off the air on purpose. `inbox` holds what has come, for the node to
    take; `oversized` and `lost` count.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        will: tuple[str, str],
        loop: Loop,
        gates: Gates,
        notify: Callable[[], None],
    ) -> None:
        broker = settings["broker"]
        self._keepalive: int = settings["keepalive"]
        self._misc_s = max(1.0, self._keepalive / _LOOKS)
        self._largest = settings["max_message"] + ENVELOPE
        self._loop = loop
        self._context = gates.context
        self._gates = gates.order_for(settings["node"])
        self._place = 0
        self._notify = notify
        self._topics: dict[str, None] = {}
        self._refused = 0
        self._short = 0
        self._up_since = self._asked_at = 0.0
        self._writing = False
        self._open = False
        self.resting = False
        self._held: socket.socket | None = None
        self.up = False
        self._told = (False, 0, 0)
        self.connections = 0
        self.inbox: list[tuple[str, bytes]] = []
        self.oversized = 0
        self.lost = 0
        self.last_error = ""
        self._lane = Lane(self._heard)
        self._client = self._new_client(f"dcka-{settings['network']}-{settings['node']}", broker)
        self._client.will_set(will[0], will[1], retain=True)

    def _new_client(self, name: str, broker: Mapping[str, Any]) -> mqtt.Client:
        client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=name, reconnect_on_failure=False)
        if broker.get("user"):
            client.username_pw_set(broker["user"], broker.get("password"))
        if self._context is not None:
            client.tls_set_context(self._context)
        client.connect_timeout = 1.0  # the gate has just seen the port open
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_socket_open = self._on_socket_open
        client.on_socket_close = self._on_socket_close
        # With these two set, paho only says that it wants to write: `flush` then writes all in one go.
        client.on_socket_register_write = _nothing
        client.on_socket_unregister_write = _nothing
        return client

    # ---- what the node does ----

    def open(self) -> None:
        """Begin to connect, and to connect again whenever the connection is lost."""
        self._open = True
        self._ask()

    def cut(self) -> None:
        """End without a good-bye, as a power cut would: the broker then publishes the will."""
        self._open = False
        self._gates[self._place].withdraw(self._connect)
        self._loop.at(self._retry, None)
        self._cut_socket()
        self._let_go()

    def _cut_socket(self) -> None:
        peer = self._client.socket()
        if not isinstance(peer, socket.socket):
            return
        with contextlib.suppress(OSError):  # the other end was faster
            peer.shutdown(socket.SHUT_RDWR)
        while self._client.socket() is not None:  # paho reads to the end, and closes the socket
            self._client.loop_read()

    def rest(self, seconds: float) -> None:
        """Say good-bye, so that no will is published, and connect again after so many seconds."""
        self.flush()
        self.resting, self._open = True, False
        self._gates[self._place].withdraw(self._connect)
        self._let_go()
        peer = self._client.socket()
        if isinstance(peer, socket.socket):
            # Where a socket is closed with something unread in it, the broker sees a reset, throws away what came
            # before it, the good-bye too, and publishes the will: so it is held until the broker has closed it.
            self._held = socket.socket(fileno=os.dup(peer.fileno()))
            self._held.setblocking(False)
            self._loop.watch(self._held, EVENT_READ, self._drain)
        self._client.disconnect()
        self.flush()  # paho closes its socket once the good-bye is written
        self._cut_socket()
        self.up = False
        self._loop.at(self._retry, time.monotonic() + seconds)

    def _drain(self) -> None:
        try:
            more = self._held is not None and self._held.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:  # a reset: it is over too
            more = b""
        if not more:
            self._let_go()

    def _let_go(self) -> None:
        """Of the last connection before a rest."""
        if self._held is not None:
            self._loop.forget(self._held)
            self._held.close()
            self._held = None

    def subscribe(self, topic: str) -> None:
        """Listen to `topic`, now and after every reconnect."""
        self._topics[topic] = None
        if self.up:
            self._client.subscribe(topic)

    def unsubscribe(self, topic: str) -> None:
        """Listen to `topic` no longer."""
        if topic in self._topics:
            del self._topics[topic]
            if self.up:
                self._client.unsubscribe(topic)

    def publish(self, topic: str, payload: bytes | bytearray | str, retain: bool) -> None:
        """Send now, or lose it: what is old by the time the link is back helps nobody."""
        if self.up and self._lane.open:
            self._lane.write(topic, payload, retain)
        elif self.up:
            self._client.publish(topic, payload, retain=retain)
        else:
            self.lost += 1

    def flush(self) -> None:
        """Write what is queued, as far as the socket takes it; the rest when it takes more."""
        if self._lane.cut:
            self._lane.flush()
        if not self._lane.cut:
            if self._client.want_write():
                self._client.loop_write()
            if not self._client.want_write():  # what was subscribed to is written first
                self._lane.flush()
        wants = self._lane.waiting or self._client.want_write()
        peer = self._client.socket()
        if peer is not None and wants != self._writing:
            self._writing = wants
            self._loop.watch(peer, EVENT_READ | (EVENT_WRITE if wants else 0), self._ready)

    # ---- connecting ----

    def _ask(self) -> None:
        """For the way in; of several addresses, go on to the next where there is none."""
        gate = self._gates[self._place]
        gate.ask(self._connect, self._elsewhere if len(self._gates) > 1 else None)

    def _elsewhere(self) -> None:
        self.last_error = self._gates[self._place].last_error
        self._place = (self._place + 1) % len(self._gates)
        self._ask()

    def _connect(self, address: str) -> None:
        gate = self._gates[self._place]
        if self._context is not None and gate.context is not None:
            # All nodes have this one; whose certificate it has to be is asked at once, in the handshake.
            self._context.url = gate.context.url
        self._asked_at = time.monotonic()
        try:
            self._client.connect(address, gate.port, self._keepalive)
        except OSError as error:
            self._lost_connection(error.strerror or str(error))
            return
        self.flush()

    def _retry(self) -> None:
        self._open = True
        self.resting = False
        self._ask()

    def _lost_connection(self, reason: str) -> None:
        if self.up:
            lasted = time.monotonic() - self._up_since
            more = 1 if lasted < AT_ONCE_S else 2
            self._short = self._short + more if lasted < SHORT_S else 0
        elif self._short and time.monotonic() - self._asked_at > HELD_S:
            self._short += 2
        self.up = False
        self.last_error = reason
        if self._open:
            self._place = (self._place + 1) % len(self._gates)
            now = time.monotonic()
            self._loop.at(self._notify, now)
            self._loop.at(self._retry, now + self._pause())

    def _pause(self) -> float:
        """Seconds before the next attempt, with a quarter of it by chance."""
        by_short = min(SHORT_CAP_S, RETRY_S * 2 ** min(self._short, 8)) if self._short > 2 else RETRY_S
        pause = max(by_short, min(RETRY_CAP_S, RETRY_S * 2 ** min(self._refused, 8)))
        self._refused += 1
        return float(pause * random.uniform(0.75, 1.0))

    def _ready(self) -> None:
        if self._lane.read():
            self._client.loop_read()
        # What an encrypted connection has in hand already, no selector tells of.
        while isinstance(peer := self._client.socket(), ssl.SSLSocket) and peer.pending():
            self._client.loop_read()
        state = self.up, self.connections, self.oversized
        if self.inbox or state != self._told:
            self._told = state
            self._notify()  # who then flushes
        else:
            self.flush()

    def _misc(self) -> None:
        self._client.loop_misc()
        self.flush()  # and no more: nothing has come, and a loss of the connection is told by itself
        if self._client.socket() is not None:
            self._loop.at(self._misc, time.monotonic() + self._misc_s)

    # ---- paho's callbacks ----

    def _on_socket_open(self, _client: mqtt.Client, _data: Any, peer: Any) -> None:
        # Without it a small message waits for the answer to the last one: 44 ms a step.
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._writing = False
        self._lane.enter(peer)
        self._loop.watch(peer, EVENT_READ, self._ready)
        self._loop.at(self._misc, time.monotonic() + self._misc_s)

    def _on_socket_close(self, _client: mqtt.Client, _data: Any, peer: Any) -> None:
        self._lane.leave()
        self._loop.forget(peer)
        self._loop.at(self._misc, None)

    def _on_connect(self, _client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self.last_error = str(reason)  # paho closes the connection next
            return
        self.up = True
        self.connections += 1
        self._up_since = time.monotonic()
        self._refused = 0
        if self._topics:
            self._client.subscribe([(topic, 0) for topic in self._topics])

    def _on_disconnect(self, _client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        self._lost_connection(str(reason))

    def _on_subscribe(self, _client: mqtt.Client, _data: Any, _mid: int, reasons: Any, _more: Any) -> None:
        # NATS does so for a moment after a restart; a node without its topics is better off with a new connection.
        if any(reason.is_failure for reason in reasons):
            self._client.disconnect()

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        self._lane.boundary()
        try:
            topic = message.topic.encode()
        except UnicodeDecodeError:
            topic = b"\xff"  # as it was: nobody's topic
        length = 2 + len(topic) + len(message.payload)
        self._heard(topic, bytes(message.payload), 1 + _varint_bytes(length) + length, message.retain)

    def _heard(self, topic: bytes, payload: bytes, length: int, _retained: bool) -> None:
        """A message has come, in a packet of so many bytes."""
        if length > self._largest:
            self.oversized += 1
            return
        try:
            name = topic.decode()
        except UnicodeDecodeError:
            name = "?"  # nobody's topic: the node counts it
        self.inbox.append((name, payload))


def _varint_bytes(value: int) -> int:
    return max(1, -(-value.bit_length() // 7))


def _nothing(*_: Any) -> None:
    """Takes a note of paho's that nobody needs."""
