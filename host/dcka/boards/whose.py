"""Who is behind a port, as far as it can be known without a word to the board: from USB and from the registry."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dcka.boards.ports import PortInfo
from dcka.boards.registry import Board

_MAC = re.compile(r"([0-9a-f]{2}[:-]?){5}[0-9a-f]{2}")
_ESPRESSIF = 0x303A
# What makers of USB chips write into all of them.
_NO_SERIALS = ("", "0", "0001", "12345678", "123456")


@dataclass(frozen=True)
class Identity:
    """`node`: the id, None where nobody knows it. `sure`: it is the board's own word, or its USB serial number;
    otherwise another board may have taken its port since."""

    node: int | None = None
    mac: str | None = None
    network: str | None = None
    sure: bool = False

    def told(self, node: int, network: str) -> "Identity":
        """The same board, after it has told its id; a MAC that was a guess, for another id, is not its own."""
        its_own = self.sure or self.node == node
        return replace(self, node=node, network=network, sure=True, mac=self.mac if its_own else None)


def who_is(info: PortInfo, present: Sequence[PortInfo], boards: Sequence[Board]) -> Identity:
    """The board at a port, by the MAC or the serial number of its USB chip, else by where it was seen last.

    `present`: all ports, `boards`: the registry's.
    """
    mac = mac_of_usb(info)
    serial = serial_of(info, present)
    for board in boards:
        alike = serial and [other.serial for other in boards].count(serial) == 1 and board.serial == serial
        if board.mac == mac or (mac is None and alike):
            return Identity(board.node, board.mac, sure=True)
    if mac is not None:
        return Identity(None, mac, sure=True)
    # By its place: not where the registry has seen another serial number there.
    for board in boards:
        if board.port == info.path and (not serial or board.serial in ("", serial)):
            return Identity(board.node, board.mac)
    return Identity()


def same_board(before: PortInfo, now: PortInfo, present: Sequence[PortInfo]) -> bool:
    """Whether the board that was at `before` is at `now`: by its serial number, else by its socket on the hub,
    else by the port's name. `present`: all ports that there are now."""
    old, new = serial_of(before, ()), serial_of(now, present)
    if old or new:
        return old == new
    if before.location or now.location:
        return before.location == now.location
    return before.path == now.path


def serial_of(info: PortInfo, present: Sequence[PortInfo]) -> str:
    """The serial number of the USB port where it tells boards apart; "" where there is none or several have it."""
    serial = info.serial or ""
    twins = sum(1 for other in present if other.serial == info.serial and other.path != info.path)
    return "" if serial in _NO_SERIALS or twins else serial


def mac_of_usb(info: PortInfo) -> str | None:
    """The MAC that chips with USB of their own give as their serial number."""
    serial = (info.serial or "").lower()
    if info.vid != _ESPRESSIF or not _MAC.fullmatch(serial):
        return None
    digits = re.sub("[:-]", "", serial)
    return ":".join(digits[place : place + 2] for place in range(0, 12, 2))
