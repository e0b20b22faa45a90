"""Emulated boards: a real MicroPython on a pty, with a flash and a ROM bootloader, for tests and `selftest`."""

from typing import TYPE_CHECKING

from dcka.boards.emulated.faults import Faults

if TYPE_CHECKING:
    from dcka.boards.emulated.board import EmulatedBoard

__all__ = ["EmulatedBoard", "Faults"]


def __getattr__(name: str) -> object:
    # A board's own process, which imports this package too, has no use for it: a tenth of a second for each board.
    if name == "EmulatedBoard":
        from dcka.boards.emulated.board import EmulatedBoard

        return EmulatedBoard
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
