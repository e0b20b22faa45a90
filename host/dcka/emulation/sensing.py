"""What a node under CPython senses: a replay, kept in the segments that a board has (`dcka_device/sensing.py`)."""

import io
import time
from array import array
from collections.abc import Mapping
from typing import Any

from dcka.emulation.flash import Flash
from dcka_core.sampling import Sampler, SensorError
from dcka_core.segments import Segments

EPOCH_S = 1_577_836_800
"""2020-01-01 00:00 UTC since 1970: where a node's seconds begin."""
FOLDER = "segments"


class FlashFiles:
    """Segments among the files of a node's flash, by the names that they have on a board."""

    def __init__(self, flash: Flash, reserve: int) -> None:
        self._flash = flash
        self._reserve = reserve

    def list(self) -> "list[int]":
        return [int(name) for name in self._flash.names(FOLDER) if name.isdigit()]

    def append(self, number: int, payload: bytes | bytearray | memoryview) -> None:
        self._flash.append(_name(number), bytes(payload), 1 if number in self.list() else 0)

    def size(self, number: int) -> int:
        return len(self._content(number))

    def open(self, number: int) -> io.BytesIO:
        return io.BytesIO(self._content(number))

    def remove(self, number: int) -> None:
        self._flash.remove(_name(number))

    def free(self) -> int:
        return self._flash.free_bytes() - self._reserve

    def _content(self, number: int) -> bytes:
        content = self._flash.read(_name(number))
        if content is None:
            raise FileNotFoundError(f"no segment {number}")
        return content


class Replay:
    """The rows of a replay file, as `dcka_device/sensors/replay.py` has them."""

    def __init__(self, settings: Mapping[str, Any], flash: Flash) -> None:
        self.name: str = settings["columns"][0]
        self.count = len(settings["columns"])
        self._every_s: int = settings["every_s"]
        self._rows = array("i", flash.read(settings["file"]) or b"")
        self._at = 0

    def start(self) -> int:
        """At once."""
        self._at = int(time.time()) // self._every_s
        return 0

    def read(self, values: "array[int]", first: int) -> None:
        """The row of this time."""
        rows = len(self._rows) // self.count
        if not rows:
            raise SensorError("the replay has no row")
        at = self._at % rows * self.count
        values[first : first + self.count] = self._rows[at : at + self.count]


class Sensing:
    """One node's sampling. settings: `sensors` of node.json. report: what its status says of it."""

    def __init__(self, settings: Mapping[str, Any], flash: Flash) -> None:
        files = FlashFiles(flash, settings["reserve"])
        self.segments = Segments(
            files, settings["columns"], settings["segment"], settings["most"], settings["keep_s"]
        )
        sensors = [Replay(one, flash) for one in settings["drivers"]]
        self._sampler = Sampler(sensors, self.segments, settings["every_s"], settings["sync_every"])
        self.report = self._sampler.report

    def look(self, now: int) -> float:
        """Sample what is due at `now` ms; the seconds until it has to be called again."""
        return self._sampler.tick(now, int(time.time()) - EPOCH_S) / 1000


def _name(number: int) -> str:
    return f"{FOLDER}/{number:08d}"
