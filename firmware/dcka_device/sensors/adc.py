"""A voltage on a pin, through a straight line of the user's: a soil probe, a light sensor, a battery.

The chip's own calibration is in `read_uv`; the mean of several reads takes away most of the converter's noise.
"""

import machine

from dcka_core.sampling import SensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from typing import Any

# µV beyond which the converter says no more than "high", at its widest range; and as little near the ground.
_HIGH_UV = 3100000


class Sensor:
    """settings: columns (one name), pin, samples, and the line through (low_uv, low) and (high_uv, high), in µV and in
    whole numbers of the column's last decimal.
    """

    count = 1

    def __init__(self, settings: "dict[str, Any]") -> None:
        self.name: str = settings["columns"][0]
        self._samples: int = settings["samples"]
        self._low_uv: int = settings["low_uv"]
        self._high_uv: int = settings["high_uv"]
        self._low: int = settings["low"]
        self._high: int = settings["high"]
        self._adc: Any = machine.ADC(machine.Pin(settings["pin"]), atten=machine.ADC.ATTN_11DB)

    def start(self) -> int:
        """It takes microseconds."""
        return 0

    def read(self, values: "array[int]", first: int) -> None:
        """The mean of the reads, on the line, rounded half up. Refused where a read is at the converter's end."""
        total = 0
        for _ in range(self._samples):
            level: int = self._adc.read_uv()
            if level >= _HIGH_UV:
                raise SensorError("%d mV is beyond what the pin can measure" % (level // 1000))
            total += level
        span = self._samples * (self._high_uv - self._low_uv)
        above = total - self._samples * self._low_uv
        values[first] = self._low + (2 * above * (self._high - self._low) + span) // (2 * span)
