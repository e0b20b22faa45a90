"""Is the broker there? One connection attempt an address for all the nodes of a process, and none of them blocks.

paho connects a socket and waits for it: with a broker that is away, each node would stop all the others for
seconds. So nodes connect only when a bare socket has just shown that the port takes connections, and, where they are
encrypted, that a handshake comes to its end.
"""

import errno
import random
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from dcka.broker.encryption import BrokerContext, broker_context
from dcka.broker.url import BrokerUrl, order_for
from dcka.emulation.loop import EVENT_READ, EVENT_WRITE, Loop

# As on a board (firmware/dcka_device/link.py): asked again after 250 ms, then twice as long each time, up to 2 s.
RETRY_S = 0.25
RETRY_CAP_S = 2.0
# A lost SYN is sent again after 1 s: two chances.
ANSWER_S = 3.0
# The gate has just seen the broker make one; while a node makes its own, all the others wait.
HANDSHAKE_S = 1.0


class Gates:
    """The gates to all addresses of a broker. `context`: of the nodes' connections through them; None where they are
    not encrypted.
    """

    def __init__(self, loop: Loop, broker: BrokerUrl, handshake_s: float = HANDSHAKE_S) -> None:
        def context(address: BrokerUrl) -> BrokerContext | None:
            return broker_context(address, handshake_s) if address.tls else None

        self.context = context(broker)
        self._gates = [
            Gate(loop, address.host, address.port, context(address)) for address in broker.addresses
        ]

    def order_for(self, node: int) -> tuple["Gate", ...]:
        """In the order in which the node tries them."""
        return order_for(node, self._gates)

    def close(self) -> None:
        """Ask at none of them any more."""
        for gate in self._gates:
            gate.close()


class Gate:
    """`ask` for the way to one address of the broker: the callback gets the IP address that took a connection a moment
    ago.

    `context`: of the encrypted connections to it; None where they are not.
    """

    def __init__(self, loop: Loop, host: str, port: int, context: BrokerContext | None = None) -> None:
        self.port = port
        self.context = context
        self._loop = loop
        self._where = (host, port)
        self._addresses: list[tuple[socket.AddressFamily, Any]] = []
        self._waiting: dict[Callable[[str], None], Callable[[], None] | None] = {}
        self._attempt: socket.socket | None = None
        self._address = ""
        self._failures = 0
        self.last_error = ""

    def ask(self, callback: Callable[[str], None], elsewhere: Callable[[], None] | None = None) -> None:
        """Call back once when the broker's port is open, however long that takes; with `elsewhere` only until an
        attempt fails, which is then called instead."""
        self._waiting[callback] = elsewhere
        if self._attempt is None and not self._failures:
            self._try()

    def withdraw(self, callback: Callable[[str], None]) -> None:
        """Do not call back any more."""
        self._waiting.pop(callback, None)

    def close(self) -> None:
        """Ask no more."""
        self._waiting.clear()
        self._end_attempt()
        self._loop.at(self._try, None)

    def _try(self) -> None:
        if not self._waiting:
            self._failures = 0
            return
        try:
            family, address = self._next_address()
            self._address = str(address[0])
            self._attempt = socket.socket(family, socket.SOCK_STREAM)
            self._attempt.setblocking(False)
            refused = self._attempt.connect_ex(address)
        except OSError as error:
            self._failed(error.strerror or str(error))
            return
        if refused not in (0, errno.EINPROGRESS):
            self._failed(errno.errorcode.get(refused, str(refused)))
            return
        self._loop.watch(self._attempt, EVENT_WRITE, self._decided)
        self._loop.at(self._late, time.monotonic() + ANSWER_S)

    def _next_address(self) -> tuple[socket.AddressFamily, Any]:
        """Looked up once: a look-up blocks, and a reconnect must not. After a failure the next one has its turn."""
        if not self._addresses:
            infos = socket.getaddrinfo(*self._where, type=socket.SOCK_STREAM)
            self._addresses = [(info[0], info[4]) for info in infos]
        return self._addresses[self._failures % len(self._addresses)]

    def _decided(self) -> None:
        if self._attempt is None:
            return
        refused = self._attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if refused:
            self._failed(errno.errorcode.get(refused, str(refused)))
        elif self.context is None:
            self._open()
        else:
            self._loop.forget(self._attempt)
            self._attempt = self.context.begun(self._attempt)
            self._shake_hands()

    def _shake_hands(self) -> None:
        if self.context is None or not isinstance(self._attempt, ssl.SSLSocket):
            return
        try:
            self._attempt.do_handshake()
        except ssl.SSLWantReadError:
            self._loop.watch(self._attempt, EVENT_READ, self._shake_hands)
        except ssl.SSLWantWriteError:
            self._loop.watch(self._attempt, EVENT_WRITE, self._shake_hands)
        except OSError as error:
            self._failed(str(self.context.told(error)))
        else:
            self._open()

    def _open(self) -> None:
        self._end_attempt()
        # The address that works is the first one next time.
        self._addresses.sort(key=lambda known: known[1][0] != self._address)
        self._failures = 0
        waiting, self._waiting = self._waiting, {}
        for callback in waiting:
            callback(self._address)

    def _late(self) -> None:
        self._failed("no answer")

    def _failed(self, reason: str) -> None:
        self.last_error = reason
        self._end_attempt()
        pause = min(RETRY_CAP_S, RETRY_S * 2 ** min(self._failures, 8))
        self._failures += 1
        self._loop.at(self._try, time.monotonic() + pause * random.uniform(0.75, 1.0))
        leaving = [(callback, other) for callback, other in self._waiting.items() if other is not None]
        for callback, elsewhere in leaving:
            self.withdraw(callback)
            elsewhere()

    def _end_attempt(self) -> None:
        self._loop.at(self._late, None)
        if self._attempt is not None:
            self._loop.forget(self._attempt)
            self._attempt.close()
            self._attempt = None
