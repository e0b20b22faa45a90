"""Nodes under CPython: all of a network in one process of its own, with paho-mqtt, one thread, no MicroPython.

A process of its own, so that the host and the nodes do not wait for each other's interpreter lock.
"""

import json
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dcka.broker.url import BrokerUrl
from dcka.emulation.errors import EmulationError
from dcka.emulation.network import Additions, NodeFailure, checked_ids, require_node, settings
from dcka.processes import Child

__all__ = ["CPythonNetwork", "EmulationError", "NodeFailure"]

# Its start takes some tenths of a second, and a large run keeps it busy; this is for a loaded machine.
ANSWER_S = 20.0


class CPythonNetwork:
    """The emulated nodes of one network, started and stopped by a `with` block. From the main thread only.

    `folder` keeps the nodes' files (`folder/ID`, by the names that they have on a board); without it they are in
    memory. `max_message` (bytes) and `keepalive` (seconds) are a board's: what is larger is dropped and counted.
    `clocks`: by id, by how many millionths a node's clock is fast. `additions`: what not every network's nodes have.

    Raises `UsageError` for an id that comes twice or is outside 1 … 65535; starting it, for a node without a password
    where each has one.
    """

    program = "dcka.emulation.cpython_process"
    """The module that the nodes' process runs."""

    def __init__(
        self,
        network: str,
        nodes: Iterable[int],
        broker: BrokerUrl,
        *,
        folder: Path | None = None,
        max_message: int = 1024,
        keepalive: int = 10,
        clocks: Mapping[int, int] | None = None,
        additions: Additions | None = None,
    ) -> None:
        self.ids = checked_ids(nodes)
        self._folder = folder
        self._clocks = dict(clocks or {})
        self._broker = broker
        self._additions = additions or Additions()
        self._settings = {**_settings(network, broker, max_message, keepalive), **self._additions.settings}
        self._child: Child | None = None
        self._peer: socket.socket | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The id of the nodes' process, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        """Start every node, without waiting for any. Raises `EmulationError` for a folder that cannot be."""
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise EmulationError(
                    f"cannot write the nodes' files: {self._folder}: {error.strerror}"
                ) from error
        begin: dict[str, object] = {
            "settings": self._settings,
            "ids": self.ids,
            "logins": _logins(self._broker, self.ids),
            "clocks": {str(node): ppm for node, ppm in self._clocks.items()},
            "files": {
                str(node): {name: content.hex() for name, content in files.items()}
                for node, files in self._additions.files.items()
            },
            "folder": None if self._folder is None else str(self._folder.absolute()),
        }
        self._peer, other = socket.socketpair()
        self._peer.settimeout(ANSWER_S)
        self._rest = b""
        try:
            with other:
                self._child = Child(
                    # -P: what lies in the current folder is not imported.
                    [sys.executable, "-P", "-m", self.program],
                    name="nodes under CPython",
                    stdin=other.fileno(),
                )
            self._send(begin)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every node, as a power cut would: the broker publishes their wills."""
        if self._peer is not None:
            self._peer.close()
            self._peer = None
        if self._child is not None:
            self._child.stop()
            self._child = None

    def kill(self, node: int) -> None:
        """End a node at once, as a power cut would; it is no failure then. Raises `EmulationError`."""
        self._command("kill", node)

    def restart(self, node: int) -> None:
        """Start a node again with the files that it left, ending it first if it runs. Raises `EmulationError`."""
        self._command("start", node)

    def failures(self) -> list[NodeFailure]:
        """The nodes that have ended unasked, in the order of their ids, each with its reason."""
        child = self._child
        if child is None:
            return []
        answer = self._asked({"do": "failures"})
        if answer is not None:
            return [NodeFailure(**{**one, "output": tuple(one["output"])}) for one in answer["failures"]]
        code = child.wait(ANSWER_S)
        output = tuple(child.lines()[-20:])
        sentence = f"the process of the nodes under CPython ended with exit code {code}"
        last = f": {output[-1]}" if output else ""
        return [NodeFailure(node, 1 if code is None else code, sentence + last, output) for node in self.ids]

    def _command(self, what: str, node: int) -> None:
        require_node(node, self.ids)
        answer = self._asked({"do": what, "node": node})
        if answer is None:
            raise EmulationError(f"node {node} has no process any more")
        if "error" in answer:
            raise EmulationError(answer["error"])

    def _asked(self, command: dict[str, object]) -> dict[str, Any] | None:
        """The answer to a command; None where the process is gone."""
        if self._peer is None:
            return None
        try:
            self._send(command)
            while b"\n" not in self._rest:
                piece = self._peer.recv(1 << 16)
                if not piece:
                    return None
                self._rest += piece
        except TimeoutError:
            raise EmulationError(f"the nodes' process gave no answer within {ANSWER_S:g} s") from None
        except OSError:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _send(self, record: dict[str, object]) -> None:
        if self._peer is not None:
            self._peer.sendall(json.dumps(record).encode() + b"\n")


def _settings(network: str, broker: BrokerUrl, max_message: int, keepalive: int) -> dict[str, object]:
    """As node.json says it, but that a process of this machine reads the authority's file where it is."""
    plain = replace(broker, tls=False)
    said = settings(network, plain, max_message, keepalive)
    if not broker.tls:
        return said
    ca = None if broker.ca is None else str(broker.ca.absolute())
    return {**said, "broker": {**plain.for_node(), "tls": True, "ca": ca}}


def _logins(broker: BrokerUrl, ids: Iterable[int]) -> dict[str, dict[str, object]]:
    """By id as a text, as whom a node logs in, where each has a user of its own."""
    if broker.secrets is None:
        return {}
    owns = {node: broker.as_node(node) for node in ids}
    return {str(node): {"user": own.username, "password": own.password} for node, own in owns.items()}
