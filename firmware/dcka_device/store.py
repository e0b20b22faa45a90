"""The node's flash: small files, each written aside and then renamed, so that a power cut leaves the old or the new."""

import gc
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.points import Points
    from dcka_core.survey_grid import SurveyGrid

READINGS_FILE = "readings.bin"
_DATA_FILE = "data.bin"
_MADE = "points.new"
_BOOT_FILE = "boots.txt"
# ENOENT
_MISSING = 2
# Of heap that has to stay free beside the data: connection, code and sums of a run, and what it sends.
_RUN_BYTES = 40960


class Store:
    """Files in the current folder, which on a board is the root of its flash.

    load: `parts.part`, or what does the same.
    """

    def __init__(self, load: "Callable[[str], Any]") -> None:
        self._load = load

    def raise_boot(self) -> int:
        """Count this boot, on flash before anything is sent (rule 2), and return the count."""
        try:
            boots = int(self.read(_BOOT_FILE))
        except ValueError:
            boots = 0
        boots += 1
        self.save(_BOOT_FILE, str(boots))
        return boots

    def read(self, name: str) -> bytes:
        """What the file holds; nothing where there is none."""
        try:
            with open(name, "rb") as file:
                content: bytes = file.read()
                return content
        except OSError:
            return b""

    def save(self, name: str, payload: "bytes | bytearray | str") -> None:
        """Replace the file's content at once or not at all."""
        aside = name + ".new"
        with open(aside, "w" if isinstance(payload, str) else "wb") as file:
            file.write(payload)
        os.rename(aside, name)

    def append(self, name: str, payload: bytes, offset: int, total: int) -> None:
        """Add to the file; begin it anew where `offset` is 0, in the place of what an earlier transfer has left.

        Raises OSError; before anything is written where `total` bytes have no room.
        """
        if not offset:
            _remove(name)
            _require_room(total)
        try:
            with open(name, "ab" if offset else "wb") as file:
                file.write(payload)
        except OSError:
            _remove(name)
            raise

    def drop(self) -> None:
        """Remove data and readings."""
        for name in (_DATA_FILE, READINGS_FILE, "data.new", _MADE):
            _remove(name)

    def points(self, name: str = _DATA_FILE, then: str = "") -> "Points | None":
        """The data set; None where there is none. Raises CoreError where it is damaged.

        then: what the file will be called when its blocks are read.
        """
        try:
            file = open(name, "rb")  # noqa: SIM115
        except OSError:
            return None
        with file:
            load = self._load("points").load
            points: Points = load(file, lambda: open(then or name, "rb"), _room())  # noqa: SIM115
        self._load("")
        return points

    def adopt(self, aside: str, name: str) -> "Points | None":
        """Put a data file in the place of the old one, which stays where the new one can't be read.

        Raises OSError and CoreError.
        """
        points = self.points(aside, name)
        os.rename(aside, name)
        return points

    def readings_dataset(self) -> bytes:
        """The 8 bytes that name the readings; nothing where there are none. They are checked when they are read."""
        try:
            with open(READINGS_FILE, "rb") as file:
                dataset: bytes = file.read(20)[12:]
                return dataset
        except OSError:
            return b""

    def make(
        self, grid: "SurveyGrid", readings: "Points | None", alive: "Callable[[], object]"
    ) -> "Points | None":
        """Quantise the readings into the data file; the old one stays where that fails.

        readings: lose their blocks; read anew where they are None. alive: called every now and then. Raises OSError and
        CoreError.
        """
        readings = readings or self.points(READINGS_FILE)
        if readings is None:
            raise OSError("no %s" % READINGS_FILE)
        _remove(_MADE)
        _require_room(2 * readings.n * readings.count)
        with open(_MADE, "wb") as file:
            for piece in self._load("survey_points").data_file(readings, grid):
                file.write(piece)
                alive()
        readings.blocks = []
        return self.adopt(_MADE, _DATA_FILE)


def _room() -> int:
    """The most bytes of points that are kept in memory. One block always is: its buffer would be as large."""
    gc.collect()
    free: int = gc.mem_free()
    return free - _RUN_BYTES


def _remove(name: str) -> None:
    try:
        os.remove(name)
    except OSError as error:
        if error.errno != _MISSING:
            raise


def _require_room(size: int) -> None:
    block, blocks, free = os.statvfs(".")[1:4]
    if free > blocks:
        # LittleFS counts blocks that files share more than once: on a full flash it is below 0, unsigned.
        free = 0
    # Each block of a file has some bytes of pointers; a name and the files that every run writes take a few.
    need = size // (block - 8) + 6
    if need > free:
        raise OSError("no room: %d KB needed, %d KB free" % (need * block // 1024, free * block // 1024))
