"""Emulated boards: a real MicroPython on a pty, with a flash and a ROM bootloader, for tests and `selftest`."""

from dcka.boards.emulated.board import EmulatedBoard
from dcka.boards.emulated.faults import Faults

__all__ = ["EmulatedBoard", "Faults"]
