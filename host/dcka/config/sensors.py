"""Which sensors a node has, as [sensors] of the network file says it: one table a device."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dcka.config.checks import Check, Unfit, shown

MAX_COLUMNS = 32
"""`dcka_core.segments` holds so many to a reading."""
MAX_DECIMALS = 6
MAX_PIN = 54
"""The highest GPIO of the family (ESP32-P4). Which of them a chip has, `dcka.boards.pins` knows."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,31}")
_ROM = re.compile(r"(22|28)[0-9a-f]{14}")
_READING = 2**31


@dataclass(frozen=True)
class Column:
    """One number of a reading: its value is a whole number times 10^-decimals. `quantity`: what of a device it is."""

    name: str
    decimals: int
    quantity: str


@dataclass(frozen=True)
class Device:
    """One sensor. `driver`: its module in dcka_device.sensors. `pins`: by their use. `settings`: as node.json has them.
    `least_s`: the shortest time between two measurements. `shares`: whether another of the driver may share its pins.
    """

    driver: str
    columns: tuple[Column, ...]
    pins: Mapping[str, int]
    settings: Mapping[str, object] = field(hash=False)
    least_s: int
    shares: bool

    def record(self) -> dict[str, object]:
        """What node.json says of it."""
        columns = self.columns
        record: dict[str, object] = {
            "driver": self.driver,
            "columns": [column.name for column in columns],
            "decimals": [column.decimals for column in columns],
        }
        if len(_DRIVERS[self.driver].quantities) > 1:
            record["quantities"] = [column.quantity for column in columns]
        return {**record, **self.pins, **self.settings}


@dataclass(frozen=True)
class _Driver:
    """`quantities`: what it measures. `pins`: the keys that name pins. `more`: the other keys that it may have, each
    with what makes of all of them what node.json says; it raises Unfit.
    """

    quantities: tuple[str, ...]
    pins: tuple[str, ...]
    more: tuple[str, ...]
    settings: Callable[[Mapping[str, Any], tuple[Column, ...]], dict[str, object]]
    least_s: int = 1
    shares: bool = False


def _adc(table: Mapping[str, Any], columns: tuple[Column, ...]) -> dict[str, object]:
    """The line through two points (volts, value), in µV and in whole numbers of the last decimal."""
    points = table.get("points", [[0, 0], [1, 1]])
    form = "points is two pairs of volts and value, such as [[0.4, 0], [2.6, 100]]"
    if not (
        isinstance(points, list)
        and len(points) == 2
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(_is_number(one) for one in pair)
            for pair in points
        )
    ):
        raise Unfit(f"points = {shown(points)}: {form}")
    (low_v, low), (high_v, high) = points
    scale = 10 ** columns[0].decimals
    ends = [round(Fraction(str(value)) * scale) for value in (low, high)]
    volts = [round(Fraction(str(value)) * 1_000_000) for value in (low_v, high_v)]
    if not 0 <= volts[0] < volts[1] <= 5_000_000:
        raise Unfit(f"points = {shown(points)}: the volts go up, from 0 to 5; {form}")
    if any(abs(value) >= _READING for value in ends):
        raise Unfit(f"points = {shown(points)}: a value with its decimals has to fit 32 bits")
    samples = table.get("samples", 16)
    if not _is_whole(samples, 1, 1000):
        raise Unfit(f"samples = {shown(samples)}: it must be a whole number from 1 to 1000")
    return {
        "samples": samples,
        "low_uv": volts[0],
        "high_uv": volts[1],
        "low": ends[0],
        "high": ends[1],
    }


def _ds18b20(table: Mapping[str, Any], columns: tuple[Column, ...]) -> dict[str, object]:
    rom = table.get("rom", "")
    if rom and not (isinstance(rom, str) and _ROM.fullmatch(rom)):
        raise Unfit(
            f"rom = {shown(rom)}: it must be the 16 hex digits of a thermometer, such as "
            '"28ff641e8216037c"; without rom it is the only one on its bus'
        )
    return {"rom": rom}


def _bme280(table: Mapping[str, Any], columns: tuple[Column, ...]) -> dict[str, object]:
    address = table.get("address", 0x76)
    if address not in (0x76, 0x77) or isinstance(address, bool):
        raise Unfit(f"address = {shown(address)}: a BME280 has 0x76 or 0x77")
    return {"address": address}


_WEATHER = ("temperature", "humidity", "pressure")
_DRIVERS = {
    "adc": _Driver(("",), ("pin",), ("points", "samples"), _adc),
    "bme280": _Driver(_WEATHER, ("sda", "scl"), ("address",), _bme280, shares=True),
    "dht22": _Driver(_WEATHER[:2], ("pin",), (), lambda table, columns: {}, least_s=2),
    "ds18b20": _Driver(("",), ("pin",), ("rom",), _ds18b20, shares=True),
}
DRIVERS = tuple(_DRIVERS)


def devices() -> Check:
    """A list of tables, one a device, as a tuple of Device."""
    allowed = (
        'a list of devices, such as [{ driver = "ds18b20", pin = 4, columns = { soil = 2 } }]; '
        f"the drivers are {', '.join(DRIVERS)}"
    )

    def convert(value: object) -> tuple[Device, ...]:
        if not isinstance(value, list) or not all(isinstance(table, Mapping) for table in value):
            raise Unfit
        found = tuple(_device(table, place) for place, table in enumerate(value, 1))
        _require_apart(found)
        return found

    return Check(allowed, convert)


def _device(table: Mapping[str, Any], place: int) -> Device:
    name = table.get("driver")
    driver = _DRIVERS.get(name) if isinstance(name, str) else None
    if driver is None or not isinstance(name, str):
        near = difflib.get_close_matches(str(name), DRIVERS, n=1)
        hint = f"did you mean {shown(near[0])}?" if near else f"the drivers are {', '.join(DRIVERS)}"
        raise Unfit(f"device {place}: driver = {shown(name)} is not known; {hint}")
    where = f"device {place} ({name})"
    known = ("driver", "columns", *driver.pins, *driver.more)
    for key in table:
        if key not in known:
            raise Unfit(f"{where}: unknown key {key}; its keys are {', '.join(known)}")
    pins = {}
    for key in driver.pins:
        if not _is_whole(table.get(key), 0, MAX_PIN):
            said = f"{key} = {shown(table[key])}" if key in table else f"{key} is missing"
            raise Unfit(f"{where}: {said}; it must be the number of a GPIO, 0 to {MAX_PIN}")
        pins[key] = table[key]
    try:
        columns = _columns(table.get("columns"), driver)
        settings = driver.settings(table, columns)
    except Unfit as error:
        raise Unfit(f"{where}: {error}") from error
    return Device(name, columns, pins, settings, driver.least_s, driver.shares)


def _columns(value: object, driver: _Driver) -> tuple[Column, ...]:
    """`{ name = decimals }`; with more quantities a name is one of them, or ends in _ and one of them."""
    one = driver.quantities == ("",)
    form = "{ soil = 1 }" if one else "{ temperature = 2, outside_humidity = 1 }"
    if not isinstance(value, Mapping) or not value:
        raise Unfit(f"columns = {shown(value)}: it must be names with their decimals, such as {form}")
    if one and len(value) != 1:
        raise Unfit(f"columns = {shown(value)}: it gives one column, such as {form}")
    found = []
    for name, decimals in value.items():
        if not _NAME.fullmatch(name):
            raise Unfit(
                f"the column {shown(name)}: a name begins with a letter, and has up to 32 letters, digits, or . _ -"
            )
        if not _is_whole(decimals, 0, MAX_DECIMALS):
            raise Unfit(
                f"columns: {name} = {shown(decimals)}; it must be its decimal places, 0 to {MAX_DECIMALS}"
            )
        quantity = "" if one else name.rpartition("_")[2]
        if quantity not in driver.quantities:
            raise Unfit(
                f"the column {shown(name)}: it must be {', '.join(driver.quantities)}, or end in one of them, as in "
                f"{form}"
            )
        found.append(Column(name, decimals, quantity))
    return tuple(found)


def _require_apart(found: tuple[Device, ...]) -> None:
    """No two columns of one name, no two devices on one pin that can't share it."""
    names: set[str] = set()
    for device in found:
        for column in device.columns:
            if column.name in names:
                raise Unfit(f"two columns are named {shown(column.name)}; give one another name")
            names.add(column.name)
    if len(names) > MAX_COLUMNS:
        raise Unfit(f"{len(names)} columns; a reading has {MAX_COLUMNS} at most")
    for place, device in enumerate(found):
        if len(set(device.pins.values())) != len(device.pins):
            raise Unfit(f"device {place + 1} ({device.driver}) has one pin twice: {_pins(device)}")
        for before in found[:place]:
            both = sorted(set(device.pins.values()) & set(before.pins.values()))
            if not both:
                continue
            if device.driver != before.driver or not device.shares or device.pins != before.pins:
                raise Unfit(f"pin {both[0]} is of two devices: {before.driver} and {device.driver}")
            if device.settings == before.settings:
                key = "rom" if device.driver == "ds18b20" else "address"
                raise Unfit(
                    f"two devices {device.driver} on the same pins ({_pins(device)}) need each its {key}"
                )


def _pins(device: Device) -> str:
    return ", ".join(f"{key} = {pin}" for key, pin in device.pins.items())


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _READING
