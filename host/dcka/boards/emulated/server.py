"""An emulated board in its process: power, reset, the ROM bootloader, MicroPython, all on one serial line.

Whoever started it commands it over a socket, in JSON lines, each answered by one; its end is the board's end.
"""

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcka.boards.emulated import image, rom
from dcka.boards.emulated.faults import NEVER, Faults, Gate
from dcka.boards.emulated.interpreter import Interpreter, Machine
from dcka.boards.emulated.rom import Rom, find_sync
from dcka.boards.emulated.serial_line import SerialLine

# As fast as a line of 921,600 baud. Without a limit a program that prints for ever would take a processor.
_PRINTED_BYTES_PER_S = 100_000
_PIECE_S = 0.05
_BLOCK_BYTES = 4096  # filesystem.BLOCK_BYTES: its library would be loaded for this number
_SYNC_TAIL = 64
_SOFT_RESET = b"MPY: soft reboot\r\n"
_RAW_BANNER = b"raw REPL; CTRL-B to exit\r\n"

_RESET = "rst:0x1 (POWERON_RESET),boot:{boot}\r\n"
_FROM_FLASH = "0x13 (SPI_FAST_FLASH_BOOT)"
_FROM_SERIAL = "0x3 (DOWNLOAD_BOOT)"


@dataclass(frozen=True)
class Settings:
    """What a board is: see `EmulatedBoard`. `interpreter`: the folder of the module micropython_run."""

    chip: str
    mac: str
    heap: str
    flash: str
    gate: str
    interpreter: str

    def machine(self, place: tuple[int, int]) -> Machine:
        """What its interpreter is started with; `place`: address and bytes of the file system."""
        address, size = place
        return Machine(
            self.interpreter, self.heap, Path(self.flash), Path(self.gate), address, size // _BLOCK_BYTES
        )


class Board:
    """One board on one line. `turn` does what there is to do; everything happens in the main thread but `Rom`."""

    def __init__(self, settings: Settings, line: SerialLine, faults: Faults) -> None:
        self._settings = settings
        self._line = line
        self._gate = Gate(Path(settings.gate))
        self.faults = faults
        self.on = False
        self.unplugged = False
        self.interpreter: Interpreter | None = None
        self._rom: Rom | None = None
        self._place: tuple[int, int] | None = None
        self._recent = b""
        self._flashed = 0
        self._listen_at = 0.0
        self._late: list[tuple[float, bytes]] = []

    # ---- power and reset ----

    def power_on(self) -> None:
        """Give it power: it starts as after a hard reset."""
        if not self.on:
            self.on = True
            self._gate.arm(NEVER)
            self._hard_reset()

    def power_off(self) -> None:
        """Take the power away, whatever it does."""
        self.on = False
        self._stop()

    def _stop(self) -> None:
        if self._rom is not None:
            self._rom.leave()
            self._rom = None
        if self.interpreter is not None:
            self.interpreter.kill()
            self.interpreter = None
        self._recent = b""

    def _hard_reset(self) -> None:
        self._stop()
        if self.faults.hold_boot_button:
            self._print((_RESET.format(boot=_FROM_SERIAL) + "waiting for download\r\n").encode())
            self._enter_rom()
            return
        self._print((_RESET.format(boot=_FROM_FLASH) + self.faults.boot_text).encode())
        flash = Path(self._settings.flash).read_bytes()
        if not image.bootable(flash, self._settings.chip):
            self._print(b"invalid header: 0xffffffff\r\n")
            rom.prepare()  # all that can be done with it is to flash it
        else:
            self._place = image.file_system(flash, self._settings.chip)
            self._start(with_main=True, raw=False)

    def _start(self, with_main: bool, raw: bool) -> None:
        if self._place is not None:
            machine = self._settings.machine(self._place)
            self.interpreter = Interpreter(machine, with_main, raw, self._interrupted)
            self._listen_at = 0.0

    def _ended(self, ended: Interpreter) -> None:
        """The interpreter's process is gone: a soft reset, or, if a signal ended it, a hard one."""
        self.interpreter = None
        code = ended.wait()
        if self._gate.cut:
            self.on = False
        elif code < 0:
            self._hard_reset()
        else:
            self._print(_SOFT_RESET)
            self._start(with_main=not ended.raw, raw=ended.raw)

    def _interrupted(self) -> bool:
        left = self.faults.ignore_interrupts
        if left:
            self.faults = Faults(**{**self.faults.record(), "ignore_interrupts": left - 1})  # type: ignore[arg-type]
        return not left

    # ---- the line ----

    def from_line(self) -> None:
        """A client has written something."""
        self._from_client(self._line.read())

    def line_changed(self) -> None:
        """Somebody has opened or closed the port. Out of the bootloader, the end of a client is the reset."""
        if not self._line.changed() or self._rom is None:
            return
        # esptool waits for an answer to all that it writes: what is there is of the next client, if there is one.
        content = self._line.read()
        if not self._line.heard:
            self._rom.feed(content)
        self._leave_rom()
        if self._line.heard:
            self._from_client(content)

    def _from_client(self, content: bytes) -> None:
        if self.on and content and not self.faults.silent:
            if self._rom is not None:
                self._to_rom(self._rom, content)
            else:
                self._to_program(content)

    def _to_program(self, content: bytes) -> None:
        """What MicroPython gets, or nobody, until esptool asks for the bootloader: ptys can't carry its reset."""
        self._recent = (self._recent + content)[-_SYNC_TAIL - len(content) :]
        start = find_sync(self._recent)
        if start >= 0:
            frames = self._recent[start:]
            self._stop()
            self._to_rom(self._enter_rom(), frames)
        elif self.interpreter is not None:
            self.interpreter.feed(content)

    def _enter_rom(self) -> Rom:
        settings = self._settings
        flash = Path(settings.flash)
        self._flashed = 0
        self._rom = Rom(
            settings.chip, settings.mac, flash, self._line.write_all, self.faults.flip_flashed_byte
        )
        return self._rom

    def _to_rom(self, bootloader: Rom, content: bytes) -> None:
        self._flashed += len(content)
        limit = self.faults.unplug_after_flashed
        if limit is not None and self._flashed > limit:
            self.unplugged = True
        else:
            bootloader.feed(content)

    def _leave_rom(self) -> None:
        if self._rom is not None:
            self._rom.leave()
            self._rom = None
        self._hard_reset()

    def from_interpreter(self) -> None:
        """It has printed something, or has ended."""
        if self.interpreter is None:
            return
        content = self.interpreter.read()
        if content is None:
            self._ended(self.interpreter)
        elif content:
            self._listen_at = time.monotonic() + len(content) / _PRINTED_BYTES_PER_S
            self._print(content)

    def _print(self, content: bytes) -> None:
        if self.faults.silent:
            return
        if self.faults.banner_in_pieces and _RAW_BANNER in content:
            before, banner, after = content.partition(_RAW_BANNER)
            noise = self.faults.boot_text.encode()
            self._line.write(before + noise + banner[:5])
            now = time.monotonic()
            self._late = [(now + _PIECE_S, banner[5:13]), (now + 2 * _PIECE_S, banner[13:] + after)]
        elif self._late:
            self._late.append((self._late[-1][0], content))
        else:
            self._line.write(content)

    # ---- the loop ----

    @property
    def listening(self) -> bool:
        """Whether there is room for what the interpreter prints."""
        return not self._line.waiting and time.monotonic() >= self._listen_at

    def turn(self) -> float | None:
        """Do what is due; the seconds until something is due again, None for nothing."""
        now = time.monotonic()
        while self._late and self._late[0][0] <= now:
            self._line.write(self._late.pop(0)[1])
        if self._line.waiting:
            self._line.flush()
        waits = [0.01] if self._line.waiting else []
        if self._late:
            waits.append(self._late[0][0] - now)
        if self.interpreter is not None and self.interpreter.ahead:
            self.from_interpreter()
        if self.interpreter is not None:
            wait = self.interpreter.pump()
            if self.interpreter.ahead:
                waits.append(0.0)
            if wait is not None:
                waits.append(wait)
            if self._listen_at > now:
                waits.append(self._listen_at - now)
        return max(0.0, min(waits)) if waits else None


class Server:
    """The board, its line, and the socket of whoever commands it."""

    def __init__(self, settings: Settings, faults: Faults, commander: socket.socket) -> None:
        self._line = SerialLine()
        self._board = Board(settings, self._line, faults)
        self._commander = commander
        self._reader = commander.makefile("rb")
        self._commands: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "on": lambda _: self._board.power_on(),
            "off": lambda _: self._board.power_off(),
            "faults": self._set_faults,
            "state": lambda _: None,
        }

    def run(self) -> None:
        """Serve until the commander has gone, or a fault has unplugged the board."""
        self._answer()
        try:
            with contextlib.closing(self._line):
                while not self._board.unplugged and self._turn():
                    pass
        finally:
            self._board.power_off()

    def _turn(self) -> bool:
        board = self._board
        timeout = board.turn()
        if self._line.look_s is not None:
            board.line_changed()
            timeout = self._line.look_s if timeout is None else min(timeout, self._line.look_s)
        # What there is to wait for changes all the time: a selector would be made anew in each turn.
        actions: dict[int, Callable[[], object]] = {self._commander.fileno(): self._command}
        if self._line.events is not None:
            actions[self._line.events] = board.line_changed
        if self._line.heard:
            actions[self._line.fileno()] = board.from_line
        if board.interpreter is not None and board.listening:
            actions[board.interpreter.fileno()] = board.from_interpreter
        ready, _, _ = select.select(list(actions), [], [], timeout)
        # Each has its turn, whatever another says.
        answers = [actions[descriptor]() for descriptor in ready]
        return False not in answers

    def _command(self) -> bool:
        line = self._reader.readline()
        if not line:
            return False
        command = json.loads(line)
        self._commands[command["do"]](command)
        self._answer()
        return True

    def _set_faults(self, command: Mapping[str, Any]) -> None:
        self._board.faults = Faults(**command["faults"])

    def _answer(self) -> None:
        state = {"port": self._line.path, "on": self._board.on, "faults": self._board.faults.record()}
        self._commander.sendall(json.dumps(state).encode() + b"\n")
