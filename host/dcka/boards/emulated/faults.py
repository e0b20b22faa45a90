"""What can be made to go wrong on an emulated board, and the flash's gate, which counts its writes."""

import struct
from dataclasses import asdict, dataclass
from pathlib import Path

_COUNTERS = struct.Struct("=II")  # as the interpreter's array("I") has them
NEVER = 0xFFFFFFFF
"""So many writes are left until the power is cut where nobody has asked for it."""


@dataclass(frozen=True)
class Faults:
    """Each field is one fault; by default there is none.

    ignore_interrupts: how many Ctrl-C are lost while a program runs. banner_in_pieces: the raw REPL's banner comes in
    three pieces, 50 ms apart. boot_text: what the chip prints after each reset, and once before the next banner.
    silent: nothing is answered, to whatever comes. hold_boot_button: a reset leads into the ROM bootloader, which
    stays. flip_flashed_byte: the byte at this address of the flash is stored wrongly by the bootloader.
    unplug_after_flashed: the port is gone after so many bytes from a client of the bootloader.
    """

    ignore_interrupts: int = 0
    banner_in_pieces: bool = False
    boot_text: str = ""
    silent: bool = False
    hold_boot_button: bool = False
    flip_flashed_byte: int | None = None
    unplug_after_flashed: int | None = None

    def record(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


class Gate:
    """The file of two counters that the interpreter's flash driver looks into before each write."""

    def __init__(self, file: Path) -> None:
        self.file = file
        if not file.exists():
            file.write_bytes(_COUNTERS.pack(NEVER, 0))

    @property
    def writes(self) -> int:
        """How many writes the file system has done since the board was made."""
        return self._read()[1]

    @property
    def cut(self) -> bool:
        """Whether a write found that the power is cut."""
        return self._read()[0] == 0

    def arm(self, writes: int) -> None:
        """Let so many writes pass from now on; the next one is torn, and the power is gone. `NEVER` disarms."""
        with self.file.open("r+b") as file:
            file.write(_COUNTERS.pack(writes, 0)[:4])

    def _read(self) -> tuple[int, int]:
        left, done = _COUNTERS.unpack(self.file.read_bytes()[: _COUNTERS.size])
        return left, done
