"""DS18B20, a thermometer on the 1-Wire bus, by MicroPython's own `onewire` and `ds18x20`.

A conversion takes 750 ms at 12 bits (data sheet DS18B20, table 2): it is begun, and read when they are over.
"""

import machine
import onewire
from ds18x20 import DS18X20

from dcka_core.sampling import SensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any

_CONVERSION_MS = 750
# What it has after power-on and before a conversion, 85 °C; byte 6 then is 0x0C, and another after a conversion to 85.
_POWER_ON = 0x0550
_UNCONVERTED = 0x0C
# Sixteenths of a degree.
_LEAST, _MOST = -55 * 16, 125 * 16


class Sensor:
    """settings: columns (one name), decimals (one number), pin, rom (16 hex digits; "" for the only one on the bus)."""

    count = 1

    def __init__(self, settings: "dict[str, Any]") -> None:
        self.name: str = settings["columns"][0]
        self._scale = 10 ** settings["decimals"][0]
        self._bus: Any = DS18X20(onewire.OneWire(machine.Pin(settings["pin"])))
        self._rom: bytes | None = bytes.fromhex(settings["rom"]) or None

    def start(self) -> int:
        """Begin a conversion, of all that are on the bus."""
        try:
            if self._rom is None:
                self._rom = self._only_one()
            self._bus.convert_temp()
        except onewire.OneWireError:
            raise SensorError("nobody answers on the 1-Wire bus")
        return _CONVERSION_MS

    def read(self, values: "array[int]", first: int) -> None:
        """Its temperature, rounded half up."""
        try:
            raw = self._bus.read_scratch(self._rom)
        except onewire.OneWireError:
            raise SensorError("nobody answers on the 1-Wire bus")
        except Exception as error:  # the library has no class of its own for a wrong CRC
            raise SensorError(str(error))
        # A bus that is shorted reads as zeros, whose CRC is right: this byte of the register never is.
        if raw[4] & 0x9F != 0x1F:
            raise SensorError("what was read is of no DS18B20")
        level = raw[0] | raw[1] << 8
        if level == _POWER_ON and raw[6] == _UNCONVERTED:
            raise SensorError("it has lost its power, and measured nothing")
        level -= level >> 15 << 16
        if not _LEAST <= level <= _MOST:
            raise SensorError("%d/16 degrees are beyond its range" % level)
        values[first] = (2 * level * self._scale + 16) // 32

    def _only_one(self) -> bytes:
        found = self._bus.scan()
        if len(found) != 1:
            raise SensorError("%d thermometers on the bus: name one by its rom" % len(found))
        rom: bytes = found[0]
        return rom
