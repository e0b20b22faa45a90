"""A broker with locks on this computer: start it out of its folder, and tell one that runs to read its files again."""

import contextlib
import fcntl
import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from dcka.broker import BrokerError, BrokerUrl, NoAnswer, NotListening, probe
from dcka.broker.folder import BrokerFolder, Doors, door
from dcka.broker.mosquitto import find_mosquitto
from dcka.config import write_whole
from dcka.errors import UsageError
from dcka.processes import Child, ProcessGroup
from dcka.security.authority import ends
from dcka.security.mosquitto_files import CONFIGURATION
from dcka.security.nats_files import FOLDER as SERVERS

START_S = 10.0
POLL_S = 0.02
ANSWER_S = 1.0
# Who reads that a certificate ends within a month has time to renew it.
WARN = timedelta(days=30)
_LOG = logging.getLogger("mosquitto")
_PID, _LOCK = "pid", "broker.lock"


class SecuredBroker:
    """mosquitto with the folder's configuration, up in a `with` block. From the main thread only.

    Entering it raises UsageError for a certificate that has expired, BrokerError where there is no mosquitto, a
    port is in use, another broker uses the folder, or it ended at once, with what it said.
    """

    def __init__(self, folder: BrokerFolder, doors: Doors) -> None:
        self._folder = folder
        self._doors = doors
        self._resources = contextlib.ExitStack()
        self._child: Child | None = None

    @property
    def url(self) -> BrokerUrl:
        """The host's way to it on this computer."""
        return door(self._folder, self._doors, address=self._doors.here)

    @property
    def pid(self) -> int | None:
        """The server's process id, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def lines(self) -> list[str]:
        """The last lines of its log."""
        return [] if self._child is None else self._child.lines()

    def __enter__(self) -> Self:
        program = find_mosquitto()
        if program is None:
            raise BrokerError(
                "mosquitto is not installed here: apt-get install mosquitto, or brew install mosquitto"
            )
        require_valid(self._folder)
        with contextlib.ExitStack() as stack:
            stack.enter_context(locked(self._folder))
            self._require_free()
            group = stack.enter_context(ProcessGroup())
            self._child = group.start(
                [program, "-c", (self._folder.path / CONFIGURATION).absolute()],
                name="mosquitto",
                cwd=self._folder.path,
                on_line=_LOG.debug,
                death_signal=signal.SIGTERM,  # it saves what is retained
            )
            self._await_ready(self._child)
            stack.enter_context(note_pid(self._folder.path, self._child.pid))
            self._resources = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def _require_free(self) -> None:
        for address in self._doors.bind or ("",):
            for port in (self._doors.node_port, self._doors.host_port):
                require_free(address, port)

    def _await_ready(self, child: Child) -> None:
        deadline = time.monotonic() + START_S
        while True:
            if child.poll() is not None:
                raise BrokerError(f"mosquitto ended at once (exit code {child.poll()}){_said(child)}")
            try:
                probe(self.url, ANSWER_S)
            except (NotListening, NoAnswer) as error:
                if time.monotonic() > deadline:
                    raise BrokerError(
                        f"mosquitto gave no answer in {START_S:g} s ({error}){_said(child)}"
                    ) from error
                time.sleep(POLL_S)
            else:
                return


def require_valid(folder: BrokerFolder) -> datetime:
    """When the broker's certificate ends. Raises UsageError where it has: it would start and serve nobody."""
    until = ends(folder.certificate)
    if until <= datetime.now(UTC):
        raise UsageError(
            f"the broker's certificate {folder.certificate} expired on {until:%Y-%m-%d}: dcka broker renew"
        )
    return until


def running_pid(folder: BrokerFolder) -> int | None:
    """The process id of the broker that `dcka broker up` runs out of this folder; None where none does."""
    lock = folder.path / _LOCK
    try:
        with lock.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
    except BlockingIOError:
        pass
    except OSError:
        return None
    try:
        return int((folder.path / _PID).read_text())
    except (OSError, ValueError):
        return None


def reload(folder: BrokerFolder) -> bool:
    """Tell the broker that runs here to read passwords, rules and certificate again; False where none runs.

    mosquitto and NATS do so on SIGHUP: who logged in with what has changed is cut off, and nobody else notices.
    """
    places = (folder.path, *sorted((folder.path / SERVERS).glob("*")))
    pids = [pid for place in places if (pid := running_pid(BrokerFolder(place))) is not None]
    told = [_told(pid) for pid in pids]
    return any(told)


def _told(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGHUP)
    except ProcessLookupError:
        return False
    except PermissionError as error:
        raise BrokerError(f"the broker (process {pid}) is another user's: run this as that user") from error
    return True


@contextlib.contextmanager
def note_pid(place: Path, pid: int | None) -> Iterator[None]:
    """Say for so long which process runs the server of a folder."""
    write_pid(place, pid)
    try:
        yield
    finally:
        (place / _PID).unlink(missing_ok=True)


def write_pid(place: Path, pid: int | None) -> None:
    """Say which process runs the server of a folder. Raises StateError."""
    write_whole(place / _PID, f"{pid}\n".encode(), 0o600)


@contextlib.contextmanager
def locked(folder: BrokerFolder) -> Iterator[None]:
    """Two brokers with one store would spoil it. The lock goes with this process, however it ends."""
    file = folder.path / _LOCK
    try:
        stream = file.open("w")
    except OSError as error:
        raise BrokerError(f"the broker cannot use the folder {folder.path}: {error.strerror}") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BrokerError(
                f"a broker runs out of {folder.path} already: use that one, or stop it"
            ) from error
        yield


def require_free(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
        except OSError as error:
            where = f"port {port}" + (f" on {address}" if address else "")
            raise BrokerError(
                f"{where}: {(error.strerror or str(error)).lower()}: stop what listens there, or choose others with "
                "dcka broker init --port N"
            ) from error


def _said(child: Child) -> str:
    lines = [line.strip() for line in child.lines() if line.strip()]
    return f"; it said: {' | '.join(lines[-3:])}" if lines else "; it said nothing"


def certificate_note(folder: BrokerFolder) -> str | None:
    """A sentence where the certificate ends soon."""
    until = require_valid(folder)
    if until - datetime.now(UTC) > WARN:
        return None
    return f"the broker's certificate expires on {until:%Y-%m-%d}: renew it with dcka broker renew"
