"""Somebody at the broker who listens to all that a network says, and says what he likes."""

import contextlib
import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from dcka.bench.errors import BenchError
from dcka.broker import BrokerUrl
from dcka.broker.encryption import broker_context

GRANTED_S = 10.0
MOST_WAITING = 1000
"""Of messages that are not written yet; more would only fill the memory."""


class Outsider:
    """A client of its own name, in a `with` block. `heard`: (suffix, payload) of all that is said in the network, while
    it listens. Raises BenchError where the broker does not let it in."""

    def __init__(self, url: BrokerUrl, network: str, listen: bool = True) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self._prefix = f"dcka/{network}/"
        self._url = url
        self._listen = listen
        self._ready = threading.Event()
        self._over = threading.Event()
        self._speaking: list[threading.Thread] = []
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=f"outsider-{network}")
        if url.tls:
            self._client.tls_set_context(broker_context(url))
        if url.username:
            self._client.username_pw_set(url.username, url.password)
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = lambda *_: self._ready.set()
        self._client.on_message = self._on_message

    def __enter__(self) -> Self:
        self._client.connect(self._url.host, self._url.port)
        self._client.loop_start()
        if not self._ready.wait(GRANTED_S):
            self.__exit__(None, None, None)
            raise BenchError(f"{self._url}: the broker did not let the outsider in within {GRANTED_S:g} s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._speaking:
            thread.join()
        with contextlib.suppress(ValueError):
            self._client.disconnect()
        self._client.loop_stop()

    def say(self, suffix: str, payload: bytes, retain: bool = False) -> None:
        """Publish to `dcka/<net>/<suffix>`, and do not fill the memory where the broker is slower."""
        info = self._client.publish(self._prefix + suffix, payload, retain=retain)
        if info.mid % MOST_WAITING == 0:
            while not info.is_published() and not self._over.wait(0.002):
                pass

    def say_all(self, messages: Iterable[tuple[str, bytes]]) -> threading.Thread:
        """Publish them in a thread of its own."""

        def speak() -> None:
            for suffix, payload in messages:
                if self._over.is_set():
                    return
                self.say(suffix, payload)

        thread = threading.Thread(target=speak, name="outsider", daemon=True)
        self._speaking.append(thread)
        thread.start()
        return thread

    def _on_connect(self, client: mqtt.Client, *_: Any) -> None:
        if self._listen:
            client.subscribe(self._prefix + "#")
        else:
            self._ready.set()

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        if not self._over.is_set():
            self.heard.append((message.topic.removeprefix(self._prefix), bytes(message.payload)))

    def stop_listening(self) -> None:
        """Hear no more: what is said from now on is not kept."""
        self._client.unsubscribe(self._prefix + "#")
        time.sleep(0)
