"""An emulated board, as tests and `selftest` hold it: its process, its flash, its power and its faults."""

import contextlib
import importlib.util
import json
import socket
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dcka.boards.emulated import image
from dcka.boards.emulated.faults import Faults, Gate
from dcka.boards.emulated.image import FLASH_BYTES, VFS_OFFSET
from dcka.boards.emulated.server import Settings
from dcka.boards.errors import BoardError
from dcka.boards.filesystem import (
    BLOCK_BYTES,
    FilesystemError,
    build_littlefs,
    change_littlefs,
    free_blocks,
    read_littlefs,
)
from dcka.emulation.micropython import available
from dcka.processes import Child

DEFAULT_HEAP = "160K"
DEFAULT_MAC = "24:0a:c4:00:00:01"
_ANSWER_S = 20.0  # it takes milliseconds; a loaded machine more
_FILLER = "filler.bin"


class EmulatedBoard:
    """A board on a pty (`port`): a child process of ours serves it within the `with` block. Main thread only.

    folder: where its flash is kept, as `flash.bin`; what is there already is used as it is, and `extra_files` and
    `micropython` are for a new one. chip: one of `image.CHIPS`. extra_files: on its file system from the start.
    micropython: whether MicroPython has been flashed and has made its file system; without it, the flash is blank.
    on: whether it has power at once.

    Raises `BoardError` where the board's process doesn't start, and where there is no MicroPython for this machine.
    """

    def __init__(
        self,
        folder: Path,
        *,
        chip: str = "esp32",
        mac: str = DEFAULT_MAC,
        heap: str = DEFAULT_HEAP,
        flash_bytes: int = FLASH_BYTES,
        extra_files: Mapping[str, bytes] | None = None,
        micropython: bool = True,
        faults: Faults | None = None,
        on: bool = True,
    ) -> None:
        self.folder = folder
        self.chip = chip
        self.mac = mac
        self.heap = heap
        self.port = ""
        self._flash_bytes = flash_bytes
        self._faults = faults or Faults()
        self._on = on
        self._child: Child | None = None
        self._socket: socket.socket | None = None
        self._image = folder / "flash.bin"
        self._make_flash(extra_files or {}, micropython)
        self._gate = Gate(folder / "writes.bin")

    def __enter__(self) -> Self:
        self.plug_in()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unplug()

    # ---- cable and power ----

    def plug_in(self) -> None:
        """Start its process: from now on there is its port, another one each time."""
        if self._child is not None:
            return
        state = available()
        spec = importlib.util.find_spec("micropython_run")
        if not state or spec is None or spec.origin is None:
            raise BoardError(f"no emulated boards: {state.reason}")
        settings = Settings(
            chip=self.chip,
            mac=self.mac,
            heap=self.heap,
            flash=str(self._image.absolute()),
            gate=str(self._gate.file.absolute()),
            interpreter=str(Path(spec.origin).parent),
        )
        record = json.dumps({"settings": asdict(settings), "faults": self._faults.record()})
        ours, theirs = socket.socketpair()
        ours.settimeout(_ANSWER_S)
        with theirs:
            command = [sys.executable, "-m", "dcka.boards.emulated", record]
            self._child = Child(command, name=f"board {self.mac}", stdin=theirs.fileno())
        self._socket = ours
        self._reader = ours.makefile("rb")
        self.port = self._answer()["port"]
        if self._on:
            self.power_on()

    def unplug(self) -> None:
        """End its process: the port is gone, the flash stays as it is."""
        child, self._child = self._child, None
        if self._socket is not None:
            self._reader.close()
            self._socket.close()
            self._socket = None
        if child is not None:
            child.stop()
            self.port = ""

    def power_on(self) -> None:
        """Give it power: it starts from its flash. Takes back `cut_after_writes`."""
        self._on = True
        self._command("on")

    def power_off(self) -> None:
        """Take its power in whatever it does. The port stays, and nothing answers there."""
        self._on = False
        self._command("off")

    @property
    def on(self) -> bool:
        """Whether it has power: not after `cut_after_writes` has come true."""
        return bool(self._command("state")["on"])

    # ---- flash ----

    def flash(self) -> bytes:
        """All bytes of its flash."""
        return self._image.read_bytes()

    def files(self) -> dict[str, bytes]:
        """The files of its file system: path without a leading "/" → content. For a board without power.

        Raises `FilesystemError` where there is no whole file system.
        """
        return read_littlefs(self._filesystem()[1])

    def put_files(self, files: Mapping[str, bytes | None]) -> None:
        """Write these files, or remove those that are None. For a board without power."""
        address, content = self._filesystem()
        self._write(address, change_littlefs(content, files))

    def fill_flash(self, leave_blocks: int) -> None:
        """Fill its file system with one file, all but so many blocks of 4096 bytes. For a board without power."""
        address, before = self._filesystem()
        content = before
        # Pointers take a little of each block, and the directory may take two more.
        blocks = free_blocks(before)
        while free_blocks(content) > leave_blocks and blocks > 0:
            with contextlib.suppress(FilesystemError):
                content = change_littlefs(before, {_FILLER: bytes(blocks * BLOCK_BYTES)})
                if free_blocks(content) >= leave_blocks:
                    break
            blocks -= 1
        self._write(address, content)

    def _filesystem(self) -> tuple[int, bytes]:
        """Its address, and all of it."""
        if self._child is not None and self.on:
            raise BoardError(f"board {self.mac}: its files can be seen only while it is off")
        flash = self.flash()
        place = image.file_system(flash, self.chip)
        if place is None:
            raise FilesystemError(f"board {self.mac}: there is no MicroPython on it, and no file system")
        address, size = place
        return address, flash[address : address + size]

    def _write(self, address: int, content: bytes) -> None:
        with self._image.open("r+b") as file:
            file.seek(address)
            file.write(content)

    def _make_flash(self, files: Mapping[str, bytes], micropython: bool) -> None:
        if self.chip not in image.CHIPS:
            raise BoardError(f"no emulated {self.chip}: there are {', '.join(image.CHIPS)}")
        if self._image.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        flash = bytearray(b"\xff" * self._flash_bytes)
        if micropython:
            start = image.bootloader_offset(self.chip)
            firmware = image.micropython_image(self.chip)
            flash[start : start + len(firmware)] = firmware
        if files or micropython:
            size = FLASH_BYTES - VFS_OFFSET
            flash[VFS_OFFSET : VFS_OFFSET + size] = build_littlefs(files, size)
        self._image.write_bytes(flash)

    # ---- faults ----

    @property
    def writes(self) -> int:
        """How many writes its file system has done since the board was made."""
        return self._gate.writes

    def cut_after_writes(self, count: int) -> None:
        """From now on let `count` writes of its file system pass; in the middle of the next one the power is cut."""
        self._gate.arm(count)

    def set_faults(self, **changes: Any) -> None:
        """Change these fields of its `Faults`, from now on."""
        self._faults = Faults(**{**self._command("state")["faults"], **changes})
        self._command("faults", faults=self._faults.record())

    # ---- its process ----

    def _command(self, what: str, **more: object) -> dict[str, Any]:
        if self._socket is None:
            raise BoardError(f"board {self.mac} is not plugged in")
        try:
            self._socket.sendall(json.dumps({"do": what, **more}).encode() + b"\n")
        except OSError as error:
            raise BoardError(f"board {self.mac}: its process is gone{self._last_words()}") from error
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        try:
            line = self._reader.readline()
        except OSError as error:
            raise BoardError(f"board {self.mac}: its process does not answer{self._last_words()}") from error
        if not line:
            raise BoardError(f"board {self.mac}: its process is gone{self._last_words()}")
        state: dict[str, Any] = json.loads(line)
        return state

    def _last_words(self) -> str:
        lines = self._child.lines() if self._child is not None else []
        return f": {lines[-1]}" if lines else ""
