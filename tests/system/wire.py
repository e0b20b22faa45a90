"""A tap on the wire between clients and a broker: it reads the MQTT packets, keeps them, and can do harm to them."""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from dcka.broker import BrokerUrl

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE = 1, 2, 3, 4, 8
UNAVAILABLE = b"\x20\x02\x00\x03"  # CONNACK, return code 3
SMALL = 1 << 14


class Packet(NamedTuple):
    """`connection` counts from 0; `client`: the id that its CONNECT gave. `up`: to the broker. `flags`: the low half of
    the first byte. `body`: all behind the length."""

    at: float
    connection: int
    client: str
    up: bool
    kind: int
    flags: int
    body: bytes

    @property
    def topic(self) -> str:
        """Of a PUBLISH."""
        return _field(self.body, 0).decode()

    @property
    def payload(self) -> bytes:
        """Of a PUBLISH."""
        start = 2 + int.from_bytes(self.body[:2], "big") + (2 if self.flags & 6 else 0)
        return self.body[start:]

    @property
    def retain(self) -> bool:
        """Of a PUBLISH."""
        return bool(self.flags & 1)

    @property
    def session_present(self) -> bool:
        """Of a CONNACK."""
        return bool(self.body[0] & 1)

    def raw(self) -> bytes:
        """As it travels."""
        return framed(self.kind << 4 | self.flags, self.body)


def framed(first: int, body: bytes) -> bytes:
    """A packet: its first byte, the length, the body."""
    length, left = bytearray(), len(body)
    while True:
        length.append(left & 127 | (128 if left > 127 else 0))
        left >>= 7
        if not left:
            return bytes([first]) + bytes(length) + body


def publish(topic: str, payload: bytes, flags: int = 0, number: int = 0) -> bytes:
    """A PUBLISH; `number` is its packet id where `flags` ask for QoS 1 (2; 8 says that it comes again)."""
    name = topic.encode()
    return framed(
        PUBLISH << 4 | flags,
        len(name).to_bytes(2, "big") + name + (number.to_bytes(2, "big") if flags & 6 else b"") + payload,
    )


class _Way:
    """One direction of a connection: what has come and is no whole packet yet."""

    def __init__(self, number: int, up: bool, here: socket.socket, there: socket.socket) -> None:
        self.number, self.up, self.here, self.there = number, up, here, there
        self.pending = bytearray()


class Wire:
    """Up in a `with` block; clients connect to `url`. `packets`: all that has passed, in order.

    `change`: called with each packet in the wire's thread; what it returns goes on in its place. `unavailable`: while
    set, who connects is answered that the broker is not available; `refused` counts. `hold`: while set, nothing is read
    from the broker, as if the clients were too slow; sockets hold little then.
    """

    def __init__(self, broker: Callable[[], BrokerUrl]) -> None:
        self._broker = broker
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._open: dict[socket.socket, _Way] = {}
        self._clients: dict[int, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="wire", daemon=True)
        self.packets: list[Packet] = []
        self.change: Callable[[Packet], Iterable[bytes]] | None = None
        self.unavailable = threading.Event()
        self.refused = 0
        self.hold = threading.Event()
        self.url = BrokerUrl("127.0.0.1", self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for end in (*self._open, self._listener):
            end.close()
        self._selector.close()

    def of(self, kind: int, client: str | None = None, *, up: bool = True) -> list[Packet]:
        """The packets of this kind so far (of one client)."""
        found = [one for one in list(self.packets) if one.kind == kind and one.up == up]
        return [one for one in found if client in (None, one.client)]

    # ---- in the wire's thread ----

    def _work(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.02):
                if key.data is None:
                    self._accept()
                elif key.data.here in self._open and (key.data.up or not self.hold.is_set()):
                    self._read(key.data)
            if self.hold.is_set():
                time.sleep(0.005)  # what is not read stays ready to be

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        if self.unavailable.is_set():
            near.settimeout(1.0)
            with contextlib.suppress(OSError), near:
                if near.recv(1000):  # not what only knocks
                    self.refused += 1
                    near.sendall(UNAVAILABLE)
            return
        far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        broker = self._broker()
        try:
            far.connect((broker.host, broker.port))
        except OSError:  # the broker is away
            near.close()
            far.close()
            return
        number = len(self._clients)
        self._clients[number] = ""
        for up, here, there in ((True, near, far), (False, far, near)):
            here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open[here] = way = _Way(number, up, here, there)
            self._selector.register(here, selectors.EVENT_READ, way)

    def _read(self, way: _Way) -> None:
        try:
            data = way.here.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self._close(way)
            return
        way.pending += data
        while packet := self._taken(way):
            changed = [packet.raw()] if self.change is None else self.change(packet)
            with contextlib.suppress(OSError):  # the other end has gone: its own event says so
                for one in changed:
                    way.there.sendall(one)

    def _taken(self, way: _Way) -> Packet | None:
        """The next whole packet that has come this way."""
        length, shift, place = 0, 0, 1
        while True:
            if place >= len(way.pending):
                return None
            byte = way.pending[place]
            length |= (byte & 127) << shift
            shift, place = shift + 7, place + 1
            if not byte & 128:
                break
        if len(way.pending) < place + length:
            return None
        first, body = way.pending[0], bytes(way.pending[place : place + length])
        del way.pending[: place + length]
        if way.up and first >> 4 == CONNECT:
            self._clients[way.number] = _field(body, 10).decode()  # behind "MQTT", level, flags, keepalive
        client = self._clients[way.number]
        packet = Packet(time.monotonic(), way.number, client, way.up, first >> 4, first & 15, body)
        self.packets.append(packet)
        return packet

    def _close(self, way: _Way) -> None:
        for end in (way.here, way.there):
            if self._open.pop(end, None):
                self._selector.unregister(end)
                end.close()


def _field(body: bytes, start: int) -> bytes:
    length = int.from_bytes(body[start : start + 2], "big")
    return body[start + 2 : start + 2 + length]
