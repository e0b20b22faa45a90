"""Many nodes under CPython in one thread: one loop, no thread a node."""

import os
import resource
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dcka.broker.url import BrokerUrl
from dcka.emulation.cpython_node import CPythonNode
from dcka.emulation.flash import Flash, FolderFlash, MemoryFlash
from dcka.emulation.gate import Gates
from dcka.emulation.loop import Loop
from dcka.emulation.network import NodeFailure, require_node
from dcka.emulation.shared import SharedParts

# getrusage counts in KB, but on macOS in bytes.
_RUSAGE_UNIT = 1 if sys.platform == "darwin" else 1024


class CPythonNodes:
    """The nodes `ids`, none of them started; `loop.turn` lets them work.

    settings: as node.json has them, but for `node`. `folder` keeps a folder a node (`folder/ID`), as a board's
    flash; without it their files are in memory, and stay over a restart of the node alone. `clocks`: by id as a
    text, by how many millionths a node's clock is fast. `logins`: by id as a text, a node's own `user` and `password`.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        ids: Iterable[int],
        folder: Path | None = None,
        random: Callable[[int], bytes] = os.urandom,
        clocks: Mapping[str, int] | None = None,
        logins: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.ids = tuple(ids)
        self.loop = Loop()
        self._settings = settings
        self._random = random
        self._parts = SharedParts()
        self._clocks = clocks or {}
        self._logins = logins or {}
        self._gates = Gates(self.loop, _broker(settings["broker"]))
        self._flashes: dict[int, Flash] = {
            node: MemoryFlash() if folder is None else FolderFlash(folder / str(node)) for node in self.ids
        }
        self._nodes: dict[int, CPythonNode] = {}

    def close(self) -> None:
        """End all nodes."""
        for node in self._nodes.values():
            node.end()
        self._gates.close()
        self.loop.close()

    def flash(self, node: int) -> Flash:
        """A node's flash."""
        return self._flashes[node]

    def start(self, node: int) -> None:
        """Start a node with the flash that it left, ending it first if it runs. Raises EmulationError."""
        self.kill(node)
        settings = {**self._settings, "node": node, "clock_ppm": self._clocks.get(str(node), 0)}
        settings["broker"] = {**self._settings["broker"], **self._logins.get(str(node), {})}
        self._nodes[node] = CPythonNode(
            settings, self._flashes[node], self.loop, self._gates, self._vitals, self._random, self._parts
        )
        self._nodes[node].start()

    def kill(self, node: int) -> None:
        """End a node at once, as a power cut would. Raises EmulationError where there is none."""
        require_node(node, self.ids)
        if node in self._nodes:
            self._nodes.pop(node).end()

    def failures(self) -> list[NodeFailure]:
        """The nodes that have crashed and were not started again, in the order of their ids."""
        found = (self._nodes[node].failure for node in sorted(self._nodes))
        return [failure for failure in found if failure is not None]

    def _vitals(self) -> tuple[int, int]:
        """A node's share of the process's largest memory so far, and 0: there is no heap that it could fill."""
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RUSAGE_UNIT
        return used // len(self.ids), 0


def _broker(said: Mapping[str, Any]) -> BrokerUrl:
    """The addresses that node.json has."""
    tls, ca = bool(said.get("tls")), said.get("ca")
    first = BrokerUrl(said["host"], said["port"], tls=tls, ca=None if ca is None else Path(ca))
    others = (replace(first, host=host, port=port) for host, port in said.get("others", ()))
    return replace(first, others=tuple(others))
