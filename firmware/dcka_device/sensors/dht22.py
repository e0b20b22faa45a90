"""DHT22 (AM2302), temperature and humidity on one wire, by MicroPython's own `dht`.

A read takes 5 ms, in which the loop stands still; the sensor wants 2 s between two.
"""

import machine
from dht import DHT22

from dcka_core.sampling import SensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any

# In tenths, of its data sheet.
_RANGES = {"temperature": (-400, 800), "humidity": (0, 1000)}


class Sensor:
    """settings: columns, quantities ("temperature" or "humidity", one a column), decimals, pin."""

    def __init__(self, settings: "dict[str, Any]") -> None:
        self.name: str = settings["columns"][0]
        self.count = len(settings["columns"])
        self._quantities: list[str] = settings["quantities"]
        self._decimals: list[int] = settings["decimals"]
        self._device: Any = DHT22(machine.Pin(settings["pin"]))

    def start(self) -> int:
        """It measures when it is read, what it last took."""
        return 0

    def read(self, values: "array[int]", first: int) -> None:
        """What it gives has tenths: fewer decimals are rounded half up, more are zeros."""
        try:
            self._device.measure()
        except OSError:
            raise SensorError("it does not answer")
        except Exception as error:  # the library has no class of its own for a wrong checksum
            raise SensorError(str(error))
        raw = self._device.buf
        if not raw[0] | raw[1] | raw[2] | raw[3]:
            # A wire that is held down reads as zeros, whose sum is right.
            raise SensorError("it says nothing but zeros")
        temperature = (raw[2] & 0x7F) << 8 | raw[3]
        found = {
            "humidity": raw[0] << 8 | raw[1],
            "temperature": -temperature if raw[2] & 0x80 else temperature,
        }
        for index in range(self.count):
            quantity = self._quantities[index]
            tenths = found[quantity]
            least, most = _RANGES[quantity]
            if not least <= tenths <= most:
                raise SensorError("a %s of %d tenths is beyond its range" % (quantity, tenths))
            values[first + index] = (2 * tenths * 10 ** self._decimals[index] + 10) // 20
