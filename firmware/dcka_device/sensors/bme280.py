"""BME280: temperature, humidity and pressure over I²C (and BMP280, without humidity).

Written from Bosch's data sheet BST-BME280-DS002, revision 1.6: registers of its section 5, and the compensation of its
section 4.2.3 in whole numbers, with 64 bits for the pressure. Each sample is one measurement in forced mode with
oversampling ×1, after which the chip sleeps again (0.1 µA).
"""

import machine

from dcka_core.sampling import SensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any

_ID, _RESET, _CTRL_HUM, _STATUS, _CTRL_MEAS, _DATA = 0xD0, 0xE0, 0xF2, 0xF3, 0xF4, 0xF7
_BME280 = 0x60
# BMP280, in samples and in mass production.
_OTHERS = (0x56, 0x57, 0x58)
# Temperature and pressure ×1, forced mode.
_MEASURE = b"\x25"
# Section 9.1: 1.25 + 2.3 + (2.3 + 0.575)·2 ms at most.
_MEASURING_MS = 10
_MEASURING = 0x08
# Per quantity: what `values` divides by to get its unit (°C, %, Pa), and the ends of its range.
_SCALES = {
    "temperature": (100, -4000, 8500),
    "humidity": (1024, 0, 102400),
    "pressure": (256, 7680000, 28160000),
}
_SKIPPED_20 = 0x80000
_SKIPPED_16 = 0x8000


class Sensor:
    """settings: columns, quantities ("temperature", "humidity" or "pressure", one a column), decimals, scl, sda, and
    address (0x76 or 0x77).
    """

    def __init__(self, settings: "dict[str, Any]") -> None:
        self.name: str = settings["columns"][0]
        self.count = len(settings["columns"])
        self._quantities: list[str] = settings["quantities"]
        self._decimals: list[int] = settings["decimals"]
        self._address: int = settings["address"]
        self._i2c: Any = machine.SoftI2C(scl=machine.Pin(settings["scl"]), sda=machine.Pin(settings["sda"]))
        # Its own compensation, read when it first answers, and again when it did not.
        self._known: tuple[int, ...] = ()

    def start(self) -> int:
        """Begin a measurement."""
        try:
            if not self._known:
                self._known = self._coefficients()
            # Takes effect with the write to ctrl_meas (section 5.4.3). It is forgotten with the power.
            self._i2c.writeto_mem(self._address, _CTRL_HUM, b"\x01")
            self._i2c.writeto_mem(self._address, _CTRL_MEAS, _MEASURE)
        except OSError:
            self._known = ()
            raise SensorError("nobody answers at address 0x%02x" % self._address)
        return _MEASURING_MS

    def read(self, values: "array[int]", first: int) -> None:
        """What it measured, rounded half up."""
        try:
            if self._i2c.readfrom_mem(self._address, _STATUS, 1)[0] & _MEASURING:
                raise SensorError("it still measures after %d ms" % _MEASURING_MS)
            raw = self._i2c.readfrom_mem(self._address, _DATA, 8)
        except OSError:
            self._known = ()
            raise SensorError("nobody answers at address 0x%02x" % self._address)
        pressure = raw[0] << 12 | raw[1] << 4 | raw[2] >> 4
        temperature = raw[3] << 12 | raw[4] << 4 | raw[5] >> 4
        humidity = raw[6] << 8 | raw[7]
        if temperature == _SKIPPED_20:
            # What the registers have after power-on.
            self._known = ()
            raise SensorError("it has lost its power, and measured nothing")
        fine = fine_temperature(self._known, temperature)
        for index in range(self.count):
            quantity = self._quantities[index]
            if quantity == "temperature":
                level = fine * 5 + 128 >> 8
            elif quantity == "humidity":
                if humidity == _SKIPPED_16 or not self._known[13]:
                    raise SensorError("it has no humidity: a BMP280 has none")
                level = relative_humidity(self._known, humidity, fine)
            else:
                level = pressure_pa(self._known, pressure, fine)
            scale, least, most = _SCALES[quantity]
            if not least <= level <= most:
                raise SensorError("a %s of %d/%d is beyond its range" % (quantity, level, scale))
            values[first + index] = (2 * level * 10 ** self._decimals[index] + scale) // (2 * scale)

    def _coefficients(self) -> "tuple[int, ...]":
        """T1–T3, P1–P9, H1–H6 (section 4.2.2); the last six 0 for a BMP280."""
        chip = self._i2c.readfrom_mem(self._address, _ID, 1)[0]
        if chip != _BME280 and chip not in _OTHERS:
            raise SensorError("chip 0x%02x at address 0x%02x is no BME280" % (chip, self._address))
        low = self._i2c.readfrom_mem(self._address, 0x88, 26)
        found = [_signed(low[2 * place] | low[2 * place + 1] << 8, 16) for place in range(12)]
        for place in (0, 3):  # T1 and P1 have no sign
            found[place] &= 0xFFFF
        if not found[0] or not found[3]:
            raise SensorError("its compensation reads as zeros")
        if chip != _BME280:
            return tuple(found + [0] * 6)
        high = self._i2c.readfrom_mem(self._address, 0xE1, 7)
        found.append(low[25])
        found.append(_signed(high[0] | high[1] << 8, 16))
        found.append(high[2])
        found.append(_signed(high[3] << 4 | high[4] & 15, 12))
        found.append(_signed(high[5] << 4 | high[4] >> 4, 12))
        found.append(_signed(high[6], 8))
        return tuple(found)


def _signed(value: int, bits: int) -> int:
    return value - (value >> bits - 1 << bits)


def fine_temperature(known: "tuple[int, ...]", raw: int) -> int:
    """`t_fine` of section 4.2.3: the temperature in 1/5120 °C. known: the compensation, T1 first."""
    first = ((raw >> 3) - (known[0] << 1)) * known[1] >> 11
    off = (raw >> 4) - known[0]
    return first + ((off * off >> 12) * known[2] >> 14)


def pressure_pa(known: "tuple[int, ...]", raw: int, fine: int) -> int:
    """The pressure in 1/256 Pa; 0 where the compensation would divide by zero."""
    p1, p2, p3, p4, p5, p6, p7, p8, p9 = known[3:12]
    off = fine - 128000
    second = off * off * p6 + (off * p5 << 17) + (p4 << 35)
    first = (off * off * p3 >> 8) + (off * p2 << 12)
    first = ((1 << 47) + first) * p1 >> 33
    if not first:
        return 0
    level = ((1048576 - raw << 31) - second) * 3125
    # The data sheet's C divides towards zero; here both are positive.
    level //= first
    first = p9 * (level >> 13) * (level >> 13) >> 25
    second = p8 * level >> 19
    return (level + first + second >> 8) + (p7 << 4)


def relative_humidity(known: "tuple[int, ...]", raw: int, fine: int) -> int:
    """The humidity in 1/1024 %, cut to 0 … 100 % as the data sheet has it."""
    h1, h2, h3, h4, h5, h6 = known[12:18]
    off = fine - 76800
    level = (raw << 14) - (h4 << 20) - h5 * off + 16384 >> 15
    level *= (((off * h6 >> 10) * ((off * h3 >> 11) + 32768) >> 10) + 2097152) * h2 + 8192 >> 14
    level -= ((level >> 15) * (level >> 15) >> 7) * h1 >> 4
    return min(max(level, 0), 419430400) >> 12
