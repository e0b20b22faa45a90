"""Which pins a chip has for sensors: looked at when the chip is known, before anything is written to a board.

Sources: Espressif's data sheets of the chips (pin lists, strapping and flash pins, channels of ADC1).
"""

from dataclasses import dataclass

from dcka.boards.chips import Chip
from dcka.config.living import SensorsSection
from dcka.errors import UsageError


@dataclass(frozen=True)
class _Pins:
    """`highest` GPIO; those that are not led out; those of the flash; those without an output; those of ADC1, since
    ADC2 is the radio's.
    """

    highest: int
    missing: range
    flash: range
    inputs: range
    adc: range


_PINS = {
    "esp32": _Pins(39, range(28, 32), range(6, 12), range(34, 40), range(32, 40)),
    "esp32s2": _Pins(46, range(22, 26), range(26, 33), range(46, 47), range(1, 11)),
    "esp32s3": _Pins(48, range(22, 26), range(26, 33), range(0), range(1, 11)),
    "esp32c3": _Pins(21, range(0), range(12, 18), range(0), range(5)),
    "esp32c6": _Pins(30, range(0), range(24, 31), range(0), range(7)),
}


def require_pins(sensors: SensorsSection, chip: Chip | None) -> None:
    """Raises UsageError where a device is on a pin that this chip hasn't, or can't use so.

    A chip that is not known here is not checked.
    """
    pins = _PINS.get(chip.name) if chip is not None else None
    if pins is None or chip is None:
        return
    for device in sensors.devices:
        for use, pin in device.pins.items():
            why = _why_not(pins, pin, device.driver == "adc")
            if why:
                raise UsageError(
                    f"[sensors] devices: {device.driver} {use} = {pin}: on an {chip.title} {why}; wire it to another"
                )


def _why_not(pins: _Pins, pin: int, adc: bool) -> str:
    if pin > pins.highest or pin in pins.missing:
        return f"there is no pin {pin}"
    if pin in pins.flash:
        return f"pin {pin} is the flash's"
    if adc and pin not in pins.adc:
        return f"pin {pin} measures no voltage while the radio is on: {pins.adc[0]} to {pins.adc[-1]} do"
    if not adc and pin in pins.inputs:
        return f"pin {pin} can only read, and the sensor has to be spoken to"
    return ""
