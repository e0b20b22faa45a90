"""Which processes were started from here, wherever they have got to: for the guard in conftest.py."""

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

# Set in the environment, every process inherits it: one is found even after its parent has died.
VARIABLE = "DCKA_TEST_SESSION"


def started_processes(ancestor: int, mark: str) -> dict[int, str]:
    """Process id → command line of `ancestor`'s descendants, and of all whose mark begins with `mark`.

    A zombie's command line is empty. Reads /proc: finds nothing on a system that has none.
    """
    parents, marked = {}, set()
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        try:
            parents[pid] = int((folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            if f"{VARIABLE}={mark}".encode() in (folder / "environ").read_bytes():
                marked.add(pid)
        except OSError:  # ended meanwhile, or somebody else's
            continue
    started = {pid for pid in parents if pid in marked or ancestor in _ancestors(pid, parents)}
    return {pid: _command_line(pid) for pid in started - {ancestor}}


def interrupt_with_parent() -> None:
    """Have this process interrupted, as by Ctrl-C, when its parent is gone (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT, 0, 0, 0)  # PR_SET_PDEATHSIG of linux/prctl.h


def end_all(ancestor: int, mark: str) -> dict[int, str]:
    """Kill what `started_processes` finds; what it was. Zombies are nobody's fault."""
    left = {pid: command for pid, command in started_processes(ancestor, mark).items() if command}
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    """The process ids from `pid`'s parent upwards."""
    found: set[int] = set()
    while (pid := parents.get(pid, 0)) and pid not in found:
        found.add(pid)
    return found


def _command_line(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        )
    except OSError:
        return ""
