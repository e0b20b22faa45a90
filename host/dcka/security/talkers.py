"""Clients for the proof of a broker's rules: one a user, each of which says and hears what it is told to."""

import contextlib
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode

from dcka.broker import BrokerUrl, NoAnswer
from dcka.broker.access import Rights
from dcka.broker.encryption import broker_context

# For an answer over a connection that stands, of a broker under heavy load.
ANSWER_S = 10.0
KEEPALIVE_S = 30
_CONNECTING_S = 5.0


class Talker:
    """A user at the broker. `heard`: the payloads that have come, by topic; retained ones are passed over.

    `url` has user and password. A broker may end the connection of who says what is not allowed: `up` tells.
    """

    def __init__(self, url: BrokerUrl, rights: Rights, network: str, client_id: str | None = None) -> None:
        self.rights = rights
        self.heard: dict[str, set[bytes]] = {}
        self._url = url
        self._name = client_id or f"dcka-{network}-check-{rights.user}-{uuid.uuid4().hex[:8]}"
        self._changed = threading.Condition()
        self._will: tuple[str, bytes] | None = None
        self._topics: tuple[str, ...] = ()
        self._answered: set[int] = set()
        self._up = self._over = False
        self._client: mqtt.Client | None = None

    @property
    def up(self) -> bool:
        """Whether the connection stands, as far as one can see."""
        return self._up

    def open(self, will: tuple[str, bytes] | None = None) -> None:
        """Connect, and listen again to what was listened to. Raises NoAnswer where the broker does not let it in."""
        self.close()
        client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=self._name, reconnect_on_failure=False)
        client.username_pw_set(self._url.username, self._url.password)
        if self._url.tls:
            client.tls_set_context(broker_context(self._url))
        if will is not None:
            client.will_set(*will)
        client.connect_timeout = _CONNECTING_S
        client.on_socket_open = _without_delay
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = client.on_unsubscribe = self._on_answer
        client.on_message = self._on_message
        self._client, self._over = client, False
        try:
            client.connect(self._url.host, self._url.port, KEEPALIVE_S)
        except OSError as error:
            raise NoAnswer(f"{self._url}: {self.rights.user} gets no connection ({error})") from error
        client.loop_start()
        if not (self._wait(lambda: self._up or self._over) and self._up):
            self.close()
            raise NoAnswer(f"{self._url}: {self.rights.user} is not let in")
        if self._topics:
            self.listen(self._topics)

    def close(self) -> None:
        """Say good-bye."""
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()
        self._up = False

    def break_off(self) -> None:
        """End without a good-bye, so that the broker publishes the will."""
        client, self._client = self._client, None
        if client is None:
            return
        peer = client.socket()
        with contextlib.suppress(OSError):
            if isinstance(peer, socket.socket):
                peer.shutdown(socket.SHUT_RDWR)
        self._wait(lambda: not self._up)
        client.loop_stop()

    def listen(self, topics: Iterable[str]) -> None:
        """Ask for each of the topics by itself, since one that is refused must not take others with it."""
        self._topics = tuple(topics)
        for topic in self._topics:
            self._ask(lambda client, one=topic: client.subscribe(one))  # type: ignore[misc]

    def say(self, topic: str, payload: bytes) -> bool:
        """Publish; whether it could be written."""
        if self._client is None or not self._up:
            return False
        return self._client.publish(topic, payload).rc == MQTTErrorCode.MQTT_ERR_SUCCESS

    def settle(self) -> bool:
        """Return once the broker has taken all that was said before; whether the connection has outlived it."""
        return self._ask(lambda client: client.unsubscribe("dcka-check/nothing")) and self._up

    def await_heard(self, topic: str, payload: bytes, limit_s: float) -> bool:
        """Whether this has come within so many seconds."""
        return self._wait(lambda: payload in self.heard.get(topic, ()), limit_s)

    def _ask(self, what: Callable[[mqtt.Client], tuple[Any, int | None]]) -> bool:
        if self._client is None or not self._up:
            return False
        sent, number = what(self._client)
        if sent != MQTTErrorCode.MQTT_ERR_SUCCESS or number is None:
            return False
        return self._wait(lambda: number in self._answered or not self._up) and number in self._answered

    def _wait(self, condition: Callable[[], bool], limit_s: float = ANSWER_S) -> bool:
        with self._changed:
            return self._changed.wait_for(condition, limit_s)

    # ---- in paho's thread ----

    def _on_connect(self, client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        with self._changed:
            self._up = client is self._client and not reason.is_failure
            self._over = reason.is_failure
            self._changed.notify_all()

    def _on_disconnect(self, client: mqtt.Client, *_: Any) -> None:
        with self._changed:
            if client is self._client or self._client is None:
                self._up, self._over = False, True
            self._changed.notify_all()

    def _on_answer(self, _client: mqtt.Client, _data: Any, number: int, *_: Any) -> None:
        with self._changed:
            self._answered.add(number)
            self._changed.notify_all()

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        if message.retain:
            return
        with self._changed:
            self.heard.setdefault(message.topic, set()).add(bytes(message.payload))
            self._changed.notify_all()


def _without_delay(_client: mqtt.Client, _data: Any, opened: Any) -> None:
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def stays_up(talker: Talker, seconds: float) -> bool:
    """Whether the connection is still there after so many seconds."""
    deadline = time.monotonic() + seconds
    while talker.up and time.monotonic() < deadline:
        time.sleep(0.02)
    return talker.up and talker.settle()
