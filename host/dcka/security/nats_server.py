"""Servers of a NATS cluster with locks on this computer, out of the folder that `dcka broker init` wrote."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from dcka.broker import BrokerUrl
from dcka.broker.cluster import ClusterServer, await_all
from dcka.broker.cluster_files import Member
from dcka.broker.folder import BrokerFolder, Doors, door
from dcka.config import write_whole
from dcka.errors import UsageError
from dcka.security.nats_files import FOLDER
from dcka.security.server import locked, note_pid, require_free, require_valid, write_pid


class SecuredServers:
    """Some or all servers of the cluster, up in a `with` block. From the main thread only.

    `names`: which; none: all, where they are all this computer's own. Entering it raises UsageError for a server that
    is not the cluster's and for a certificate that has expired, BrokerError where there is no NATS server, a port is in
    use, another process runs that server, or it ended at once, with what it said. Where all are started, they let
    clients in from then on; one alone does once most of the others run.
    """

    def __init__(self, folder: BrokerFolder, doors: Doors, names: Sequence[str] = ()) -> None:
        self._folder = folder
        self._doors = doors
        self.members = _chosen(doors, names)
        self.servers: dict[str, ClusterServer] = {}
        self._resources = contextlib.ExitStack()

    @property
    def url(self) -> BrokerUrl:
        """The host's way to the cluster."""
        return door(self._folder, self._doors)

    @property
    def pid(self) -> int | None:
        """The process id of the first server that runs; None where none does."""
        return next((server.pid for server in self.servers.values() if server.pid is not None), None)

    def ended(self) -> dict[str, list[str]]:
        """The servers that have ended by themselves, with the last lines that each said."""
        return {name: server.lines()[-3:] for name, server in self.servers.items() if server.pid is None}

    def restart(self, name: str) -> None:
        """Start a server again that has ended. Raises BrokerError as `ClusterServer.start`."""
        server = self.servers[name]
        server.start()
        write_pid(server.folder, server.pid)

    def __enter__(self) -> Self:
        require_valid(self._folder)
        with contextlib.ExitStack() as stack:
            for member in self.members:
                self._start(member, stack)
            if len(self.members) == len(self._doors.servers):
                await_all(self.url.addresses)
            self._resources = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    def _start(self, member: Member, stack: contextlib.ExitStack) -> None:
        place = server_folder(self._folder, member)
        stack.enter_context(locked(BrokerFolder(place)))
        for port in (member.port, member.route_port):
            require_free(member.bind or "", port)
        server = self.servers[member.name] = ClusterServer(member.name, place)
        stack.callback(server.stop)
        server.start()
        stack.enter_context(note_pid(place, server.pid))


def server_folder(folder: BrokerFolder, member: Member) -> Path:
    """What one server needs, all of it: the folder can be copied to the computer that runs it."""
    return folder.path / FOLDER / member.name


def write_server(folder: BrokerFolder, member: Member, texts: dict[str, bytes]) -> None:
    """Put files of its own into the folder of a server, for its owner alone. Raises StateError."""
    for name, content in texts.items():
        write_whole(server_folder(folder, member) / name, content, 0o600)


def _chosen(doors: Doors, names: Sequence[str]) -> tuple[Member, ...]:
    known = {member.name: member for member in doors.servers}
    for name in names:
        if name not in known:
            raise UsageError(f"--server {name}: the servers of this cluster are {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else doors.servers
