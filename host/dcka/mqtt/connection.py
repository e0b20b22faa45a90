"""The host's connection to a network's topics: messages come through a queue, and an outage is mended.

paho's callbacks run in its thread, and what they raise would end that thread unseen. Here they do little, and
catch all: what is no use is counted in `Connection.rejected`, with its topic and the reason.
"""

import json
import logging
import queue
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode

from dcka.broker import BrokerUrl, NoAnswer, await_broker
from dcka.broker.encryption import broker_context
from dcka.broker.probe import BrokerUnavailable
from dcka.errors import DckaError
from dcka.mqtt.lane import Lane
from dcka.mqtt.statuses import read_object

# A broker that is just starting is waited for; with what follows, a command ends within 15 s (await_broker says why).
CONNECT_S = 8.0
ANSWER_S = 5.0  # for an acknowledgement over a connection that stands: a broker gives it in milliseconds
AGAIN_S = 1.0  # for one answer out of several that would do
CLOSE_S = 2.0
KEEPALIVE_S = 10  # as the nodes' own: a broker that froze is noticed after one and a half of it
RETRY_S = 0.1  # NATS refuses SUBSCRIBE for a moment after it has started
# A node asks again after 0.25 s: what it tells of each step, once, is lost where the host is back after it.
RECONNECT_S = (0.1, 1)
MAX_PAYLOAD = 1 << 20
MAX_WAITING = 100_000  # messages; more than a run makes, and a bound for what a mad publisher can do to us
MAX_REASONS = 1000  # kinds of rejected messages that are told apart

# Bad user name or password, not authorized: as paho has the answers 4 and 5 of MQTT 3.1.1.
_REFUSED = (134, 135)
_LOG = logging.getLogger("dcka.mqtt")


class ConnectionLost(DckaError):
    """The connection went before the broker had confirmed what was sent."""


class NotGranted(BrokerUnavailable):
    """The broker does not let us listen to a topic."""


@dataclass(frozen=True)
class Message:
    """`suffix`: the topic after `dcka/<net>/`. `retained`: it was kept for us. `at`: time.monotonic()."""

    suffix: str
    payload: bytes
    retained: bool
    at: float

    def record(self) -> dict[str, Any]:
        """The payload as a JSON object of version 1, read once for all who ask, who change nothing in it.

        Raises PayloadError.
        """
        known: dict[str, Any] | None = self.__dict__.get("_record")
        if known is None:
            known = self.__dict__["_record"] = read_object(self.payload)
        return known


@dataclass(frozen=True)
class Reconnected:
    """The connection was gone and is back, with all subscriptions: what came between is lost."""

    at: float


def encoded(record: Mapping[str, object]) -> bytes:
    """A record as it travels: JSON without blanks, for a node has to hold it."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


class _Client(mqtt.Client):
    """paho's, with its own thread, in which a lane takes what it can before paho reads the rest."""

    def __init__(self, client_id: str, lane: Lane) -> None:
        super().__init__(CallbackAPIVersion.VERSION2, client_id=client_id)
        self._lane = lane

    def loop_read(self, max_packets: int = 1) -> MQTTErrorCode:
        """Read what has come; paho's loop calls it where something has."""
        if self._lane.read():
            return super().loop_read(max_packets)
        return MQTTErrorCode.MQTT_ERR_SUCCESS


class Connection:
    """The topics of one network at one broker: `with Connection(url, "sensors") as connection: …`.

    Entering it raises BrokerUnavailable (its subclasses say why), within `limit` (CONNECT_S) + 5 seconds. After
    that an outage raises nothing: `next` gives a `Reconnected` when it is over. Of a broker with several addresses, the
    next has its turn where one is lost; `at` is the one that we speak to. `refused_at`: since when, by
    time.monotonic(), it has answered that it does not let us in any more. `prefix`: of all topics, in place of the
    network's.
    """

    def __init__(
        self,
        url: BrokerUrl,
        network: str,
        role: str = "host",
        limit: float | None = None,
        prefix: str | None = None,
    ) -> None:
        self.url = self.at = url
        self.network = network
        self.rejected: Counter[tuple[str, str]] = Counter()
        self._limit = CONNECT_S if limit is None else limit
        self._prefix = f"dcka/{network}/" if prefix is None else prefix
        # The bound is ours: of the queues only this one is taken from without a lock of Python's for each message.
        self._messages: queue.SimpleQueue[Message | Reconnected] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._filters: dict[str, None] = {}
        self._answers: dict[int, bool] = {}
        self._renewal: int | None = None
        self._unawaited: set[int] = set()
        self._renew_at: float | None = None
        self._up = False
        self.refused_at: float | None = None
        self._closing = False
        self._lane = Lane(self._heard)
        self._client = _Client(f"dcka-{network}-{role}-{uuid.uuid4().hex[:8]}", self._lane)
        self._client.connect_timeout = 3.0
        self._client.reconnect_delay_set(*RECONNECT_S)  # type: ignore[arg-type]  # it takes fractions too
        # paho writes a line for every packet (no payload, no password): only where somebody reads them.
        if _LOG.isEnabledFor(logging.DEBUG):
            self._client.enable_logger(_LOG)
        self._context = broker_context(url) if url.tls else None
        if self._context is not None:
            self._client.tls_set_context(self._context)
        if url.username:
            self._client.username_pw_set(url.username, url.password)
        self._client.on_socket_open = self._on_socket_open
        self._client.on_socket_close = self._on_socket_close
        self._client.on_connect = self._on_connect
        self._client.on_connect_fail = self._on_connect_fail
        self._client.on_disconnect = self._on_disconnect
        self._client.on_subscribe = self._on_answer
        self._client.on_unsubscribe = self._on_answer
        self._client.on_message = self._on_message

    def __enter__(self) -> Self:
        self._turn_to(await_broker(self.url, self._limit))
        try:
            self._client.connect(self.at.host, self.at.port, KEEPALIVE_S)
            self._client.loop_start()
            with self._changed:
                if not self._changed.wait_for(lambda: self._up, ANSWER_S):
                    raise NoAnswer(f"{self.at}: the broker has answered once, and no more")
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise NoAnswer(f"{self.at}: the broker has gone: {error.strerror or error}") from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say good-bye; what was published and not flushed may be lost. Takes a few seconds at most."""
        with self._changed:
            self._closing = True
        peer = self._client.socket()
        self._client.disconnect()
        with self._changed:
            gone = self._changed.wait_for(lambda: not self._up, CLOSE_S)
        if not gone and isinstance(peer, socket.socket):
            peer.close()  # a broker that takes no more would hold us for as long as it lives
        # Joins paho's thread, which may be looking up a name, and for that there is no limit.
        stopper = threading.Thread(target=self._client.loop_stop, name="mqtt stop", daemon=True)
        stopper.start()
        stopper.join(CLOSE_S)

    @property
    def connected(self) -> bool:
        """Whether the broker has let us in, and the connection stands as far as one can see."""
        return self._up

    def now(self) -> float:
        """Seconds on the clock that all limits go by: time.monotonic()."""
        return time.monotonic()

    # ---- out ----

    def publish(self, suffix: str, payload: bytes | str | Mapping[str, object], retain: bool = False) -> bool:
        """Send a payload (a mapping as JSON) to `dcka/<net>/<suffix>`; False where it was lost in an outage.

        True says that it is on its way: `flush` waits for its arrival.
        """
        data = encoded(payload) if isinstance(payload, Mapping) else payload
        if not self._up:
            return False
        return (
            self._client.publish(self._prefix + suffix, data, retain=retain).rc
            == MQTTErrorCode.MQTT_ERR_SUCCESS
        )

    def flush(self, timeout: float = ANSWER_S) -> None:
        """Return once the broker has taken all that was published before. Raises ConnectionLost.

        A broker takes a client's packets in their order, so its answer to a harmless last one (an UNSUBSCRIBE
        from a topic that nobody listens to) says so. Having been written to the socket would not.
        """
        deadline = time.monotonic() + timeout
        while True:
            sent, mid = self._client.unsubscribe(self._prefix + "flush")
            if sent != MQTTErrorCode.MQTT_ERR_SUCCESS or mid is None:
                break
            left = deadline - time.monotonic()
            # Asked again where nothing comes: any later answer says as much.
            if self._answer(mid, max(0.0, min(AGAIN_S, left))) is not None:
                return
            if not self._up or left <= AGAIN_S:
                break
        raise ConnectionLost(
            f"{self.at}: the broker did not confirm what was sent to it: the connection was lost; try again"
        )

    # ---- in ----

    def subscribe(self, *suffixes: str, timeout: float = ANSWER_S) -> None:
        """Listen to `dcka/<net>/<suffix>` for each, now and after every reconnect; once more: retained anew.

        Returns when the broker has granted them; in an outage at once, for the next connection asks for them.
        Raises NotGranted where it refuses for `timeout` seconds.
        """
        topics = [self._prefix + suffix for suffix in suffixes]
        with self._changed:
            self._filters.update(dict.fromkeys(topics))
        deadline = time.monotonic() + timeout
        while True:
            sent, mid = self._client.subscribe([(topic, 0) for topic in topics])
            if sent != MQTTErrorCode.MQTT_ERR_SUCCESS or mid is None:
                return
            if self._answer(mid, timeout) is not False:
                return
            if time.monotonic() > deadline:
                raise NotGranted(f"{self.at}: the broker does not let us listen to {', '.join(topics)}")
            time.sleep(RETRY_S)

    def ask(self, *suffixes: str) -> None:
        """Ask for what is retained on subscribed topics once more, and wait for nothing."""
        with self._changed:
            sent, mid = self._client.subscribe([(self._prefix + suffix, 0) for suffix in suffixes])
            if sent == MQTTErrorCode.MQTT_ERR_SUCCESS and mid is not None:
                self._unawaited.add(mid)

    def unsubscribe(self, *suffixes: str) -> None:
        """Listen to them no longer. What has come already is still in the queue."""
        topics = [self._prefix + suffix for suffix in suffixes]
        with self._changed:
            for topic in topics:
                self._filters.pop(topic, None)
            sent, mid = self._client.unsubscribe(topics)
            if sent == MQTTErrorCode.MQTT_ERR_SUCCESS and mid is not None:
                self._unawaited.add(mid)

    def next(self, timeout: float) -> Message | Reconnected | None:
        """The next message or `Reconnected`, in order of arrival; None where nothing comes in `timeout` s."""
        due = self._renew_at
        if due is not None and time.monotonic() >= due:
            with self._changed:
                self._renew()
        try:
            return (
                self._messages.get(timeout=max(0.0, timeout)) if timeout > 0 else self._messages.get_nowait()
            )
        except queue.Empty:
            return None

    def reject(self, suffix: str, reason: str) -> None:
        """Count a message that is of no use, by the topic that it came on and the reason."""
        with self._changed:
            known = (suffix, reason)
            if known not in self.rejected and len(self.rejected) >= MAX_REASONS:
                known = ("…", reason)
            self.rejected[known] += 1

    # ---- in paho's thread ----

    def _on_socket_open(self, _client: mqtt.Client, _data: Any, opened: Any) -> None:
        # Or small packets wait for the acknowledgement of the one before: some 40 ms a step.
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lane.enter(opened)

    def _on_socket_close(self, _client: mqtt.Client, _data: Any, _closed: Any) -> None:
        self._lane.leave()

    def _on_connect(self, _client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            if self.refused_at is None and reason.value in _REFUSED:
                self.refused_at = time.monotonic()
            return
        with self._changed:
            self._up = True
            self.refused_at = None
            self._answers.clear()
            self._unawaited.clear()
            self._changed.notify_all()
            if self._filters:
                self._renew()

    def _on_connect_fail(self, *_: Any) -> None:
        self.refused_at = None
        with self._changed:
            self._go_on()

    def _on_disconnect(self, *_: Any) -> None:
        with self._changed:
            self._up = False
            self._renewal = self._renew_at = None
            self._go_on()
            self._changed.notify_all()

    def _go_on(self) -> None:
        """paho's next attempt goes to the next address. With the lock held, so that none follows a good-bye."""
        known = self.url.addresses
        if self._closing or len(known) == 1:
            return
        self._turn_to(known[(known.index(self.at) + 1) % len(known)])
        self._client.connect_async(self.at.host, self.at.port, KEEPALIVE_S)

    def _turn_to(self, address: BrokerUrl) -> None:
        self.at = address
        if self._context is not None:
            self._context.url = address

    def _on_answer(self, _client: mqtt.Client, _data: Any, mid: int, reasons: Any, _more: Any) -> None:
        granted = not any(reason.is_failure for reason in reasons)
        with self._changed:
            if mid in self._unawaited:
                self._unawaited.remove(mid)
                return
            if mid != self._renewal:
                self._answers[mid] = granted
                self._changed.notify_all()
                return
            self._renewal = None
            if not granted:
                self._renew_at = time.monotonic() + RETRY_S
                return
        self._keep("", Reconnected(time.monotonic()))

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        self._lane.boundary()
        try:
            topic = message.topic
        except UnicodeDecodeError:
            self.reject("?", "its topic is not UTF-8")
            return
        self._came(topic, bytes(message.payload), message.retain)

    def _heard(self, topic: bytes, payload: bytes, _length: int, retained: bool) -> None:
        try:
            name = topic.decode()
        except UnicodeDecodeError:
            self.reject("?", "its topic is not UTF-8")
            return
        self._came(name, payload, retained)

    def _came(self, topic: str, payload: bytes, retained: bool) -> None:
        suffix = topic.removeprefix(self._prefix)
        if len(payload) > MAX_PAYLOAD:
            self.reject(suffix, "oversize")
            return
        self._keep(suffix, Message(suffix, payload, retained, time.monotonic()))

    def _keep(self, suffix: str, arrived: Message | Reconnected) -> None:
        if self._messages.qsize() >= MAX_WAITING:
            self.reject(suffix, "too many")
            return
        self._messages.put(arrived)

    # ---- inside ----

    def _renew(self) -> None:
        """Ask for all subscriptions again. With the lock held: the answer must not be faster than we are."""
        self._renew_at = None
        sent, mid = self._client.subscribe([(topic, 0) for topic in self._filters])
        self._renewal = mid if sent == MQTTErrorCode.MQTT_ERR_SUCCESS else None

    def _answer(self, mid: int, timeout: float) -> bool | None:
        """Whether the broker granted the request `mid`; None where no answer came."""
        with self._changed:
            self._changed.wait_for(lambda: mid in self._answers or not self._up, timeout)
            return self._answers.pop(mid, None)
