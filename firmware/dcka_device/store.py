"""The node's flash: small files, each written aside and then renamed, so that a power cut leaves the old or the new."""

import gc
import os

from dcka_core.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dcka_core.points import Points

DATA_FILE = "data.bin"
READINGS_FILE = "readings.bin"
_BOOT_FILE = "boots.txt"
# Of heap that has to stay free beside the data: connection, code and sums of a run, and what it sends.
_RUN_BYTES = 40960


class Store:
    """Files in the current folder, which on a board is the root of its flash.

    load: `parts.part`, or what does the same.
    """

    def __init__(self, load: "Callable[[str], Any]") -> None:
        self.load = load

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

    def points(self, name: str = DATA_FILE, then: str = "") -> "Points | None":
        """The data set; None where there is none. Raises CoreError where it is damaged.

        then: what the file will be called when its blocks are read.
        """
        try:
            file = open(name, "rb")  # noqa: SIM115
        except OSError:
            return None
        with file:
            load = self.load("points").load
            points: Points = load(file, lambda: open(then or name, "rb"), _room())  # noqa: SIM115
        self.load("")
        return points

    def readings(self) -> "Points | None":
        """The readings, as `points`; CoreError also where this heap can't hold a block of them."""
        try:
            return self.points(READINGS_FILE)
        except MemoryError as error:
            raise CoreError("the readings can't be read: %s" % error)

    def readings_dataset(self) -> bytes:
        """The 8 bytes that name the readings; nothing where there are none. They are checked when they are read."""
        try:
            with open(READINGS_FILE, "rb") as file:
                dataset: bytes = file.read(20)[12:]
                return dataset
        except OSError:
            return b""


def _room() -> int:
    """The most bytes of points that are kept in memory. One block always is: its buffer would be as large."""
    gc.collect()
    free: int = gc.mem_free()
    return free - _RUN_BYTES
