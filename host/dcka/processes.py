"""Child processes that never outlive the program that started them (Linux and macOS).

Each child has a session of its own, so that Ctrl-C in the terminal reaches the parent alone, which then
stops its children in order. Three things keep a child from being left over:

- `ProcessGroup` stops its children on every exit of its block, `KeyboardInterrupt` included;
- `unwinding_signals` turns SIGTERM and SIGHUP into such an exit;
- on Linux the kernel sends each child its death signal when the parent is gone (PR_SET_PDEATHSIG), SIGKILL
  of the parent included. macOS has nothing of the kind: there a parent killed by SIGKILL leaves its children.

The kernel ties that death signal to the *thread* that started the child, not to the process, so children are
started from the main thread only; `Child` refuses any other.
"""

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Self

from dcka.errors import DckaError

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork: the child only calls

# Servers and interpreters end within some milliseconds of SIGTERM; this is for a loaded machine.
GRACE_S = 2.0

# How long to wait for the end of an ended child's output: a grandchild may still hold the pipe.
FLUSH_S = 1.0
LINE_BYTES = 8192

_UNWINDING = (signal.SIGTERM, signal.SIGHUP)
_HELD = (signal.SIGINT, *_UNWINDING)


class ProcessError(DckaError):
    """A program could not be started."""


def _child_setup(parent: int, death_signal: int) -> Callable[[], None] | None:
    """What runs in the child between fork and exec: ask for the death signal (Linux)."""
    libc = _LIBC
    if libc is None:
        return None

    def setup() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        if os.getppid() != parent:  # the parent went between fork and prctl, and no signal will come
            os.kill(os.getpid(), signal.SIGKILL)

    return setup


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Put off the Python handlers of SIGINT, SIGTERM and SIGHUP to the end of the block.

    Otherwise an exception from such a handler could fall between the fork and the line that remembers the
    child. Raises `RuntimeError` off the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("children are started from the main thread: their death signal is tied to it")
    held: list[int] = []
    previous = {number: signal.getsignal(number) for number in _HELD}
    replaced = [number for number in _HELD if callable(previous[number])]
    try:
        for number in replaced:
            signal.signal(number, lambda caught, _frame: held.append(caught))
        yield
    finally:
        for number in replaced:
            signal.signal(number, previous[number])
        for received in dict.fromkeys(held):
            signal.raise_signal(received)


@contextlib.contextmanager
def unwinding_signals() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise `SystemExit(128 + number)` in the main thread, so that every
    `with` and `finally` runs. A signal that is ignored (nohup) stays ignored. Main thread only.
    """

    def unwind(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.getsignal(number) for number in _UNWINDING}
    replaced = [number for number in _UNWINDING if previous[number] is not signal.SIG_IGN]
    try:
        for number in replaced:
            signal.signal(number, unwind)
        yield
    finally:
        for number in replaced:
            signal.signal(number, previous[number])


class _Output:
    """The bounded memory of what a child writes, filled by a thread until the child's end is closed.

    `writer` is the descriptor for the child.
    """

    def __init__(self, name: str, log: Path | None, keep: int, on_line: Callable[[str], None] | None) -> None:
        self._lines: deque[str] = deque(maxlen=keep)
        self._on_line = on_line
        self._log: IO[bytes] | None = None
        if log is not None:
            try:
                self._log = log.open("ab", buffering=0)
            except OSError as error:
                raise ProcessError(f"{name}: cannot write its log {log}: {error.strerror}") from error
        reader, self.writer = os.pipe()
        self._pipe = open(reader, "rb")  # noqa: SIM115 - closed by the thread, or by `abandon`
        self._thread = threading.Thread(target=self._read, name=f"output of {name}", daemon=True)

    def follow(self) -> None:
        """Begin, once the child has its end of the pipe."""
        os.close(self.writer)
        self._thread.start()

    def abandon(self) -> None:
        """Close everything: there is no child."""
        os.close(self.writer)
        self._close()

    def finish(self) -> None:
        """Wait for the rest of an ended child's output."""
        self._thread.join(FLUSH_S)

    def lines(self) -> list[str]:
        """What is kept, oldest first."""
        return list(self._lines)

    def _close(self) -> None:
        self._pipe.close()
        if self._log is not None:
            self._log.close()

    def _read(self) -> None:
        # A line without an end is cut, or a child that never ends one would fill the memory.
        while line := self._pipe.readline(LINE_BYTES):
            text = line.decode(errors="replace").rstrip("\r\n")
            self._lines.append(text)
            if self._on_line is not None:
                self._on_line(text)
            if self._log is not None:
                self._write_log(self._log, line)
        self._close()

    def _write_log(self, log: IO[bytes], line: bytes) -> None:
        try:
            log.write(line)
        except OSError as error:  # the reading goes on: the child would block in its next write
            self._lines.append(f"[log {log.name}: {error.strerror}; nothing more is written to it]")
            log.close()
            self._log = None


class Child:
    """One running child process; its stdout and stderr together are captured.

    `death_signal` is what it gets on Linux if this process is gone without having stopped it. `log` is a file
    that the whole output is appended to; the last `keep` lines are kept in memory. `on_line` gets each line as it
    comes, in a thread of the child's output, and may not raise: put it into a queue. `stdin` is a descriptor for its
    standard input, which is empty without one.
    Raises `ProcessError` where the program cannot be started, and `RuntimeError` off the main thread.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        name: str | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        keep: int = 200,
        on_line: Callable[[str], None] | None = None,
        death_signal: signal.Signals = signal.SIGKILL,
        stdin: int = subprocess.DEVNULL,
    ) -> None:
        self.name = name or Path(command[0]).name
        self.stopped = False
        """Whether `stop` or `kill` was called: its end is no surprise then."""
        with _signals_held():
            self._output = _Output(self.name, log, keep, on_line)
            try:
                self._popen = subprocess.Popen(
                    [str(part) for part in command],
                    stdin=stdin,
                    stdout=self._output.writer,
                    stderr=self._output.writer,
                    cwd=cwd,
                    env=env,
                    start_new_session=True,
                    preexec_fn=_child_setup(os.getpid(), death_signal),
                )
            except OSError as error:
                self._output.abandon()
                raise ProcessError(f"{self.name}: cannot start {command[0]}: {error.strerror}") from error
            _LIVE.difference_update([child for child in _LIVE if child.poll() is not None])
            _LIVE.add(self)
            self._output.follow()

    @property
    def pid(self) -> int:
        """The process id, also of a child that has ended."""
        return self._popen.pid

    def poll(self) -> int | None:
        """The exit code, negative for the signal that ended it, or None while it runs."""
        return self._popen.poll()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end, at most `timeout` seconds; the exit code, or None if it still runs."""
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def lines(self) -> list[str]:
        """The last lines of its output; all that it wrote, once it has ended."""
        if self.poll() is not None:
            self._output.finish()
        return self._output.lines()

    def terminate(self) -> None:
        """Ask it to end (SIGTERM) and go on at once."""
        self.stopped = True
        self._popen.terminate()

    def interrupt(self) -> None:
        """Ctrl-C (SIGINT), and go on at once; it may take its time."""
        self.stopped = True
        self._popen.send_signal(signal.SIGINT)

    def kill(self) -> int:
        """End it at once (SIGKILL); the exit code."""
        self.stopped = True
        self._popen.kill()
        return self._popen.wait()

    def stop(self, grace: float = GRACE_S) -> int:
        """SIGTERM, then SIGKILL if it still runs after `grace` seconds or when interrupted; the exit code."""
        self.terminate()
        try:
            code = self.wait(grace)
        except BaseException:
            self.kill()
            raise
        return self.kill() if code is None else code


# For a normal exit with a Child that was used without a group: macOS has no death signal.
_LIVE: set[Child] = set()


@atexit.register
def _kill_the_rest() -> None:
    for child in list(_LIVE):
        if child.poll() is None:
            child.kill()


class ProcessGroup:
    """Children that are stopped together when the block ends, whatever ends it.

    All get SIGTERM, the last started first, and share one grace period; SIGKILL goes to what still runs then.
    A second Ctrl-C while they are being stopped kills the rest at once.
    """

    def __init__(self, grace: float = GRACE_S) -> None:
        self.grace = grace
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(
        self,
        command: Sequence[str | Path],
        *,
        name: str | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        keep: int = 200,
        on_line: Callable[[str], None] | None = None,
        death_signal: signal.Signals = signal.SIGKILL,
    ) -> Child:
        """Start a child of this group; the parameters are those of `Child`."""
        with _signals_held():
            child = Child(
                command,
                name=name,
                cwd=cwd,
                env=env,
                log=log,
                keep=keep,
                on_line=on_line,
                death_signal=death_signal,
            )
            self._children.append(child)
        return child

    @property
    def children(self) -> tuple[Child, ...]:
        """All that were started and not forgotten, in that order."""
        return tuple(self._children)

    def ended(self) -> list[Child]:
        """The children that have ended without having been told to."""
        return [child for child in self._children if child.poll() is not None and not child.stopped]

    def forget(self, child: Child) -> None:
        """Drop a child that has ended, before another is started in its place."""
        self._children.remove(child)

    def stop(self) -> None:
        """Stop all of them. Nothing happens to those that have ended."""
        running = [child for child in reversed(self._children) if child.poll() is None]
        try:
            for child in running:
                child.terminate()
            deadline = time.monotonic() + self.grace
            for child in running:
                child.wait(max(0.0, deadline - time.monotonic()))
        finally:
            for child in running:
                if child.poll() is None:
                    child.kill()
