"""What a board's node has sensed, over the cable: the segments of its flash, each fetched when it is asked for."""

import ast
import binascii
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dcka.boards.errors import BoardError
from dcka.boards.repl import BoardRaised, Repl
from dcka.sensing.told import moment
from dcka_core.segments import Segments, read_head

_EVER = (-(2**31) + 1, 2**31 - 1)
# A segment has 16 KB; as text twice that, which a cable of 115,200 baud carries in 3 s.
_READ_S = 60.0
_LIST = """\
import os
try:
 print(repr([(int(e[0]),os.stat('/segments/'+e[0])[6]) for e in os.ilistdir('/segments') if e[0].isdigit()]))
except OSError:print('[]')
"""
_READ = """\
from binascii import hexlify
with open('/segments/%08d','rb') as _d_f:
 while 1:
  _d_k=_d_f.read(512)
  if not _d_k:break
  print(hexlify(_d_k).decode())
"""


class BoardSegments:
    """What `Segments` reads from: a board's flash. Each segment travels once, when it is first asked for."""

    def __init__(self, repl: Repl, on_read: Callable[[int, int], None] = lambda done, total: None) -> None:
        self._repl = repl
        self._on_read = on_read
        self._sizes: dict[int, int] = dict(_listed(repl))
        self._contents: dict[int, bytes] = {}

    def list(self) -> "list[int]":
        return list(self._sizes)

    def size(self, number: int) -> int:
        return self._sizes[number]

    def open(self, number: int) -> io.BytesIO:
        if number not in self._sizes:
            raise FileNotFoundError(f"no segment {number}")
        if number not in self._contents:
            self._contents[number] = self._read(number)
            self._on_read(len(self._contents), len(self._sizes))
        return io.BytesIO(self._contents[number])

    def append(self, number: int, payload: object) -> None:
        raise io.UnsupportedOperation

    def remove(self, number: int) -> None:
        raise io.UnsupportedOperation

    def free(self) -> int:
        return 0

    def _read(self, number: int) -> bytes:
        try:
            said = self._repl.run(_READ % number, _READ_S)
            content = binascii.unhexlify("".join(said.split()))
        except (BoardRaised, ValueError) as error:
            raise BoardError(f"{self._repl.port}: segment {number} cannot be read: {error}") from error
        if len(content) != self._sizes[number]:
            raise BoardError(
                f"{self._repl.port}: of segment {number} came {len(content)} bytes of {self._sizes[number]}: try again"
            )
        return content


def _listed(repl: Repl) -> "list[tuple[int, int]]":
    found = repl.run(_LIST)
    try:
        listed = ast.literal_eval(found.strip())
    except (ValueError, SyntaxError) as error:
        raise BoardError(f"{repl.port}: the board's answer was disturbed: {found[:60]!r}") from error
    return [(int(number), int(size)) for number, size in listed]


@dataclass(frozen=True)
class Stored:
    """What lies on a board of one set of columns ("temperature/2 humidity/1"), the newest set first."""

    columns: str
    segments: Segments

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.rpartition("/")[0] for column in self.columns.split())

    @property
    def decimals(self) -> tuple[int, ...]:
        """The columns' decimals."""
        return tuple(int(column.rpartition("/")[2]) for column in self.columns.split())

    def rows(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Seconds since 2020 and whole numbers, in the order in which they were taken."""
        for row in self.segments.readings(*_EVER):
            yield row[0], tuple(row[1:])

    def csv(self) -> Iterator[str]:
        """The lines of a CSV file: the time in UTC, and each number with its decimals."""
        yield ",".join(("time", *self.names)) + "\n"
        decimals = self.decimals
        for time_s, values in self.rows():
            cells = (decimal_text(value, places) for value, places in zip(values, decimals, strict=True))
            yield ",".join((moment(time_s), *cells)) + "\n"


def stored_readings(files: BoardSegments) -> list[Stored]:
    """One for each set of columns that the node ever had and still has readings of. All segments' heads are read."""
    texts: dict[str, None] = {}
    for number in sorted(files.list(), reverse=True):
        head = read_head(files.open(number))
        if head is not None:
            texts.setdefault(head[8].decode())
    return [Stored(text, Segments(files, text)) for text in texts]


def decimal_text(value: int, decimals: int) -> str:
    """-1.05 for -105 with 2 decimals."""
    if not decimals:
        return str(value)
    whole, part = divmod(abs(value), 10**decimals)
    return f"{'-' if value < 0 else ''}{whole}.{part:0{decimals}d}"
