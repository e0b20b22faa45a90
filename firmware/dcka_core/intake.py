"""Takes a data file in chunks (protocol, section 6): nothing of the old one is touched before the new one is whole."""

from hashlib import sha256

from dcka_core import actions as ask
from dcka_core.actions import ADOPT, APPEND, DROP
from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.messages import CHUNK, REMOVE, UPDATE

# In the place of the bits: readings that are not on a grid.
_READINGS = 32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ASIDE = "data.new"
_LIMIT = 1 << 31
# Of a data file: the bytes before the extents, where the bits are among them, and the digest after the points.
_HEADER = 20
_BITS = 5
_TRAILER = 32


class Intake:
    """The transfer that is under way."""

    def __init__(self) -> None:
        self._transfer = -1
        self._total = 0
        self._next = 0
        self._digest = sha256()
        self._tail = b""
        self._name = ""
        self._done = False
        # The update that is under way, kept for who performs it.
        self.update: Any = None

    def take(self, payload: "bytes | memoryview") -> "tuple[list[Any], dict[str, Any] | None]":
        """(actions, the answer; None where it comes from `finish`). MessageError where the chunk is malformed."""
        reader = Reader(payload)
        kind = reader.byte() ^ 1 << 4
        if kind == UPDATE:
            return [(ask.UPDATE, bytes(payload), self)], None
        if kind not in (CHUNK, REMOVE):
            raise MessageError("version")
        transfer = reader.integer(4)
        if kind == REMOVE:
            reader.end()
            self._transfer = -1
            return [(DROP,)], {"v": 1, "transfer": transfer, "next": 0, "removed": True}
        total = reader.varint(_LIMIT)
        offset = reader.varint(_LIMIT)
        size = len(payload) - reader.position
        if size < 1 or offset + size > total or total < _HEADER + _TRAILER:
            raise MessageError("value")
        if offset == 0 and transfer != self._transfer:
            self._begin(transfer, total)
        if transfer != self._transfer or total != self._total:
            return [], self._answer(transfer, "restart")
        if offset != self._next:
            return [], self._answer(transfer, "")
        return self._accept(bytes(reader.take(size)), offset)

    @property
    def pending(self) -> bool:
        """Whether the whole file has come and waits for the shell's word."""
        return self.under_way and self._next == self._total

    @property
    def under_way(self) -> bool:
        """Whether a file has begun to come, and is not adopted."""
        return self._transfer >= 0 and not self._done

    def finish(self, error: str) -> "dict[str, Any]":
        """The shell has adopted the file (`error` empty), or could not store it."""
        answer = self._answer(self._transfer, error)
        if error:
            self._transfer = -1
        else:
            self._done = answer["done"] = True
        return answer

    def _begin(self, transfer: int, total: int) -> None:
        self._transfer = transfer
        self._total = total
        self._next = 0
        self._digest = sha256()
        self._tail = b""
        self._done = False

    def _accept(self, piece: bytes, offset: int) -> "tuple[list[Any], dict[str, Any] | None]":
        self._next = offset + len(piece)
        if offset <= _BITS < self._next:
            self._name = "readings.bin" if piece[_BITS - offset] == _READINGS else "data.bin"
        # The last 32 bytes are the digest of all before: what belongs to them is held back from it.
        inside = max(0, min(self._total - _TRAILER - offset, len(piece)))
        self._digest.update(piece[:inside])
        self._tail += piece[inside:]
        actions: list[Any] = [(APPEND, ASIDE, piece, offset, self._total)]
        if self._next < self._total:
            return actions, self._answer(self._transfer, "")
        if self._digest.digest() != self._tail:
            return actions, self.finish("damaged")
        actions.append((ADOPT, ASIDE, self._name))
        return actions, None

    def _answer(self, transfer: int, error: str) -> "dict[str, Any]":
        mine = transfer == self._transfer
        answer: dict[str, Any] = {"v": 1, "transfer": transfer, "next": self._next if mine else 0}
        if error:
            answer["error"] = error
        elif mine and self._done:
            answer["done"] = True
        return answer
