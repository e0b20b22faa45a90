"""The servers of a NATS cluster on this computer: start one, wait until it lets clients in, lose it, bring it back."""

import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from dcka.broker.base import HOST, BrokerError, free_port, template_text
from dcka.broker.cluster_files import Member, configuration
from dcka.broker.embedded import nats_server
from dcka.broker.probe import NoAnswer, NotListening, probe
from dcka.broker.url import BrokerUrl, joined
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

TEMPLATE = "nats-cluster.conf"
CONFIGURATION = "nats.conf"
# Servers that have just begun agree on a leader within seconds; a client that comes before that is answered late.
START_S = 40.0
ANSWER_S = 3.0
POLL_S = 0.02
_READY = "Server is ready"


class ClusterServer:
    """One server, out of the folder with its configuration. From the main thread only (see `dcka.processes`)."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self._group = ProcessGroup()
        self._child: Child | None = None

    @property
    def pid(self) -> int | None:
        """The server's process id, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def lines(self) -> list[str]:
        """The last lines of its log."""
        return [] if self._child is None else self._child.lines()

    def start(self) -> None:
        """Start it and wait until its ports are its own; it lets nobody in before most of the others are there.

        Raises BrokerError: no such server here, a port in use, or it ended at once, with what it said.
        """
        if self.pid is not None:
            return
        program = nats_server()
        self._forget()
        child = self._child = self._group.start(
            [program, "--config", str((self.folder / CONFIGURATION).absolute())],
            name=f"NATS server {self.name}",
            cwd=self.folder,
            death_signal=signal.SIGTERM,
        )
        deadline = time.monotonic() + START_S
        while not any(_READY in line for line in child.lines()):
            if child.poll() is not None:
                said = " | ".join(line.strip() for line in child.lines()[-3:])
                raise BrokerError(f"the NATS server {self.name} ended at once; it said: {said or 'nothing'}")
            if time.monotonic() > deadline:
                raise BrokerError(f"the NATS server {self.name} was not ready within {START_S:g} s")
            time.sleep(POLL_S)

    def kill(self) -> None:
        """End it without warning, as a crash would; its folder stays."""
        if self._child is not None:
            self._child.kill()

    def stop(self) -> None:
        """End it as it wants to be ended."""
        self._group.stop()
        self._forget()

    def _forget(self) -> None:
        for child in self._group.children:
            self._group.forget(child)
        self._child = None


class LocalCluster:
    """`servers` NATS servers on loopback, without passwords, as the embedded broker: for tests and measurements.

    Up in a `with` block, once all of them let clients in; `url` has all their addresses. `clients`: how many there will
    be. Without `folder` what they keep goes with them.
    """

    def __init__(self, servers: int = 3, clients: int = 1000, folder: Path | None = None) -> None:
        self._count = servers
        self._clients = clients
        self._folder = folder
        self._resources = contextlib.ExitStack()
        self.members: tuple[Member, ...] = ()
        self.servers: tuple[ClusterServer, ...] = ()

    @property
    def url(self) -> BrokerUrl:
        """All addresses. Raises BrokerError before it is started."""
        if not self.members:
            raise BrokerError("the cluster is not started")
        return joined([BrokerUrl(member.host, member.port) for member in self.members])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Raises BrokerError as `ClusterServer.start`, and where they do not get together."""
        try:
            base = self._folder or self._resources.enter_context(scratch_folder("cluster"))
            ports = iter([free_port() for _ in range(2 * self._count)])
            self.members = tuple(
                Member(f"server{number + 1}", HOST, next(ports), next(ports), HOST)
                for number in range(self._count)
            )
            text = template_text(TEMPLATE)
            for member in self.members:
                folder = base / member.name
                folder.mkdir(parents=True, exist_ok=True)
                (folder / CONFIGURATION).write_text(
                    configuration(text, member, self.members, "dcka", folder / "store", self._clients),
                    "utf-8",
                )
                server = ClusterServer(member.name, folder)
                self._resources.callback(server.stop)
                self.servers = (*self.servers, server)
                server.start()
            await_all(self.url.addresses)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all of them, and remove what they kept, if the folder is temporary."""
        self._resources.close()
        self.servers = ()


def await_all(addresses: Sequence[BrokerUrl], limit_s: float = START_S) -> None:
    """Return once every one of the addresses lets clients in. Raises BrokerError, naming one that does not."""
    deadline = time.monotonic() + limit_s
    for address in addresses:
        while True:
            try:
                probe(address, ANSWER_S)
                break
            except (NotListening, NoAnswer) as error:
                if time.monotonic() > deadline:
                    raise BrokerError(
                        f"the cluster lets nobody in within {limit_s:g} s: {error}; most of its servers have to run"
                    ) from error
                time.sleep(POLL_S)
