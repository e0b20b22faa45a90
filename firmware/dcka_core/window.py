"""A window of a node's own readings, and the points that it makes of them (protocol, section 6, "Windows").

Loaded by `windows`, when there is one to be made.
"""

from array import array
from hashlib import sha256
from json import loads

from dcka_core.errors import CoreError
from dcka_core.survey_grid import SurveyGrid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    class Source(Protocol):
        """`segments.Segments`, or what reads as it does. n: numbers of a reading."""

        n: int

        def readings(self, since_s: int, until_s: int) -> Iterator[array[int]]:
            """(time, values ...) of each reading with since_s <= time < until_s: one array for all."""


# Readings that are quantised at a time.
_PIECE_NUMBERS = 256
_MOST_TIME = (1 << 31) - 1
# Bits of a level that n·(2^bits − 1)² keeps below 2^31 (protocol, section 1).
_LIMIT = 1 << 31
_KEYS = ("since", "until", "bits")


class Window:
    """What a record of the topic `window` says. number: it grows. grid, readings: of the points that it asks for.

    dataset: of the points, 8 bytes. Raises CoreError for a record that is none, or of other columns than the source.
    """

    def __init__(self, payload: "bytes | memoryview", segments: "Source") -> None:
        record = _object(payload)
        self.number = _whole(record, "window", 1, (1 << 53) - 1)
        since, until, bits = [_whole(record, key, 0, _MOST_TIME) for key in _KEYS]
        n = _whole(record, "n", 1, 512)
        if since >= until:
            raise CoreError("since is %d, and until %d" % (since, until))
        if n != segments.n:
            raise CoreError("it is of %d columns, and this node senses %d" % (n, segments.n))
        if not 1 <= bits <= 15 or n * ((1 << bits) - 1) ** 2 >= _LIMIT:
            raise CoreError("bits is %d: too many for %d dimensions" % (bits, n))
        low = _list(record, "low", n, -(1 << 31))
        width = _list(record, "width", n, 1)
        self.grid = SurveyGrid(bits, low, width, _list(record, "range", n, 0))
        self.readings = WindowReadings(segments, self.number, since, until)
        self.dataset = self.grid.dataset(self.readings.dataset)


class WindowReadings:
    """The readings of a window as `survey_points.data_file` wants them, once `count_them` was called.

    dataset: the 8 bytes that name the readings, the same at all nodes. blocks: once through, piece by piece.
    """

    def __init__(self, segments: "Source", number: int, since: int, until: int) -> None:
        self._segments = segments
        self._since = since
        self._until = until
        self.n = segments.n
        self.dataset = readings_id(number, since, until)
        self.count = 0
        self.blocks: Iterable[tuple[array[int], int]] = ()

    def count_them(self) -> None:
        """The data file's head says how many there are, before the first of them."""
        self.count = 0
        for _ in self._segments.readings(self._since, self._until):
            self.count += 1
        self.blocks = self._pieces()

    def _pieces(self) -> "Iterator[tuple[array[int], int]]":
        """(readings one after the other, how many), in one array for all; as many in all as were counted."""
        n = self.n
        per_piece = max(1, _PIECE_NUMBERS // n)
        piece = array("i", bytes(4 * n * per_piece))
        here = 0
        left = self.count
        for row in self._segments.readings(self._since, self._until):
            if not left:
                break
            for j in range(n):
                piece[here * n + j] = row[1 + j]
            here += 1
            left -= 1
            if here == per_piece:
                yield piece, here
                here = 0
        if here:
            yield piece, here
        if left:
            raise CoreError("readings of the window went while its points were made")


def readings_id(number: int, since: int, until: int) -> bytes:
    """The 8 bytes that name the readings of a window."""
    text = (
        b"window" + number.to_bytes(8, "little") + since.to_bytes(4, "little") + until.to_bytes(4, "little")
    )
    whole: bytes = sha256(text).digest()
    return whole[:8]


def _object(payload: "bytes | memoryview") -> "dict[str, Any]":
    try:
        record = loads(bytes(payload))
    except (ValueError, RuntimeError):
        raise CoreError("no JSON")
    if not isinstance(record, dict) or record.get("v") != 1:
        raise CoreError("no record of a window")
    return record


def _whole(record: "dict[str, Any]", key: str, low: int, high: int) -> int:
    value = record.get(key)
    if type(value) is not int or not low <= value <= high:
        raise CoreError("%s is %r: %d to %d is needed" % (key, value, low, high))
    return value


def _list(record: "dict[str, Any]", key: str, n: int, low: int) -> "list[int]":
    values = record.get(key)
    if not isinstance(values, list) or len(values) != n:
        raise CoreError("%s: %d numbers are needed" % (key, n))
    for value in values:
        # An end is a reading of 32 bits; a width or a range, the distance of two.
        if type(value) is not int or not low <= value < low + (1 << 32):
            raise CoreError("%s holds %r" % (key, value))
    return values
