"""Readings on flash: segment files that are only ever appended to, and stay readable wherever the power is cut.

The format is in docs/sensors.md. Times are whole seconds since 2020-01-01 00:00 UTC, values signed 32-bit whole
numbers. Only a node that senses loads this.
"""

from array import array
from binascii import crc32
from struct import pack, pack_into, unpack_from

from dcka_core.errors import CoreError
from dcka_core.segment_format import (
    BODY_BYTES,
    CRC_BYTES,
    FRAME,
    FRAME_BYTES,
    HEAD,
    HEAD_BYTES,
    MAGIC,
    SOUND,
    VERSION,
    next_frame,
    read_head,
    rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, Protocol

    class Files(Protocol):
        """Where segments lie, each under its number. All raise OSError."""

        def list(self) -> list[int]:
            """The numbers of the segments that are there, in any order."""

        def append(self, number: int, payload: "bytes | bytearray | memoryview[int]") -> None:
            """Add to a segment, made where it is not there; on flash when this returns."""

        def size(self, number: int) -> int:
            """Bytes of a segment."""

        def open(self, number: int) -> Any:
            """A stream at the segment's first byte, with `readinto`, `seek` and `close`."""

        def remove(self, number: int) -> None:
            """Remove a segment."""

        def free(self) -> int:
            """Bytes that segments may still take: what is free, less what has to stay so."""


MAX_COLUMNS = 32
SEGMENT_BYTES = 16384
# A varint of a zigzag difference of two 32-bit numbers.
_MOST_VARINT = 5
_NEVER = -0x7FFFFFFF
# ENOSPC
_NO_SPACE = 28


class Segments:
    """The readings of one node.

    files: where they lie. columns: text that says what a reading is, its columns apart by blanks, each with its
    decimals: "temperature/2 humidity/1". segment_bytes: a segment is full with so many. most_bytes: of all segments,
    0 for no limit. keep_s: older readings go, 0 for never; a segment at a time, and never the newest.

    written: readings that were synced since the node's first. syncs: in how many appends. Both are known once it has
    been looked what is on flash (`recover`).
    """

    def __init__(
        self,
        files: "Files",
        columns: str,
        segment_bytes: int = SEGMENT_BYTES,
        most_bytes: int = 0,
        keep_s: int = 0,
    ) -> None:
        self._files = files
        self._text = columns.encode()
        self.n = len(columns.split())
        if not 1 <= self.n <= MAX_COLUMNS:
            raise CoreError("%d columns: 1 to %d are possible" % (self.n, MAX_COLUMNS))
        self._segment_bytes = segment_bytes
        self._most_bytes = most_bytes
        self._keep_s = keep_s
        self.written = 0
        self.syncs = 0
        # The newest time of all; of the segments' numbers the first and the last, 0 where there are none.
        self._latest = _NEVER
        self._first = 0
        self._last = 0
        # Where the last segment goes on; 0 for "in a new one".
        self._position = 0
        self._known = False
        # The frame that waits: head, readings, room for the CRC.
        self._frame = bytearray(FRAME_BYTES + BODY_BYTES + CRC_BYTES)
        self._end = FRAME_BYTES
        self.pending = 0
        self._row = array("i", bytes(4 * (self.n + 1)))
        self._pending_latest = _NEVER

    @property
    def erased(self) -> int:
        """Segments that were dropped since the node's first."""
        self.recover()
        return self._first - 1 if self._first else self._last

    @property
    def stored(self) -> int:
        """Readings on flash, as the segments' heads count them."""
        self.recover()
        for number in range(self._first, self._last + 1) if self._first else ():
            head = self._head(number)
            if head:
                before: int = head[5]
                return self.written - before
        return 0

    @property
    def newest(self) -> "int | None":
        """The greatest time of all readings, those that wait too."""
        self.recover()
        latest = max(self._latest, self._pending_latest)
        return None if latest == _NEVER else latest

    @property
    def oldest(self) -> "int | None":
        """The time of the first reading that is still there."""
        all_rows = self.readings(_NEVER, 0x7FFFFFFF)
        for row in all_rows:
            first: int = row[0]
            # MicroPython closes no generator by itself, nor the file that it reads.
            all_rows.close()
            return first
        return None

    # ---- writing ----

    def append(self, time_s: int, values: "Any") -> None:
        """Keep a reading of n numbers in memory, until the next `sync`; what has no room there is synced first.

        Raises OSError where that fails: this reading is not kept then, those that wait still are.
        """
        if self._end + _MOST_VARINT * (self.n + 1) > FRAME_BYTES + BODY_BYTES:
            self.sync()
        row = self._row
        if not self.pending:
            for index in range(self.n + 1):
                row[index] = 0
        self._put(time_s - row[0])
        row[0] = time_s
        for index in range(self.n):
            self._put(values[index] - row[index + 1])
            row[index + 1] = values[index]
        self.pending += 1
        self._pending_latest = max(self._pending_latest, time_s)

    def _put(self, difference: int) -> None:
        """Zigzag, then as a varint."""
        word = 2 * difference if difference >= 0 else -2 * difference - 1
        frame, at = self._frame, self._end
        while word > 0x7F:
            frame[at] = word & 0x7F | 0x80
            word >>= 7
            at += 1
        frame[at] = word
        self._end = at + 1

    def sync(self) -> None:
        """Put what waits on flash: one append, whole there or not at all. Raises OSError; it waits on then."""
        if not self.pending:
            return
        self.recover()
        size = self._end + CRC_BYTES
        if not self._position or self._position + size > self._segment_bytes:
            self._begin(size)
            return
        try:
            self._files.append(self._last, self._sealed(self._position))
        except OSError:
            # Part of it may be there: what comes next goes into a new segment, and room is made for it.
            self._begin(size)
            return
        self._position += size
        self._synced()

    def waiting(self) -> "memoryview[int]":
        """What waits, for a memory that outlives a deep sleep: at most 524 bytes. See `restore`. Raises OSError."""
        self.recover()
        return self._sealed(self.written) if self.pending else memoryview(b"")

    def restore(self, waiting: "bytes | bytearray | memoryview[int]") -> bool:
        """Take back what `waiting` gave.

        False, and nothing waits, where it is damaged, of other columns, or on flash already: it is good only as long as
        no reading was synced. Raises OSError.
        """
        self.recover()
        size = len(waiting) - CRC_BYTES
        if not FRAME_BYTES < size <= FRAME_BYTES + BODY_BYTES or crc32(waiting, self.written) != SOUND:
            return False
        body, count, latest = unpack_from(FRAME, waiting, 0)
        if body != size - FRAME_BYTES:
            return False
        self._frame[: len(waiting)] = waiting
        row = self._row
        last = 0
        try:
            for _ in rows(self._frame, FRAME_BYTES, size, row, _NEVER, 0x7FFFFFFF):
                last += 1
        except IndexError:
            last = 0
        if last != count:
            self.pending, self._end = 0, FRAME_BYTES
            return False
        self._end, self.pending, self._pending_latest = size, count, latest
        return True

    def _sealed(self, start: int) -> "memoryview[int]":
        """The frame with head and CRC; `start`: where it will lie, so that it is good nowhere else."""
        body = self._end - FRAME_BYTES
        latest = max(self._latest, self._pending_latest)
        pack_into(FRAME, self._frame, 0, body, self.pending, latest)
        view = memoryview(self._frame)
        pack_into("<I", self._frame, self._end, crc32(view[: self._end], start))
        return view[: self._end + CRC_BYTES]

    def _synced(self) -> None:
        self.written += self.pending
        self.syncs += 1
        self._latest = max(self._latest, self._pending_latest)
        self.pending = 0
        self._pending_latest = _NEVER
        self._end = FRAME_BYTES

    def _begin(self, size: int) -> None:
        """What waits begins a new segment: head and frame in one append."""
        self._position = 0
        number = self._last + 1
        self._make_room(max(size, self._segment_bytes))
        head = pack(
            HEAD,
            MAGIC,
            VERSION,
            self.n,
            len(self._text),
            number,
            self.written,
            self.syncs,
            self._latest,
        )
        head += self._text
        head += pack("<I", crc32(head))
        newest = self._last
        while True:
            # Whatever comes of it, this number is used: part of it may be there, and is passed over.
            self._last = number
            self._first = self._first or number
            try:
                self._files.append(number, head + bytes(self._sealed(len(head))))
                break
            except OSError as error:
                # Fuller than it seemed, for others write, too. A flash that refuses otherwise costs no old readings.
                if error.errno != _NO_SPACE or self._first > newest:
                    raise
                self._drop_first()
                number += 1
                head = self._renumbered(head, number)
        self._position = len(head) + size
        self._synced()

    def _renumbered(self, head: bytes, number: int) -> bytes:
        head = head[:8] + pack("<I", number) + head[12:-CRC_BYTES]
        return head + pack("<I", crc32(head))

    def _make_room(self, size: int) -> None:
        """Drop the oldest segments until a new one has room, and those that are older than is wanted."""
        most = self._most_bytes // self._segment_bytes
        while self._first and self._first <= self._last:
            many = most and self._last - self._first + 1 >= most
            if not many and self._files.free() >= size and not self._outdated():
                return
            self._drop_first()

    def _outdated(self) -> bool:
        if not self._keep_s or self._first == self._last:
            return False
        after = self._head(self._first + 1)
        return after is not None and after[7] < self._pending_latest - self._keep_s

    def _drop_first(self) -> None:
        try:
            self._files.remove(self._first)
        except OSError:  # a number that was never used, or is gone already
            pass
        self._first = self._first + 1 if self._first < self._last else 0

    # ---- reading ----

    def recover(self) -> None:
        """Find out what is on flash: once, and before the first sync or reading, which do it where it was not done.

        Reads the heads and checksums of the newest segment, and of those before it that have none. Nothing is changed.
        Raises OSError.
        """
        if self._known:
            return
        numbers = sorted(self._files.list())
        self._known = True
        if not numbers:
            return
        self._first, self._last = numbers[0], numbers[-1]
        for number in reversed(numbers):
            head = self._head(number)
            if head is None:
                continue
            self.written, self.syncs, self._latest = head[5], head[6], head[7]
            position = HEAD_BYTES + head[3] + CRC_BYTES
            frame = bytearray(len(self._frame))
            stream = self._files.open(number)
            try:
                stream.seek(position)
                while True:
                    size = next_frame(stream, frame, position)
                    if not size:
                        break
                    position += size
                    _, count, self._latest = unpack_from(FRAME, frame, 0)
                    self.written += count
                    self.syncs += 1
            finally:
                stream.close()
            whole = number == self._last and position == self._files.size(number)
            if whole and head[8] == self._text:
                self._position = position
            return

    def readings(self, since_s: int, until_s: int) -> "Generator[array[int], None, None]":
        """The readings of these columns with since_s <= time < until_s, in the order in which they were taken.

        Each is an array of n + 1 numbers, the time and then the values, one and the same array for all: nothing is
        allocated for a reading. Those that wait come last. What is appended meanwhile is not among them, and what is
        dropped meanwhile may be missing. What can't be read ends its segment.
        """
        self.recover()
        row = array("i", bytes(4 * (self.n + 1)))
        frame = bytearray(len(self._frame))
        waits = bytes(memoryview(self._frame)[FRAME_BYTES : self._end]) if self.pending else b""
        last, position = self._last, self._position
        for number in range(self._first or last + 1, last + 1):
            after = self._head(number + 1) if number < last else None
            if after and after[7] < since_s:
                continue
            head = self._head(number)
            if head is None or head[8] != self._text:
                continue
            try:
                stream = self._files.open(number)
            except OSError:  # dropped since
                continue
            at = HEAD_BYTES + head[3] + CRC_BYTES
            end = position if number == last and position else self._files.size(number)
            try:
                stream.seek(at)
                while at < end:
                    size = next_frame(stream, frame, at)
                    if not size:
                        break
                    at += size
                    for found in rows(frame, FRAME_BYTES, size - CRC_BYTES, row, since_s, until_s):
                        yield found
            finally:
                stream.close()
        if waits:
            for found in rows(waits, 0, len(waits), row, since_s, until_s):
                yield found

    def _head(self, number: int) -> "tuple[Any, ...] | None":
        """What HEAD says and then the columns' text; None where this is no segment of that number."""
        try:
            stream = self._files.open(number)
        except OSError:
            return None
        try:
            head = read_head(stream)
        except OSError:
            return None
        finally:
            stream.close()
        return head if head and head[4] == number else None
