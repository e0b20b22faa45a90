"""A file of readings in the place of a sensor: row by row, the one that is due at this time.

The file has whole numbers of 32 bits, little-endian, the columns of a row beside one another. Row i is for the times
with time // every_s ≡ i modulo their number: so a node that restarts goes on where the time is.
"""

import os
import time
from array import array

from dcka_core.sampling import SensorError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Sensor:
    """settings: columns, file, every_s."""

    def __init__(self, settings: "dict[str, Any]") -> None:
        self.name: str = settings["columns"][0]
        self.count = len(settings["columns"])
        self._file: str = settings["file"]
        self._every_s: int = settings["every_s"]
        self._row = array("i", bytes(4 * self.count))
        self._at = 0

    def start(self) -> int:
        """At once."""
        self._at = int(time.time()) // self._every_s
        return 0

    def read(self, values: "array[int]", first: int) -> None:
        """The row of this time."""
        size = 4 * self.count
        rows = os.stat(self._file)[6] // size
        if not rows:
            raise SensorError("%s has no row" % self._file)
        with open(self._file, "rb") as file:
            file.seek(self._at % rows * size)
            got = file.readinto(self._row)
        if got != size:
            raise SensorError("%s is cut" % self._file)
        for index in range(self.count):
            values[first + index] = self._row[index]
