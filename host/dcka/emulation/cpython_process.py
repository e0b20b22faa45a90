"""The process of nodes under CPython: `python -m dcka.emulation.cpython_process`, started by `CPythonNetwork`.

Its standard input is one end of a socket pair. A JSON object a line comes in, one goes out for each: first the
settings, then commands. The end of the input is the end of the process, so it never outlives its parent.
"""

import json
import socket
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dcka.emulation.cpython_nodes import CPythonNodes
from dcka.emulation.loop import EVENT_READ
from dcka.errors import DckaError

_CHUNK = 1 << 16


class Control:
    """The commands that come through `peer`: start, kill, failures."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._rest = b""
        self.over = False

    def first(self) -> dict[str, Any] | None:
        """Wait for the settings; None where the input ends before."""
        while b"\n" not in self._rest:
            piece = self._peer.recv(_CHUNK)
            if not piece:
                return None
            self._rest += piece
        return self._next()

    def ready(self, nodes: CPythonNodes) -> None:
        """Read what has come, and do it."""
        piece = self._peer.recv(_CHUNK)
        self.over = not piece
        self._rest += piece
        self.serve(nodes)

    def serve(self, nodes: CPythonNodes) -> None:
        """Do what has been read: commands may have come together with the settings."""
        while b"\n" in self._rest:
            self._answer(nodes, self._next())

    def _next(self) -> dict[str, Any]:
        line, _, self._rest = self._rest.partition(b"\n")
        command: dict[str, Any] = json.loads(line)
        return command

    def _answer(self, nodes: CPythonNodes, command: dict[str, Any]) -> None:
        answer: dict[str, object] = {}
        try:
            if command["do"] == "start":
                nodes.start(command["node"])
            elif command["do"] == "kill":
                nodes.kill(command["node"])
            else:
                answer["failures"] = [asdict(failure) for failure in nodes.failures()]
        except DckaError as error:
            answer["error"] = str(error)
        self._peer.sendall(json.dumps(answer).encode() + b"\n")


def main() -> int:
    """Run until the input ends; the exit code."""
    try:
        peer = socket.socket(fileno=0)
    except OSError:
        print("this is no command to call: dcka emulate --runtime cpython starts nodes", file=sys.stderr)
        return 2
    control = Control(peer)
    begin = control.first()
    if begin is None:
        return 0
    folder = None if begin["folder"] is None else Path(begin["folder"])
    nodes = CPythonNodes(
        begin["settings"], begin["ids"], folder, clocks=begin.get("clocks"), logins=begin.get("logins")
    )
    for node, files in begin.get("files", {}).items():
        for name, content in files.items():
            nodes.flash(int(node)).save(name, bytes.fromhex(content))
    try:
        nodes.loop.watch(peer, EVENT_READ, lambda: control.ready(nodes))
        for node in nodes.ids:
            nodes.start(node)
        control.serve(nodes)
        while not control.over:
            nodes.loop.turn()
    finally:
        nodes.close()
        peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
