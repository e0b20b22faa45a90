"""What the brokers that dcka starts have in common: a free port, a folder, a verified start, an end."""

import contextlib
import errno
import fcntl
import signal
import socket
import time
from abc import ABC, abstractmethod
from pathlib import Path
from string import Template
from types import TracebackType
from typing import IO, ClassVar, Self

from dcka.broker.probe import NoAnswer, NotListening, probe
from dcka.broker.url import BrokerUrl
from dcka.errors import DckaError
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

HOST = "127.0.0.1"
START_S = 10.0  # a server is up in tens of milliseconds; this is for a machine under heavy load
POLL_S = 0.002
ANSWER_S = 0.25  # then look whether the server still lives, and ask again: somebody else may hold the port
ATTEMPTS = 5  # a free port may be taken by another between our choice and the server's

# If a server that could not have its port were still alive after this, it would have said so long before.
OWNERSHIP_S = 2.0


class BrokerError(DckaError):
    """A broker could not be started, or did not stay."""


class _PortTaken(Exception):
    """Somebody else was faster."""


class Broker(ABC):
    """A broker on loopback that is ours: `start`, use `url`, `stop`; or as a context manager.

    Without `port` a free one is taken. With `folder` the retained messages are kept there; without, all of it
    is in a temporary folder, removed at the end. From the main thread only (see `dcka.processes`).
    """

    engine: ClassVar[str]
    template: ClassVar[str]
    """Its configuration in `mqtt_broker/`."""
    ready_text: ClassVar[str]
    """What its log says once the port is its own."""

    def __init__(self, port: int | None = None, folder: Path | None = None) -> None:
        self._wanted = port
        self._folder = folder
        self._port: int | None = None
        self._child: Child | None = None
        self._group = ProcessGroup()
        self._resources = contextlib.ExitStack()

    @abstractmethod
    def _program(self) -> Path:
        """The server's executable. Raises `BrokerError` with the way to get one."""

    @abstractmethod
    def _arguments(self, configuration: Path) -> list[str]:
        """Its command line."""

    @abstractmethod
    def _settings(self, folder: Path) -> dict[str, str]:
        """What goes into the template besides the port."""

    @property
    def address(self) -> BrokerUrl:
        """Where it listens. Raises `BrokerError` before `start`."""
        if self._port is None:
            raise BrokerError(f"the {self.engine} broker is not started")
        return BrokerUrl(HOST, self._port)

    @property
    def url(self) -> str:
        """`mqtt://127.0.0.1:PORT`. Raises `BrokerError` before `start`."""
        return str(self.address)

    @property
    def pid(self) -> int | None:
        """The server's process id, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def lines(self) -> list[str]:
        """The last lines of its log."""
        return [] if self._child is None else self._child.lines()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers a client. Nothing happens if it runs.

        Raises `BrokerError`: no such server here; port or folder in use; it ended at once, with what it said.
        """
        if self.pid is not None:
            return
        program = self._program()
        if self._wanted is not None:
            _check_free(self._wanted)
        try:
            store = self._open_folder()
            self._launch_onfree_port(program, store)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it and remove its temporary folder. Nothing happens if it does not run."""
        try:
            self._group.stop()
        finally:
            self._forget_child()
            self._port = None
            self._resources.close()

    def kill(self) -> None:
        """End it without warning, as a crash would. The port and the folder are kept for `restart`."""
        if self._child is not None:
            self._child.kill()

    def restart(self) -> None:
        """Stop it if it still runs, and start it again with the same port and the same folder.

        Raises `BrokerError` as `start`, and where it was never started.
        """
        port = self.address.port
        self._group.stop()
        self._forget_child()
        try:
            self._launch(self._program(), port, self._store)
        except _PortTaken:
            raise BrokerError(f"{_in_use(port)}: the {self.engine} broker cannot come back to it") from None

    def _forget_child(self) -> None:
        for child in self._group.children:
            self._group.forget(child)
        self._child = None

    def _open_folder(self) -> Path:
        if self._folder is None:
            self._store = self._resources.enter_context(scratch_folder("broker"))
            return self._store
        self._store = self._folder.absolute()
        if not self._store.as_posix().isprintable():
            raise BrokerError(f"the broker's folder {str(self._store)!r} has a control character in its name")
        try:
            self._store.mkdir(parents=True, exist_ok=True)
            lock = self._resources.enter_context((self._store / "broker.lock").open("w"))
        except OSError as error:
            raise BrokerError(f"the broker cannot use the folder {self._store}: {error.strerror}") from error
        _lock(lock, self._store)
        return self._store

    def _launch_onfree_port(self, program: Path, store: Path) -> None:
        for _ in range(ATTEMPTS):
            port = self._wanted or free_port()
            try:
                self._launch(program, port, store)
            except _PortTaken:
                self._forget_child()
                if self._wanted is not None:
                    raise BrokerError(f"{_in_use(port)}: {_OTHER_PORT}") from None
            else:
                return
        raise BrokerError(f"{ATTEMPTS} free ports in a row were taken by others before the broker had them")

    def _launch(self, program: Path, port: int, store: Path) -> None:
        configuration = store / "broker.conf"
        filled = Template(template_text(self.template)).substitute(self._settings(store), port=port)
        try:
            configuration.write_text(filled, encoding="utf-8")
        except OSError as error:
            raise BrokerError(f"cannot write {configuration}: {error.strerror}") from error
        # With a folder to keep, let it close its files if we are killed.
        death_signal = signal.SIGKILL if self._folder is None else signal.SIGTERM
        self._port = port
        self._child = self._group.start(
            [program, *self._arguments(configuration)],
            name=f"{self.engine} broker",
            cwd=store,
            death_signal=death_signal,
        )
        self._await_ready(self._child, BrokerUrl(HOST, port))

    def _await_ready(self, child: Child, url: BrokerUrl) -> None:
        """Wait for a CONNACK, and then for the server's own word that the port is its own.

        The CONNACK alone could be another broker's, one that was faster to take the port.
        """
        deadline = time.monotonic() + START_S
        while not _answers(url):
            if time.monotonic() > deadline:
                raise BrokerError(f"the {self.engine} broker gave no answer in {START_S:g} s{_said(child)}")
            self._pause(child)
        deadline = time.monotonic() + OWNERSHIP_S
        while not any(self.ready_text in line for line in child.lines()) and time.monotonic() < deadline:
            self._pause(child)

    def _pause(self, child: Child) -> None:
        time.sleep(POLL_S)
        if child.poll() is not None:
            raise self._early_end(child)

    def _early_end(self, child: Child) -> Exception:
        if any("address already in use" in line.lower() for line in child.lines()):
            return _PortTaken()
        return BrokerError(f"the {self.engine} broker ended at once (exit code {child.poll()}){_said(child)}")


def _answers(url: BrokerUrl) -> bool:
    try:
        probe(url, ANSWER_S)
    except (NotListening, NoAnswer):
        return False
    return True


_OTHER_PORT = "stop what listens there, choose another port, or give none and a free one is taken"


def _in_use(port: int) -> str:
    return f"port {port} on {HOST} is in use"


def _said(child: Child) -> str:
    """The last lines of its log, in one."""
    lines = [line.strip() for line in child.lines() if line.strip()]
    return f"; it said: {' | '.join(lines[-3:])}" if lines else "; it said nothing"


def free_port() -> int:
    """A port of loopback that nobody had a moment ago."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def _check_free(port: int) -> None:
    if not 1 <= port <= 65535:
        raise BrokerError(f"a port is a number from 1 to 65535, not {port}")
    with socket.socket() as listener:
        # As the servers do: connections of an earlier one that are still closing are no obstacle.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise BrokerError(f"{_in_use(port)}: {_OTHER_PORT}") from error
            raise BrokerError(f"port {port} on {HOST}: {error.strerror}: choose another port") from error


def _lock(file: IO[str], folder: Path) -> None:
    """Two servers in one folder would spoil each other's files. The lock goes with this process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BrokerError(f"another broker uses {folder}: stop it, or give another folder") from error


def template_text(name: str) -> str:
    """A configuration of `mqtt_broker/`: package data in an installed dcka, the checkout's folder otherwise."""
    package = Path(__file__).parents[1]
    for folder in (package / "_mqtt_broker", package.parents[1] / "mqtt_broker"):
        if folder.is_dir():
            return (folder / name).read_text(encoding="utf-8")
    raise BrokerError(f"the broker configurations are not beside {package}: install dcka again")
