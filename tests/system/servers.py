"""Brokers for tests, on free loopback ports, gone at the end of their block; and a client to look at them."""

import contextlib
import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from dcka.broker import Broker, BrokerUrl, await_broker, open_broker
from dcka.broker.mosquitto import find_mosquitto
from dcka.processes import ProcessGroup

ENGINES = ("embedded", "mosquitto")
LIMIT_S = 60.0
"""How long a test waits for what must come: much longer than it takes, on a busy machine too."""


def require_mosquitto() -> Path:
    """Where it is; without it the test is skipped, and in CI, which installs it, fails."""
    found = find_mosquitto()
    if found is not None:
        return found
    sentence = "mosquitto is not installed here: apt-get install mosquitto, or brew install mosquitto"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


@contextlib.contextmanager
def running(engine: str, port: int | None = None, folder: Path | None = None) -> Iterator[Broker]:
    """A broker of this engine. The test is skipped where the engine is not installed."""
    if engine == "mosquitto":
        require_mosquitto()
    with open_broker(engine, port, folder) as broker:
        yield broker


def wait_until(condition: Callable[[], bool], what: str, limit: float = LIMIT_S) -> None:
    """Look again and again until `condition` holds; `what` says what did not come."""
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit} s: {what}"
        time.sleep(0.002)


def is_running(pid: int) -> bool:
    """False also for a zombie: an orphan may wait for a slow init to reap it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    return not stat.parent.parent.is_dir()


def free_port() -> int:
    """A port of loopback that nobody had a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def mosquitto_with_password(folder: Path, username: str, password: str) -> Iterator[BrokerUrl]:
    """A mosquitto that lets in this user alone; the URL has the right password."""
    program = require_mosquitto()
    passwords = folder / "passwords"
    subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, username, password], check=True)
    url = BrokerUrl("127.0.0.1", free_port(), username, password)
    configuration = folder / "password.conf"
    lines = (f"listener {url.port} 127.0.0.1", f"password_file {passwords}", "persistence false", "user root")
    configuration.write_text("\n".join(lines) + "\n")
    with ProcessGroup() as group:
        group.start([program, "-c", configuration])
        await_broker(url)
        yield url


@contextlib.contextmanager
def silent_server() -> Iterator[BrokerUrl]:
    """It takes TCP connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield BrokerUrl("127.0.0.1", listener.getsockname()[1])


@contextlib.contextmanager
def frozen_client(url: BrokerUrl, name: str, will: tuple[str, bytes], keepalive: int) -> Iterator[None]:
    """A client that connects, and then neither reads nor pings, with the connection open."""

    def field(value: bytes) -> bytes:
        return len(value).to_bytes(2, "big") + value

    flags = 0x26  # a retained will of QoS 0, a clean session
    body = field(b"MQTT") + bytes([4, flags]) + keepalive.to_bytes(2, "big")
    body += field(name.encode()) + field(will[0].encode()) + field(will[1])
    assert len(body) < 128  # one byte for the length
    with socket.create_connection((url.host, url.port), LIMIT_S) as connection:
        connection.sendall(bytes([0x10, len(body)]) + body)
        assert connection.recv(4) == bytes([0x20, 2, 0, 0])
        yield


class Message(NamedTuple):
    """What a client got; `retained` is the flag of MQTT: kept for those who subscribe later."""

    topic: str
    payload: bytes
    retained: bool


class TestClient:
    """An MQTT client that waits for what a test expects: connected when built, subscriptions acknowledged."""

    __test__ = False

    def __init__(self, url: BrokerUrl, name: str, *, will: tuple[str, bytes] | None = None) -> None:
        self.messages: queue.Queue[Message] = queue.Queue()
        self.connected = threading.Event()
        self.disconnected = threading.Event()
        self._acknowledged: queue.Queue[list[str]] = queue.Queue()
        self._client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=name, reconnect_on_failure=False, userdata=self
        )
        self._set_callbacks()
        if will is not None:
            self._client.will_set(will[0], will[1], retain=True)
        self._client.connect(url.host, url.port)
        self._client.loop_start()
        assert self.connected.wait(LIMIT_S), f"{name} is not connected"

    def _set_callbacks(self) -> None:
        def on_socket_open(_client: mqtt.Client, _data: Any, sock: Any) -> None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def on_connect(_client: mqtt.Client, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
            if not reason.is_failure:
                self.connected.set()

        def on_disconnect(*_: Any) -> None:
            self.disconnected.set()

        def on_message(_client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
            self.messages.put(Message(message.topic, bytes(message.payload), message.retain))

        def on_acknowledged(_client: mqtt.Client, _data: Any, _id: int, reasons: Any, _more: Any) -> None:
            self._acknowledged.put([str(reason) for reason in reasons])

        self._client.on_socket_open = on_socket_open
        self._client.on_connect = on_connect
        self._client.on_disconnect = on_disconnect
        self._client.on_message = on_message
        self._client.on_subscribe = on_acknowledged
        self._client.on_unsubscribe = on_acknowledged

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def subscribe(self, *filters: str) -> None:
        """Returns once the broker has granted them all."""
        self._client.subscribe([(name, 0) for name in filters])
        assert self._acknowledged.get(timeout=LIMIT_S) == ["Granted QoS 0"] * len(filters)

    def unsubscribe(self, name: str) -> None:
        """Returns once the broker has acknowledged it."""
        self._client.unsubscribe(name)
        self._acknowledged.get(timeout=LIMIT_S)

    def publish(self, topic: str, payload: bytes = b"", *, retain: bool = False) -> None:
        """QoS 0."""
        self._client.publish(topic, payload, qos=0, retain=retain)

    def next(self, limit: float = LIMIT_S) -> Message:
        """The next message."""
        return self.messages.get(timeout=limit)

    def received(self, publisher: "TestClient") -> list[Message]:
        """All that comes before a message that `publisher` sends now.

        A publisher's messages come in their order, so it is all that was sent before, and no time is guessed.
        """
        mark = Message(f"mark/{time.monotonic_ns()}", b"", False)
        self.subscribe(mark.topic)
        publisher.publish(mark.topic)
        return list(iter(self.next, mark))

    def cut(self) -> None:
        """Break the TCP connection without a word, as a power cut would."""
        sock = self._client.socket()
        assert isinstance(sock, socket.socket)
        sock.shutdown(socket.SHUT_RDWR)
