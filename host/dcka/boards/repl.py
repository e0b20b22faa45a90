"""A board's raw REPL: code goes in, what it prints comes back. The only user of mpremote, whose ways stay in here.

mpremote's transport does the raw-paste mode, its flow control and its answers. What it does not do is done here: it
waits for ever on a silent port, has one sentence for a missing, a busy and a forbidden port, prints what it received
when it fails, and gives up on a program that prints without end or survives its first Ctrl-C.
"""

import ast
import contextlib
import termios
import time
from collections.abc import Callable, Iterator

import serial  # type: ignore[import-untyped]
from mpremote import transport_serial  # type: ignore[import-untyped]
from mpremote.transport import TransportError  # type: ignore[import-untyped]

from dcka.boards import board_code
from dcka.boards.console_text import Lines
from dcka.boards.errors import BoardError, BoardSilent
from dcka.boards.ports import check_port

# A name of the module stands before the builtin: what a board sent would end up in the output of --json.
transport_serial.print = lambda *_words, **_options: None

PATIENCE_S = 15.0
"""Long enough for a board that boots, or looks up a name, before it hears Ctrl-C."""

_BANNER = b"raw REPL; CTRL-B to exit\r\n"
_PROMPT = b">>> "
_DOWNLOAD = b"waiting for download"  # the chip's own words
_END = b"\x04\x04>"
_INTERRUPT, _RAW, _FRIENDLY, _FINISH = b"\r\x03\x03", b"\r\x01", b"\r\x02", b"\x04"
# Between two pieces of an answer; a loaded computer can be slower than a board.
_READ_S = 3.0
_WRITE_S = 5.0
_TURN_S = 0.5
_LISTEN_S = 0.3
# A program may need several Ctrl-C: the first tries are short. A banner that comes late is seen by the next one.
_FIRST_BANNER_S, _BANNER_S = 0.05, 0.6
_QUIET_S = 0.05
_STILL_S = 0.15
_ANSWER_S = 2.0
_REBOOT_S = 3.0
_TAIL_BYTES = 400
_SHOWN = 80

_TROUBLE = (OSError, termios.error, TransportError)


class PortGone(BoardError):
    """The port was there and is no more: the cable, or the board's power."""


class BoardRaised(BoardError):
    """Code that we sent raised on the board. `last`: the last line of its traceback."""

    def __init__(self, port: str, last: str) -> None:
        super().__init__(f"{port}: the board raised {last}")
        self.last = last


@contextlib.contextmanager
def open_repl(
    port: str, patience_s: float = PATIENCE_S, on_turn: Callable[[], None] = lambda: None
) -> Iterator["Repl"]:
    """The raw REPL of the board at `port`, interrupting its program, within `patience_s`.

    The program is stopped without a soft reset, which some start again after, and taken from the heap. At the end,
    whatever happens, the board is restarted into its program (unless `soft_reset` did so) and the port closed.
    `on_turn` is called before each try to interrupt it, and may raise to give up.
    Raises PortMissing, PortBusy, PortForbidden and BoardSilent.
    """
    check_port(port)
    repl = Repl(port)
    try:
        repl.enter(patience_s, on_turn)
        yield repl
    finally:
        repl.close()


class _Transport(transport_serial.SerialTransport):  # type: ignore[misc]
    """mpremote's, whose waits of 10 s that cannot be chosen are cut to `patience_s`."""

    patience_s = 10.0

    def read_until(
        self,
        min_num_bytes: int,
        ending: bytes,
        timeout: float = 10,
        data_consumer: Callable[[bytes], object] | None = None,
        timeout_overall: float | None = None,
    ) -> bytes:
        """As mpremote has it."""
        patience = min(timeout, self.patience_s)
        return bytes(super().read_until(min_num_bytes, ending, patience, data_consumer, timeout_overall))


class Repl:
    """See `open_repl`. All methods raise PortGone where the cable is pulled, BoardSilent where no answer comes."""

    def __init__(self, port: str) -> None:
        self.port = port
        self._entered = False
        self._doubts = 0
        self._restarted = False
        self._lines = Lines()
        self._loaded: set[str] = set()
        try:
            self._transport = _Transport(port, timeout=_READ_S)
        except _TROUBLE:
            check_port(port)  # somebody was faster: say who
            raise BoardError(f"{port} cannot be opened: plug the board in anew, and try again") from None
        self._serial = self._transport.serial
        self._serial.write_timeout = _WRITE_S

    def enter(self, patience_s: float = PATIENCE_S, on_turn: Callable[[], None] = lambda: None) -> None:
        """Stop what runs, and get to the prompt of the raw REPL, with an empty heap behind it. Also once more."""
        self._loaded.clear()
        deadline = time.monotonic() + patience_s
        tail = bytearray()
        banner_s = _FIRST_BANNER_S
        on_turn()
        with self._connected():
            while not (self._stopped(tail, banner_s) and self._emptied(deadline)):
                on_turn()
                banner_s = min(_BANNER_S, 2 * banner_s)
                if time.monotonic() >= deadline:
                    raise BoardSilent(self._why_silent(bytes(tail), patience_s))
        self._entered = True

    def run(self, code: str, timeout_s: float = 10.0) -> str:
        """Run `code` and return what it prints. `timeout_s`: the longest pause between two characters of it.

        Names stay until the board restarts. Raises BoardRaised.
        """
        if self._restarted:
            raise RuntimeError(f"{self.port}: the board has been restarted, and runs its program")
        with self._connected():
            try:
                self._transport.patience_s = timeout_s
                self._serial.timeout = min(_READ_S, timeout_s)
                self._transport.exec_raw_no_follow(code)
                said, trace = self._transport.follow(timeout_s)
            except TransportError:
                # Not its text: it may hold what was sent, and that a password.
                raise BoardSilent(
                    f"{self.port}: the board gave no proper answer within {timeout_s:g} s: try again; if it stays "
                    f"so, press its reset button"
                ) from None
        if trace:
            raise BoardRaised(self.port, last_line(trace.decode("utf-8", "replace")))
        return str(said.decode("utf-8", "replace")).replace("\r\n", "\n")

    def load(self, code: str) -> None:
        """Run code that only defines names, once; see `board_code`."""
        if code not in self._loaded:
            self.run(code)
            self._loaded.add(code)

    def value(self, expression: str, timeout_s: float = 10.0) -> object:
        """What the expression is on the board, for values that Python's literals can write."""
        said = self.run(f"print(repr({expression}))", timeout_s).strip()
        try:
            return ast.literal_eval(said)
        except (ValueError, SyntaxError):
            raise BoardError(
                f"{self.port}: the board's answer to {expression} was disturbed: is another program, or a second "
                f"task of the board, writing on the port?"
            ) from None

    def soft_reset(self) -> None:
        """Restart the board into boot.py and main.py, and leave the raw REPL. Only `lines` can follow."""
        self.run(board_code.UNCOUNT_START)
        with self._connected():
            self._restart()

    def lines(self, timeout_s: float) -> Iterator[str]:
        """The lines that the board prints, as they come, for `timeout_s` altogether; "" while it says nothing."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            with self._connected():
                piece = self._read(min(left, _TURN_S))
            yield from self._lines.feed(piece) if piece else [""]

    def close(self) -> None:
        """Restart the program where that was not done, as far as the board still listens; close the port."""
        try:
            if self._entered and not self._restarted:
                self._write(_INTERRUPT)
                self._read(_LISTEN_S)
                self._restart()
        except (*_TROUBLE, BoardError):
            pass  # it is gone or deaf, and whoever used it has been told why
        finally:
            with contextlib.suppress(*_TROUBLE):
                self._transport.close()
            with contextlib.suppress(*_TROUBLE):
                self._serial.close()

    def _stopped(self, tail: bytearray, banner_s: float) -> bool:
        """One try to interrupt what runs; whether the raw REPL has announced itself."""
        self._write(_INTERRUPT)
        tail += self._read(_FIRST_BANNER_S)
        self._write(_RAW)
        heard = self._until(_BANNER, banner_s)
        tail += heard
        del tail[:-_TAIL_BYTES]
        return _BANNER in heard

    def _emptied(self, deadline: float) -> bool:
        """Whether the raw REPL answers, and the heap could be emptied; at the second no, a soft reset is tried.

        A banner alone is no proof: it can be an old one, or a second task of the board prints into all answers.
        In raw mode a soft reset runs boot.py and not main.py, and ends tasks and timers.
        """
        if self._answers():
            with contextlib.suppress(BoardError):
                self.run(board_code.EMPTY_HEAP)
                return True
        self._doubts += 1
        if self._doubts > 1 and time.monotonic() < deadline:
            self._write(_INTERRUPT + _RAW)
            self._read(_LISTEN_S)
            self._write(_FINISH)
            self._until(_BANNER, _REBOOT_S)
        return False

    def _answers(self) -> bool:
        """Let the board do a multiplication, and leave it at a fresh prompt, which mpremote reads itself."""
        self._until_quiet()
        factor = time.monotonic_ns() % 30011
        self._write(b"print(%d*32003)" % factor + _FINISH)
        answer = self._until(_END, _ANSWER_S).replace(b"\r\n", b"\n")
        if not answer.endswith(b"OK%d\n" % (factor * 32003) + _END):
            return False
        if self._read(_STILL_S):
            return False  # unasked: the next answer would be mixed with it
        self._write(_RAW)
        return self._until(_BANNER, _ANSWER_S, 1).endswith(_BANNER)

    def _restart(self) -> None:
        self._write(_FRIENDLY)
        heard = self._until(_PROMPT, _ANSWER_S)
        if not heard.endswith(_PROMPT):
            raise BoardSilent(f"{self.port}: the board does not restart: press its reset button")
        self._write(_FINISH)
        self._restarted = True

    def _until_quiet(self) -> None:
        deadline = time.monotonic() + _LISTEN_S
        while self._read(_QUIET_S) and time.monotonic() < deadline:
            pass

    def _until(self, ending: bytes, timeout_s: float, at_once: int = 4096) -> bytes:
        """What comes until it has `ending` in it, or until the time is up; at most `at_once` bytes a read."""
        deadline = time.monotonic() + timeout_s
        heard = bytearray()
        while ending not in heard and (left := deadline - time.monotonic()) > 0:
            heard += self._read(left, at_once)
        return bytes(heard)

    def _read(self, timeout_s: float, at_once: int = 4096) -> bytes:
        """What has come, waiting for the first byte only."""
        self._serial.timeout = timeout_s
        try:
            piece = self._serial.read(1)
            waiting = min(self._serial.in_waiting, at_once - 1) if piece else 0
            return bytes(piece + self._serial.read(waiting)) if waiting else bytes(piece)
        finally:
            self._serial.timeout = _READ_S

    def _write(self, data: bytes) -> None:
        self._serial.write(data)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """What pyserial raises in the block, in our words."""
        try:
            yield
        except serial.SerialTimeoutException:
            raise BoardSilent(
                f"{self.port}: the board takes nothing in: press its reset button, or plug it in anew"
            ) from None
        except (OSError, termios.error):
            raise PortGone(
                f"{self.port} has gone: the cable came loose, or the board lost its power; plug it in and try again"
            ) from None

    def _why_silent(self, tail: bytes, patience_s: float) -> str:
        if not tail:
            return (
                f"{self.port}: nothing answers within {patience_s:g} s: is it a board with MicroPython on it? "
                f"If not: dcka board flash --port {self.port}; if so, press its reset button, or see: dcka board doctor"
            )
        if _DOWNLOAD in tail:
            return f"{self.port}: the board waits in its bootloader: press its reset button, and leave BOOT alone"
        lines = Lines()
        *_, last = ["", *lines.feed(tail), *lines.take()]
        return (
            f"{self.port}: a program runs there that Ctrl-C did not stop within {patience_s:g} s; it says "
            f'"{last.strip()[-_SHOWN:]}". Press reset and then BOOT (dcka\'s boot.py stops there), or flash the board '
            f"anew: dcka board flash --port {self.port}"
        )


def last_line(trace: str) -> str:
    """The last line of a traceback that says something: the exception and its words."""
    lines = Lines()
    said = [line for line in [*lines.feed(trace.encode()), *lines.take()] if line.strip()]
    return said[-1].strip() if said else "an error without a word"
