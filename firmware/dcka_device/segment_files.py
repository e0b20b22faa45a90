"""Segments as files on a node's flash: `segments/00000001` and so on, in the current folder.

On LittleFS closing a file after an append is the moment from which what was appended is there, as a whole; a power cut
before it leaves the file as it was.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "segments"


class SegmentFiles:
    """What `dcka_core.segments.Segments` writes to. reserve: bytes of the flash that segments leave free."""

    def __init__(self, reserve: int) -> None:
        self._reserve = reserve
        try:
            os.mkdir(FOLDER)
        except OSError:  # it is there
            pass

    def list(self) -> "list[int]":
        return [int(name) for name in os.listdir(FOLDER) if name.isdigit()]

    def append(self, number: int, payload: "bytes | bytearray | memoryview[int]") -> None:
        with open(_path(number), "ab") as file:
            file.write(payload)

    def size(self, number: int) -> int:
        size: int = os.stat(_path(number))[6]
        return size

    def open(self, number: int) -> "Any":
        return open(_path(number), "rb")

    def remove(self, number: int) -> None:
        os.remove(_path(number))

    def free(self) -> int:
        block, blocks, free = os.statvfs(".")[1:4]
        if free > blocks:
            # See storing._require_room: LittleFS counts what files share more than once.
            free = 0
        return free * block - self._reserve


def _path(number: int) -> str:
    return "%s/%08d" % (FOLDER, number)
