"""The computer's side: is there a board on the USB, has it a driver, and does another program get in the way?"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dcka.boards.doctor.verdicts import Check, note, ok, wrong
from dcka.boards.ports import PortInfo
from dcka.boards.usb import UsbDevice, has_port, is_board, usb_chip, usb_devices

_BRLTTY_RULES = tuple(
    Path(folder) / name
    for folder in ("/etc/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d")
    for name in ("85-brltty.rules", "90-brltty-device.rules", "90-brltty-usb-generic.rules")
)


@dataclass(frozen=True)
class Computer:
    """What has to be known of it. `wsl`: a Linux within Windows. `devices`: on its USB,
    None where it does not tell. `programs`: names of those that run. `brltty_rule`: a udev rule hands USB serial
    chips to brltty; None for no such rule."""

    wsl: bool
    devices: tuple[UsbDevice, ...] | None
    programs: frozenset[str]
    brltty_rule: Path | None


def this_computer() -> Computer:
    """The facts of the computer that this runs on."""
    return Computer(
        wsl="microsoft" in os.uname().release.lower(),
        devices=usb_devices(),
        programs=running_programs(),
        brltty_rule=brltty_rule(_BRLTTY_RULES),
    )


def running_programs(folder: Path = Path("/proc")) -> frozenset[str]:
    """Names of the programs that run, as far as Linux tells; nothing elsewhere."""
    names = set()
    for process in folder.glob("[0-9]*"):
        try:
            names.add((process / "comm").read_text(errors="replace").strip())
        except OSError:  # ended meanwhile
            continue
    return frozenset(names)


def brltty_rule(files: Sequence[Path]) -> Path | None:
    """The first of these udev rules that is in force for a CH340 or CP210x."""
    for file in files:
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            continue
        active = " ".join(line.lower() for line in lines if not line.lstrip().startswith("#"))
        if "1a86/7523" in active or "10c4/ea60" in active or "usb-serial" in active:
            return file
    return None


def check_usb(computer: Computer, ports: Sequence[PortInfo]) -> Check:
    """Is there a board at all? Most often there is not because of a cable that only charges."""
    boards = [port for port in ports if is_board(port)]
    if boards:
        return ok("usb", f"there {_are(len(boards), 'port')}: {', '.join(str(port) for port in boards)}")
    known = _known_devices(computer)
    if known:
        return ok("usb", f"on the USB there {_are(len(known), 'board')}, without a port")
    others = ", ".join(str(port) for port in ports)
    if computer.wsl:
        todo = "hand the board to WSL, in a PowerShell of Windows: usbipd list, then usbipd attach --wsl"
    else:
        todo = (
            "take another cable (many only charge: it needs data lines), plug it into the computer itself or a hub "
            "with its own supply, and look whether a light on the board goes on; in a container or a virtual "
            "machine, hand the USB device through"
        )
    says = "this computer sees no board on its USB"
    return wrong("usb", f"{says}; no board are: {others}" if others else says, todo)


def check_driver(computer: Computer, ports: Sequence[PortInfo]) -> Check:
    """Has each USB serial chip become a port?"""
    if computer.devices is None:
        return note("driver", "this system does not tell what is on its USB", "")
    without = [device for device in _known_devices(computer) if not has_port(device, ports)]
    if not without:
        return ok("driver", "each USB serial chip has its port")
    device = without[0]
    chip = usb_chip(device.vid, device.pid)
    name, driver = (chip.name, chip.driver) if chip else ("", "")
    says = (
        f"there {_are(len(without), 'USB serial chip')} without a port: a {name} in socket {device.location}"
    )
    if chip and chip.grabbed and _has_brltty(computer):
        return wrong("driver", says, "brltty has taken it: see there")
    return wrong(
        "driver",
        says,
        f"load its driver: sudo modprobe {driver}; where that is not found: sudo apt install "
        f"linux-modules-extra-$(uname -r); in a container, hand /dev/ttyUSB0 or /dev/ttyACM0 through",
    )


def check_brltty(computer: Computer, ports: Sequence[PortInfo]) -> Check:
    """brltty, for Braille displays, takes CH340 and CP210x chips for such displays, and their ports vanish."""
    if not _has_brltty(computer):
        return ok("brltty", "brltty does not take ports away")
    lost = [
        device
        for device in _known_devices(computer)
        if (chip := usb_chip(device.vid, device.pid)) and chip.grabbed and not has_port(device, ports)
    ]
    todo = "unless you read by it: sudo apt remove brltty, then plug the board in again"
    source = f" ({computer.brltty_rule})" if computer.brltty_rule else ""
    if lost:
        return wrong("brltty", f"brltty{source} has taken the port of the board in {lost[0].location}", todo)
    return note("brltty", f"brltty{source} may take the ports of CH340 and CP210x boards", todo)


def check_modem_manager(computer: Computer) -> Check:
    """ModemManager asks new ports whether they are modems, for some seconds after they were plugged in."""
    if "ModemManager" not in computer.programs:
        return ok("modemmanager", "ModemManager does not run")
    return note(
        "modemmanager",
        "ModemManager runs: for some seconds after it was plugged in, a port may be busy or get strange bytes",
        "wait ten seconds after plugging in; without a modem: sudo systemctl disable --now ModemManager",
    )


def check_computer(computer: Computer, ports: Sequence[PortInfo]) -> list[Check]:
    """All of it."""
    return [
        check_usb(computer, ports),
        check_driver(computer, ports),
        check_brltty(computer, ports),
        check_modem_manager(computer),
    ]


def _known_devices(computer: Computer) -> list[UsbDevice]:
    return [device for device in computer.devices or () if usb_chip(device.vid, device.pid)]


def _has_brltty(computer: Computer) -> bool:
    return "brltty" in computer.programs or computer.brltty_rule is not None


def _are(count: int, what: str) -> str:
    return f"is 1 {what}" if count == 1 else f"are {count} {what}s"
