"""The blocks of a data file that is larger than memory: read through one buffer, and checked each time.

Only a node that has such a file loads this.
"""

from array import array
from binascii import crc32

from dcka_core.errors import DataError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedIOBase
    from typing import Any

# What CRC-32 gives over anything with its own CRC-32 behind it, whatever the start value: one comparison, and a small
# integer on 32 bits, where the CRC itself would take memory.
_SOUND = 0x2144DF1C
WRONG = "its CRC-32 is wrong"


class FileBlocks:
    """A sequence of (buffer, count); the buffer is the same for all, so what is wanted of a block is taken at once.

    again: opens the file at its first byte. start: where the first block begins. width: bytes of a number. count:
    points, at least one. A block's CRC is checked when it is first read, in the order of the file; then its hash, which
    is faster, where there is machine code. A pass allocates nothing for a block. Raises DataError for one that is not
    as it was stored.
    """

    def __init__(
        self,
        again: "Callable[[], BufferedIOBase]",
        start: int,
        n: int,
        width: int,
        count: int,
        per_block: int,
    ) -> None:
        self._again = again
        self._start = start
        self._width = width
        self._last = (count - 1) // per_block
        rest = count - self._last * per_block
        self._size = per_block * n * width + 4
        self._rest = rest * n * width + 4
        numbers = min(count, per_block) * n
        # The CRC lies behind the points.
        buffer = array("i" if width == 4 else "H", bytes(numbers * width + 4))
        view = memoryview(buffer)
        self._views = (view, view[: rest * n + 4 // width])
        self._pairs = ((buffer, per_block), (buffer, rest))
        # What each block's hash was when its CRC was right, for so many from the first; and one place to compare.
        self._learned = 0
        self._sums = array("I", bytes(4 * (self._last + 2)))
        self._fold: Any = None
        try:
            from dcka_core.fold_viper import fold

            self._fold = fold
        except (ImportError, ValueError, SyntaxError):
            # No emitter for this machine, as in `lloyd.kernel_for`: then it is the CRC each time.
            pass

    def __len__(self) -> int:
        return self._last + 1

    def __iter__(self) -> "Iterator[tuple[array[int], int]]":
        stream = self._open(0)
        try:
            for number in range(self._last + 1):
                yield self.read(stream, number)
        finally:
            stream.close()

    def __getitem__(self, number: int) -> "tuple[array[int], int]":
        if not 0 <= number <= self._last:
            raise IndexError(number)
        stream = self._open(number)
        try:
            return self.read(stream, number)
        finally:
            stream.close()

    def read(self, stream: "BufferedIOBase", number: int) -> "tuple[array[int], int]":
        """The block `number`, at which the stream is."""
        view = self.view(number)
        try:
            got = stream.readinto(view)
        except OSError as error:
            raise damaged(self._width, number, "the flash says %s" % error)
        if got != (self._rest if number == self._last else self._size):
            raise damaged(self._width, number, "it is cut short")
        if number < self._learned:
            if not self._hash(got, self._last + 1, number):
                wrong = crc32(view, number) != _SOUND
                raise damaged(self._width, number, WRONG if wrong else "it is not the one that was loaded")
        elif crc32(view, number) != _SOUND:
            raise damaged(self._width, number, WRONG)
        elif self._fold and number == self._learned:
            self._hash(got, number, number)
            self._learned += 1
        return self._pairs[number == self._last]

    def _hash(self, size: int, into: int, known: int) -> int:
        """Of the words of a block that was just read; what is no whole word is of its CRC."""
        words = size // 4
        same: int = self._fold(self._pairs[0][0], words & ~3, 0, words & 3, self._sums, into, known)
        return same

    def view(self, number: int) -> "memoryview[int]":
        """The bytes of a block that was just read, its CRC with them."""
        return self._views[number == self._last]

    def _open(self, number: int) -> "BufferedIOBase":
        try:
            stream = self._again()
            stream.seek(self._start + number * self._size)
        except OSError as error:
            raise damaged(self._width, number, "the flash says %s" % error)
        return stream


def damaged(width: int, number: int, why: str) -> DataError:
    """What is raised for a block of points (width 2) or of readings (4)."""
    name = "readings.bin" if width == 4 else "data.bin"
    return DataError("block %d of %s is damaged (%s): inject the data again" % (number, name, why))
