"""The USB chips that ESP32 boards have, their drivers, and the devices that are on this computer's USB."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dcka.boards.ports import PortInfo


@dataclass(frozen=True)
class UsbChip:
    """A chip between USB and a serial port. `driver`: the Linux module. `grabbed`: brltty takes it for its own."""

    name: str
    driver: str
    grabbed: bool = False


@dataclass(frozen=True)
class UsbDevice:
    """A device on the USB. `location`: bus and socket, such as "1-2.3"."""

    vid: int
    pid: int
    name: str
    location: str


_CP210X = UsbChip("CP210x", "cp210x", grabbed=True)
_CH340 = UsbChip("CH340", "ch341", grabbed=True)
_CH9102 = UsbChip("CH9102", "cdc_acm")
_FTDI = UsbChip("FTDI", "ftdi_sio")
_NATIVE = UsbChip("ESP32's own USB", "cdc_acm")
_PL2303 = UsbChip("PL2303", "pl2303")

_BY_ID = {
    (0x1A86, 0x7522): _CH340,
    (0x1A86, 0x7523): _CH340,
    (0x1A86, 0x5523): _CH340,
    (0x1A86, 0x55D3): _CH9102,
    (0x1A86, 0x55D4): _CH9102,
    (0x067B, 0x2303): _PL2303,
    (0x067B, 0x23A3): _PL2303,
    (0x067B, 0x23C3): _PL2303,
    (0x0403, 0x6001): _FTDI,
    (0x0403, 0x6010): _FTDI,
    (0x0403, 0x6011): _FTDI,
    (0x0403, 0x6014): _FTDI,
    (0x0403, 0x6015): _FTDI,
    (0x10C4, 0xEA60): _CP210X,
    (0x10C4, 0xEA63): _CP210X,
    (0x10C4, 0xEA70): _CP210X,
    (0x10C4, 0xEA71): _CP210X,
}
_ESPRESSIF = 0x303A


def usb_chip(vid: int | None, pid: int | None) -> UsbChip | None:
    """The chip of these ids; None for one that ESP32 boards do not have."""
    if vid is None or pid is None:
        return None
    return _NATIVE if vid == _ESPRESSIF else _BY_ID.get((vid, pid))


def is_board(port: PortInfo) -> bool:
    """Whether a board may be behind it: the chip is one of ours, or somebody has named the port in DCKA_PORTS."""
    return port.vid is None or usb_chip(port.vid, port.pid) is not None


def has_port(device: UsbDevice, ports: Iterable[PortInfo]) -> bool:
    """Whether one of the ports belongs to this device."""
    places = [port.location or "" for port in ports]
    return any(place == device.location or place.startswith(f"{device.location}:") for place in places)


def usb_devices(folder: Path = Path("/sys/bus/usb/devices")) -> tuple[UsbDevice, ...] | None:
    """What Linux sees on the USB, hubs left out; None where the system does not tell."""
    if not folder.is_dir():
        return None
    devices = []
    for place in sorted(folder.iterdir()):
        try:
            vid, pid, kind = (
                int((place / name).read_text(), 16) for name in ("idVendor", "idProduct", "bDeviceClass")
            )
        except (OSError, ValueError):  # an interface, or unplugged while we look
            continue
        if kind != _HUB:
            devices.append(UsbDevice(vid, pid, _product(place), place.name))
    return tuple(devices)


_HUB = 9  # USB's class code


def _product(place: Path) -> str:
    try:
        return (place / "product").read_text(errors="replace").strip()
    except OSError:
        return ""
