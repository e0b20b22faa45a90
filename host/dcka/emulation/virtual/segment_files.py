"""A node's flash for segments, in memory; the power may go at any byte of an append."""

from io import BytesIO


class PowerCut(Exception):
    """The power went in the midst of a write: the program of the node ends here."""


class SegmentFiles:
    """What `dcka_core.segments.Segments` writes to. Survives deep sleep and power cuts, as flash does.

    `size`: bytes in all. `cut_after`: so many bytes of appends, and the power goes; None for never. `written_bytes`:
    of all appends.
    """

    def __init__(self, size: int) -> None:
        self.cut_after: int | None = None
        self.written_bytes = 0
        self._files: dict[int, bytearray] = {}
        self._size = size

    def list(self) -> list[int]:
        """The numbers of the segments."""
        return list(self._files)

    def append(self, number: int, payload: "bytes | bytearray | memoryview[int]") -> None:
        """Add to a segment. Raises OSError where there is no room, and PowerCut."""
        data = bytes(payload)
        if len(data) > self.free():
            raise OSError(28, "no space left")
        content = self._files.setdefault(number, bytearray())
        if self.cut_after is not None and len(data) > self.cut_after:
            content += data[: self.cut_after]
            self.cut_after = None
            raise PowerCut
        if self.cut_after is not None:
            self.cut_after -= len(data)
        content += data
        self.written_bytes += len(data)

    def size(self, number: int) -> int:
        """Bytes of a segment. Raises OSError."""
        return len(self._of(number))

    def open(self, number: int) -> BytesIO:
        """A stream at its first byte. Raises OSError."""
        return BytesIO(self._of(number))

    def remove(self, number: int) -> None:
        """Remove a segment. Raises OSError."""
        self._of(number)
        del self._files[number]

    def free(self) -> int:
        """Bytes that have room."""
        return self._size - sum(map(len, self._files.values()))

    def _of(self, number: int) -> bytearray:
        if number not in self._files:
            raise OSError(2, "no such segment")
        return self._files[number]
