"""The MicroPython process of an emulated board: started, fed, interrupted, and heard, as over a serial line.

Its input and output are one socket, not a terminal: what a terminal would change of them is done here as a board does
it. Ctrl-C asks the interpreter to raise KeyboardInterrupt at its next branch, as a board's does. The unix port's own
way (SIGINT) jumps out of whatever the interpreter is doing, its garbage collector and LittleFS included, which crashed
it in the first of 400 tries. So the launcher ties the interpreter's own function for this to another signal.
"""

import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dcka.processes import Child

INTERRUPT = signal.SIGUSR1
_CTRL_A, _CTRL_C = b"\x01", b"\x03"
# start_on_board's marks: Ctrl-C is for the board's program from here on; the REPL comes next.
_READY, _DONE = b"\0ready\0", b"\0done\0"
_RAW_BANNER = b"raw REPL; CTRL-B to exit\r\n"
_FRIENDLY_BANNER = b'Type "help()" for more information.\r\n'
_PROMPTS = (b">>> ", b"... ", b"=== ")
# Two Ctrl-C at once are one; a program that waits sees the first within microseconds.
_INTERRUPT_GAP_S = 0.01
# Its input is full: the program doesn't read.
_FULL_GAP_S = 0.01
_END_S = 5.0
_STOP_S = 0.002
# What is printed waits before the line, not in a large buffer in between: after Ctrl-C it would still come.
_PRINTED_BYTES = 2048

# argv: the interpreter's folder, the heap, the program.
_LAUNCH = f"""import ctypes, os, sys
os.dup2(0, 1); os.dup2(0, 2); sys.path.insert(0, sys.argv[1])
import micropython_run
libc = ctypes.CDLL(None); libc.signal.argtypes = ctypes.c_int, ctypes.c_void_p
ask = ctypes.CDLL(micropython_run.__file__).mp_sched_keyboard_interrupt
libc.signal({int(INTERRUPT)}, ctypes.cast(ask, ctypes.c_void_p)); libc.siginterrupt({int(INTERRUPT)}, 1)
sys.exit(micropython_run.run_main(["micropython", "-X", "heapsize=" + sys.argv[2], "-i", "-c", sys.argv[3]]))
"""


@dataclass(frozen=True)
class Machine:
    """What an interpreter is started with. `folder`: where the module micropython_run lies."""

    folder: str
    heap: str
    image: Path
    gate: Path
    vfs_offset: int
    vfs_blocks: int

    def program(self, with_main: bool) -> str:
        """What MicroPython is told to run: start_on_board.boot in the REPL's names."""
        values = (str(self.image), str(self.gate), self.vfs_offset, self.vfs_blocks, with_main)
        return f"__import__('start_on_board').boot(globals(), *{values!r})"


class Interpreter:
    """One life of the interpreter, from a reset to the next.

    with_main: whether main.py is run. raw: whether it goes into the raw REPL at once, as after a soft reset there.
    interrupts: is asked at each Ctrl-C for a running program, and may refuse it.
    """

    def __init__(self, machine: Machine, with_main: bool, raw: bool, interrupts: Callable[[], bool]) -> None:
        self._interrupts = interrupts
        self._queue = bytearray()
        self._ahead = b""
        self._next_interrupt = 0.0
        self._output = _Output(raw)
        self._ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PRINTED_BYTES)
        environment = {key: value for key, value in os.environ.items() if key != "HOME"}  # it has the history
        launch = [sys.executable, "-I", "-S", "-c", _LAUNCH, machine.folder, machine.heap]
        with theirs:
            self._child = Child(
                [*launch, machine.program(with_main)],
                name="micropython",
                cwd=Path(__file__).parent,
                env={**environment, "MICROPYPATH": ".frozen"},
                stdin=theirs.fileno(),
            )
        self._ours.setblocking(False)
        self._starts_raw = raw
        if raw:
            self._queue += _CTRL_A

    def fileno(self) -> int:
        """The descriptor that is readable when there is output, or the end."""
        return self._ours.fileno()

    @property
    def raw(self) -> bool:
        """Whether its REPL is the raw one."""
        return self._output.raw

    def feed(self, content: bytes) -> None:
        """What came over the line; it reaches the interpreter in `pump`."""
        self._queue += content

    @property
    def ahead(self) -> bool:
        """Whether `read` has something although the descriptor is not readable."""
        return bool(self._ahead)

    def read(self) -> bytes | None:
        """What it printed, with a board's ends of line; None at its end."""
        if self._ahead:
            content, self._ahead = self._ahead, b""
            return content
        return self._received()

    def _received(self) -> bytes | None:
        try:
            content = self._ours.recv(_PRINTED_BYTES)
        except BlockingIOError:
            return b""
        except ConnectionResetError:
            return None
        return self._output.take(content) if content else None

    def pump(self) -> float | None:
        """Hand on what was fed, in its order; the seconds until it has to be called again, None for not at all."""
        while self._queue and self._output.ready:
            before, mark, after = bytes(self._queue).partition(_CTRL_C)
            if self._starts_raw and not self._output.done:
                # The REPL that is to read this isn't there, and boot.py shan't.
                if not mark:
                    return None
                before, after = b"", before + after
            if before:
                sent = self._send(before)
                del self._queue[:sent]
                if sent < len(before):
                    return _FULL_GAP_S
                continue
            wait = self._next_interrupt - time.monotonic()
            if wait > 0:
                return wait
            self._queue = bytearray(after)
            self._interrupt()
        return None

    def wait(self) -> int:
        """The exit code of an interpreter whose output has ended; negative for a signal."""
        code = self._child.wait(_END_S)
        self._ours.close()
        return self._child.kill() if code is None else code

    def kill(self) -> None:
        """End it at once, as a reset does."""
        self._child.kill()
        self._ours.close()

    def _send(self, content: bytes) -> int:
        try:
            return self._ours.send(content)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):  # it has ended, and `read` tells
            return len(content)

    def _interrupt(self) -> None:
        """Ctrl-C: for a program KeyboardInterrupt, for the REPL, which reads, a byte like others."""
        pid = self._child.pid
        if self._child.poll() is not None:
            return
        # It stands still meanwhile: what is found out still holds when the signal comes.
        os.kill(pid, signal.SIGSTOP)
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        else:  # macOS, until Python 3.13
            time.sleep(_STOP_S)
        try:
            if not self._executing(pid):
                self._send(_CTRL_C)
            elif self._interrupts():
                os.kill(pid, INTERRUPT)
                self._next_interrupt = time.monotonic() + _INTERRUPT_GAP_S
        finally:
            os.kill(pid, signal.SIGCONT)

    def _executing(self, pid: int) -> bool:
        """Whether a program runs. The unix port catches SIGINT exactly then; without /proc the output has to tell."""
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        except OSError:
            # It stands still: what it has printed is all here.
            while content := self._received():
                self._ahead += content
            return not self._output.prompted
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGINT - 1) & 1)


class _Output:
    """Makes what the interpreter prints what a board prints, and follows in it how far it has come.

    ready: Ctrl-C is for the program. done: the REPL is there. raw: it is the raw one.
    """

    def __init__(self, raw: bool) -> None:
        self.ready = False
        self.done = False
        self.raw = raw
        self._skipping_to_raw = False
        self._held = b""
        self._tail = b""

    @property
    def prompted(self) -> bool:
        """Whether the last that it printed is a prompt, perhaps with what was typed after it."""
        line = self._tail.rpartition(b"\n")[2]
        return line.startswith(_PROMPTS) or line.endswith(b"\x04>") or line == b">"

    def take(self, content: bytes) -> bytes:
        """What a board would have sent."""
        rest, self._held = self._held + content, b""
        out = b""
        while (mark := self._next_mark()) and rest:
            text, found, rest = rest.partition(mark)
            if not found:
                text, self._held = _split_before(text, mark)
            if not self._skipping_to_raw:
                out += text
            if found:
                out += self._reached(mark)
        return self._board_text(out + rest)

    def _next_mark(self) -> bytes | None:
        if not self.ready:
            return _READY
        if not self.done:
            return _DONE
        return _RAW_BANNER if self._skipping_to_raw else None

    def _reached(self, mark: bytes) -> bytes:
        if mark == _READY:
            self.ready = True
        elif mark == _DONE:
            self.done = True
            # It starts in the friendly REPL whatever it was in: a board doesn't, and shows nothing of it.
            self._skipping_to_raw = self.raw
        else:
            self._skipping_to_raw = False
            return mark
        return b""

    def _board_text(self, content: bytes) -> bytes:
        text = re.sub(rb"(?<!\r)\n", b"\r\n", content)
        if content.startswith(b"\n") and self._tail.endswith(b"\r"):
            text = text[1:]
        seen = self._tail + text
        raw, friendly = seen.rfind(_RAW_BANNER), seen.rfind(_FRIENDLY_BANNER)
        if raw != friendly:
            self.raw = raw > friendly
        self._tail = seen[-80:]
        return text


def _split_before(text: bytes, mark: bytes) -> tuple[bytes, bytes]:
    """`text` without, and only, what may be the begin of `mark`."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:length]):
            return text[:-length], text[-length:]
    return text, b""
