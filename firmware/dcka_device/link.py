"""The MQTT link: a thin adapter around chumicro-mqtt, the only file that knows its name.

Messages are handed out after the client's tick, not from its callback: there, an OSError of ours would pass for a
socket's, and anything else would tear the client's state.
"""

import select

from chumicro_mqtt._wire import MQTTBackpressureError, MQTTError
from chumicro_mqtt.client import MQTTClient, ProtocolState, WhenOversized

from dcka_core import ticks
from dcka_core.codec import put_varint
from dcka_device.connector import Connector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# A broker that is away is asked again after 250 ms, then twice as long each time, up to 2 s: asking is cheap.
_RETRY_MS = 250
_RETRY_CAP_MS = 2000
# A connection that ends within 20 s counts as short: longer than the longest pause, or two nodes of one id, that throw
# each other out, would begin anew. After several the pause grows by four, so that such two make no more than ten
# connections in a minute. Who is sent away at once was denied a topic, as by a broker that has just started: that
# passes, and the pause grows by two.
_SHORT_MS = 20000
_AT_ONCE_MS = 100
_SHORT_CAP_MS = 15000
# Fixed header, topic and its length, on top of the payload.
_ENVELOPE = 96
_WRITE_INTEREST = 2
# Packets that may wait to be sent: what one event brings (a status, a commit, a sum, subscriptions), and some.
_QUEUE = 12


class Link:
    """A connection to the broker that mends itself.

    on_up(): connected, all subscriptions asked for again. on_down(): gone. jitter: (bound) -> 0 ... bound - 1.
    """

    def __init__(
        self,
        config: "dict[str, Any]",
        will: "tuple[str, str]",
        clock: "Callable[[], int]",
        jitter: "Callable[[int], int]",
    ) -> None:
        broker = config["broker"]
        self._broker = broker
        self.connector: Connector | None = None
        self.client = MQTTClient(
            transport_factory=self._connector,
            client_id="dcka-%s-%d" % (config["network"], config["node"]),
            keep_alive_seconds=config["keepalive"],
            username=broker.get("user"),
            password=broker.get("password"),
            will_topic=will[0],
            will_message=will[1].encode(),
            will_retain=True,
            rx_buffer_size=config["max_message"] + _ENVELOPE,
            recv_budget_per_tick=config["max_message"] + _ENVELOPE,
            when_oversized=WhenOversized.DROP_WITH_EVENT,
            when_disconnected="raise",
            max_tx_queue_size=_QUEUE,
            ticks=_Clock(clock),
        )
        self._clock = clock
        self._jitter = jitter
        self._poll = select.poll()
        self._registered: Any = None
        self._retry_at: int | None = None
        self._refused = 0
        self._short = 0
        self._up_since: int | None = None
        self._inbox: list[tuple[str, bytes]] = []
        self.up = False
        self.oversized = 0
        self.lost = 0
        self.client.on_message = self._keep
        self.client.on_oversized = self._skip

    def _connector(self) -> Connector:
        kind = Connector
        if self._broker.get("ca"):
            from dcka_device.tls import TlsConnector

            kind = TlsConnector
        self.connector = kind(self._broker)
        return self.connector

    def open(self) -> None:
        """Begin to connect, once: `tick` mends what breaks later."""
        if self.client.state == ProtocolState.DISCONNECTED:
            self.client.connect()

    def close(self) -> None:
        """Say good-bye to the broker: there is no will."""
        self.client.disconnect()

    def drop(self) -> None:
        """Close the connection without a good-bye, so that the broker publishes the will at once."""
        if self.connector is not None and self.connector.sock is not None:
            self.connector.close()

    def subscribe(self, topic: str) -> None:
        """Listen to `topic`, now and after every reconnect."""
        if not self._queued(lambda: self.client.subscribe(topic)):
            # The client keeps no wish that it couldn't queue; a new connection asks for all of them again.
            raise OSError("the link took no subscription to %s" % topic)

    def unsubscribe(self, topic: str) -> None:
        """Listen to `topic` no longer."""
        self._queued(lambda: self.client.unsubscribe(topic))

    def publish(self, topic: str, payload: "bytes | bytearray | str", retain: bool) -> None:
        """Send now, or lose it: what is old by the time the link is back helps nobody."""
        client = self.client
        up = client.state == ProtocolState.CONNECTED
        packet = _publish_packet(topic, payload, retain) if up else b""
        if not up or not self._queued(lambda: client._enqueue_user_tx(packet)):
            self.lost += 1

    def _queued(self, ask: "Callable[[], None]") -> bool:
        """Ask the client; where its queue is full, let it send first, for a bounded number of ticks."""
        for _ in range(_QUEUE):
            try:
                ask()
                return True
            except MQTTBackpressureError:
                self.client.handle(self._clock())
            except MQTTError:
                return False
        return False

    def tick(self, now: int) -> "list[tuple[str, bytes]]":
        """One tick of progress; returns the messages that have come."""
        client = self.client
        if client.state == ProtocolState.FAILED:
            if self._up_since is not None:
                self._went_down(now)
            if self._retry_at is None:
                self._retry_at = ticks.add(now, self._pause())
            if ticks.diff(now, self._retry_at) < 0:
                return []
            self._retry_at = None
            if self._broker.get("others"):
                from dcka_device.others import go_on

                go_on(self._broker, self.connector is not None and self.connector.reason == "closed")
            client.connect()
        client.handle(now)
        self.flush(now)
        if client.state == ProtocolState.CONNECTED and self._up_since is None:
            self._up_since = now
            self._refused = 0
        self.up = client.state == ProtocolState.CONNECTED
        inbox = self._inbox
        self._inbox = []
        return inbox

    def flush(self, now: int) -> None:
        """Send what is queued: the client sends one packet a tick. A socket that takes no more is left to `wait`."""
        client = self.client
        for _ in range(_QUEUE):
            if client.state != ProtocolState.CONNECTED or not client.io_interest(now) & _WRITE_INTEREST:
                return
            client.handle(now)

    def wait(self, now: int, until_ms: int) -> None:
        """Sleep until the socket has something, or `until_ms` have passed."""
        if self._inbox:
            # What came while something was sent is here already: the socket won't tell of it again.
            return
        client = self.client
        if client.state == ProtocolState.FAILED:
            if self._retry_at is not None:
                until_ms = min(until_ms, max(0, ticks.diff(self._retry_at, now)))
        else:
            due = client.next_deadline(now)
            if due is not None:
                until_ms = min(until_ms, max(0, ticks.diff(due, now)))
        self._watch(client.io_socket, client.io_interest(now))
        self._poll.poll(until_ms)

    def _watch(self, link: "Any", interest: int) -> None:
        link = getattr(link, "sock", link)
        if link is not self._registered:
            if self._registered is not None:
                self._poll = select.poll()
            self._registered = link
            if link is not None:
                self._poll.register(link, select.POLLIN)
        if link is not None:
            events = (select.POLLIN if interest & 1 else 0) | (
                select.POLLOUT if interest & _WRITE_INTEREST else 0
            )
            self._poll.modify(link, events)

    def _went_down(self, now: int) -> None:
        lasted = ticks.diff(now, self._up_since or now)
        more = 1 if lasted < _AT_ONCE_MS else 2
        self._short = self._short + more if lasted < _SHORT_MS else 0
        self._up_since = None
        self.up = False

    def _pause(self) -> int:
        """How long to wait before the next attempt, with a quarter of it by chance."""
        by_short = min(_SHORT_CAP_MS, _RETRY_MS << min(self._short, 8)) if self._short > 2 else _RETRY_MS
        pause = max(by_short, min(_RETRY_CAP_MS, _RETRY_MS << min(self._refused, 8)))
        self._refused += 1
        return pause - pause // 4 + self._jitter(pause // 4 + 1)

    def _keep(self, topic: str, payload: bytes) -> None:
        self._inbox.append((topic, payload))

    def _skip(self, length: int, topic: "str | None") -> None:
        self.oversized += 1


def _publish_packet(topic: str, payload: "bytes | bytearray | str", retain: bool) -> bytearray:
    """A PUBLISH of QoS 0, made once: the client's own way holds five copies at a time, 3.5 KB for K = 20."""
    body = payload.encode() if isinstance(payload, str) else payload
    name = topic.encode()
    packet = bytearray(b"\x31" if retain else b"\x30")
    # MQTT's remaining length is written as our varints are.
    put_varint(packet, 2 + len(name) + len(body))
    packet.extend(len(name).to_bytes(2, "big"))
    packet.extend(name)
    packet.extend(body)
    return packet


class _Clock:
    """The core's ticks in the client's words."""

    def __init__(self, clock: "Callable[[], int]") -> None:
        self.ticks_ms = clock
        self.ticks_add = ticks.add
        self.ticks_diff = ticks.diff
