"""The application on a port, in a thread beside whoever listens to the network."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp

from dcka.broker.password_files import read_password_file
from dcka.errors import DckaError, UsageError
from dcka.monitor.listen import is_loopback

VARIABLE = "DCKA_WEB_PASSWORD"
SHORTEST = 8
PORT = 8080
START_S = 20.0
STOP_S = 3.0


class Ends(Protocol):
    """What has to know that the server is about to end: whoever streams would keep it from ending."""

    ending: bool


class ServerError(DckaError):
    """The page cannot be served."""


def required_password(
    address: str,
    file: Path | None,
    asked: str = "--web",
    why: str = "the page needs a password, for it starts and stops runs",
) -> str | None:
    """The password of what is served, from `file` or the environment; None where there is none, and none is needed.

    `asked`, `why`: for the sentence, what asks for `address`, and why it is not for everybody. Raises UsageError
    beyond loopback without a password, and for one that is too short.
    """
    password = read_password_file(file) if file is not None else os.environ.get(VARIABLE)
    if password is None:
        if is_loopback(address):
            return None
        raise UsageError(
            f"{asked} {address}: beyond this computer {why}: write one into a file that you alone can read, and name "
            f"it with --password-file FILE, or set {VARIABLE}"
        )
    if len(password) < SHORTEST:
        raise UsageError(f"the password has {len(password)} characters: {SHORTEST} are the least")
    return password


@contextlib.contextmanager
def serving(app: ASGIApp, served: Ends, address: str, port: int) -> Iterator[str]:
    """Serve for the time of the block; the page's URL. Port 0: a free one. Raises ServerError."""
    listening = _listening(address, port)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=1, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), name="web", daemon=True)
    thread.start()
    try:
        host = f"[{address}]" if ":" in address else address
        yield f"http://{host}:{listening.getsockname()[1]}/"
    finally:
        served.ending = True
        server.should_exit = True
        thread.join(STOP_S)
        listening.close()


def _listening(address: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(128)
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise ServerError(
            f"the page cannot be served on {address}, port {port}: {why}: stop what listens there, or choose another"
            " port with --web"
        ) from error
    return listening
