"""Servers that speak TLS, well or badly, for tests of those who connect to them."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from certificates import Pair
from servers import free_port, require_mosquitto

from dcka.broker import BrokerUrl, await_broker
from dcka.processes import Child, ProcessGroup

Talk = Callable[[ssl.SSLSocket], None]


class TwoDoors(NamedTuple):
    """One broker: a port for TLS, which is what a test is about, and one without, to look at what happens."""

    tls_port: int
    plain: BrokerUrl
    again: Callable[[], Child]
    """Ends it, and starts it again on the same ports."""


@contextlib.contextmanager
def mosquitto_with(pair: Pair, folder: Path) -> Iterator[TwoDoors]:
    """A mosquitto with this certificate."""
    program = require_mosquitto()
    tls_port, plain = free_port(), BrokerUrl("127.0.0.1", free_port())
    configuration = folder / f"mosquitto-{tls_port}.conf"
    lines = (
        "allow_anonymous true",
        "persistence false",
        "set_tcp_nodelay true",
        "user root",
        f"listener {plain.port} 127.0.0.1",
        f"listener {tls_port} 127.0.0.1",
        f"certfile {pair.certificate}",
        f"keyfile {pair.key}",
    )
    configuration.write_text("\n".join(lines) + "\n")
    with ProcessGroup() as group:

        def start() -> Child:
            for child in group.children:
                child.stop()
                group.forget(child)
            made = group.start([program, "-c", configuration])
            await_broker(plain)
            return made

        start()
        yield TwoDoors(tls_port, plain, start)


@contextlib.contextmanager
def tls_server(pair: Pair, talk: Talk) -> Iterator[int]:
    """A port where each client in turn gets a handshake and then `talk`, until the block ends.

    A handshake that the client breaks off is no error here.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        while not over.is_set():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                with context.wrap_socket(connection, server_side=True) as encrypted:
                    talk(encrypted)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        port = listener.getsockname()[1]
        try:
            yield port
        finally:
            over.set()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                pass
            thread.join()
