"""A broker's end of TCP connections, for tests of what stands between it and the nodes: it says what it is told to."""

import queue
import socket
import ssl
import threading
from typing import Self

from certificates import Pair

from dcka.broker import BrokerUrl

LIMIT_S = 60.0


def publish(topic: str, payload: bytes = b"", *, retained: bool = False) -> bytes:
    """A PUBLISH of QoS 0, as a broker sends it."""
    name = topic.encode()
    body = len(name).to_bytes(2, "big") + name + payload
    return bytes([0x31 if retained else 0x30]) + _length(len(body)) + body


def _length(value: int) -> bytes:
    coded = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        coded.append(low | (0x80 if value else 0))
        if not value:
            return bytes(coded)


class Peer:
    """One end of a connection, read packet by packet."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.settimeout(LIMIT_S)
        self._stream = connection.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def packet(self) -> bytes:
        """The next packet; b"" at the end of the connection."""
        first = self._stream.read(1)
        if not first:
            return b""
        coded = bytearray()
        while not coded or coded[-1] & 0x80:
            coded += self._stream.read(1)
        size = sum((part & 0x7F) << 7 * place for place, part in enumerate(coded))
        return first + bytes(coded) + self._stream.read(size)

    def until(self, last: bytes) -> list[bytes]:
        """The packets before `last`."""
        return list(iter(self.packet, last))

    def close(self) -> None:
        self._stream.close()
        self.socket.close()


class FakeBroker:
    """It listens in a `with` block; `peer()` is the end of the next connection that is made to it.

    Encrypted with `pair`; a handshake that fails makes no peer.
    """

    def __init__(self, pair: Pair | None = None) -> None:
        self._context = None if pair is None else ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self._context is not None and pair is not None:
            self._context.load_cert_chain(pair.certificate, pair.key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._peers: queue.Queue[Peer] = queue.Queue()
        self._made: list[Peer] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self.url = BrokerUrl("127.0.0.1", self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(LIMIT_S)
        for peer in self._made:
            peer.close()

    def peer(self) -> Peer:
        return self._peers.get(timeout=LIMIT_S)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                encrypted = self._context and self._context.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                continue
            self._made.append(Peer(encrypted or connection))
            self._peers.put(self._made[-1])
