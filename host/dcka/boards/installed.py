"""What a board is, and what is on it already."""

import ast
from dataclasses import dataclass, field

from dcka.boards import board_code
from dcka.boards.errors import BoardError
from dcka.boards.repl import Repl
from dcka.boards.transfer import Room

# py/persistentcode.h: the index of the native code's architecture in `sys.implementation._mpy`, as mpy-cross names it.
MARCHES = {
    1: "x86", 2: "x64", 3: "armv6", 4: "armv6m", 5: "armv7m", 6: "armv7em", 7: "armv7emsp", 8: "armv7emdp",
    9: "xtensa", 10: "xtensawin", 11: "rv32imc", 12: "rv64imc",
}  # fmt: skip

# Hashing all files of a board takes a second or two on an ESP32; the listing comes file by file.
_LISTING_S = 20.0


class NoFileSystem(BoardError):
    """MicroPython runs, and its flash has no file system."""


@dataclass(frozen=True)
class Facts:
    """`version` of MicroPython. `mpy`: `sys.implementation._mpy`, 0 where it loads none. `march`: mpy-cross's name of
    the native code that it runs, None for none. `mac`: "aa:bb:cc:dd:ee:ff", None where the interpreter has none.
    `heap_bytes`: free heap. `fat`: the file system is FAT, which replaces no file in one step.
    """

    version: tuple[int, int, int]
    machine: str
    mpy: int
    march: str | None
    mac: str | None
    free_bytes: int
    total_bytes: int
    heap_bytes: int = 0
    fat: bool = False

    @property
    def mpy_version(self) -> tuple[int, int]:
        """Version and sub-version of the .mpy files that it loads."""
        return self.mpy & 0xFF, self.mpy >> 8 & 3


@dataclass(frozen=True)
class Installed:
    """The version that main.py starts; all None where there is none of ours.

    `folder` begins with "/". `foreign`: there is a main.py that is not ours. `hashes`: path → SHA-256 (hex) of every
    file of every version, and of boot.py and main.py, as the board has just read them; `sizes`: path → bytes.
    """

    firmware: str | None
    network: str | None
    node: int | None
    folder: str | None
    mpy: str | None
    hashes: dict[str, str] = field(default_factory=dict, repr=False)
    sizes: dict[str, int] = field(default_factory=dict, repr=False)
    foreign: bool = False


def board_facts(repl: Repl) -> Facts:
    """Ask the interpreter. Raises NoFileSystem, with the way to make one; it is not made here."""
    answer = _parsed(repl, repl.run(board_code.FACTS))
    version, machine, mpy, unique, space, fat, heap = answer
    if space is None:
        raise NoFileSystem(
            f"{repl.port}: the board's flash has no file system (a new chip, or a damaged one). Make one, which "
            f"erases what is there: dcka board flash --erase --port {repl.port}, or at the board's prompt: "
            f"from flashbdev import bdev; import vfs; vfs.VfsLfs2.mkfs(bdev)"
        )
    mac = (
        ":".join(unique[place : place + 2] for place in range(0, 12, 2))
        if unique and len(unique) == 12
        else None
    )
    room = Room.of(space)
    return Facts(version, machine, mpy, MARCHES.get(mpy >> 10 & 0xF), mac, room.free, room.total, heap, fat)


def read_installed(repl: Repl) -> Installed:
    """Read main.py, node.json and version.json, and hash all that provisioning put there. No password is read."""
    repl.load(board_code.HELPERS)
    first, *files = repl.run(board_code.INSTALLED, _LISTING_S).splitlines()
    folder, network, node, firmware, mpy = _parsed(repl, first)
    hashes, sizes = {}, {}
    for line in files:
        path, size, digest = _parsed(repl, line)
        hashes[path], sizes[path] = digest, size
    return Installed(firmware, network, node, folder or None, mpy, hashes, sizes, foreign=folder == "")


def _parsed(repl: Repl, text: str) -> tuple:  # type: ignore[type-arg]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if not isinstance(value, tuple):
        raise BoardError(
            f"{repl.port}: the board's answer was disturbed: is another program, or a second task of the board, "
            f"writing on the port?"
        )
    return value
