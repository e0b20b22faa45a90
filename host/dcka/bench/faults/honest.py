"""What an honest node or host could have said, as far as a look at it tells.

Such messages are left out of a fuzz, and counted: whoever may publish on another's topic can forge, and what keeps him
off is the broker's rules (`spoofed_neighbour`), not the look of his messages.
"""

import json
from collections.abc import Iterable, Iterator

from dcka_core.codec import Reader
from dcka_core.errors import CoreError
from dcka_core.messages import CHUNK, REMOVE, read_head

_JSON = ("run", "rows", "dataset", "status", "step", "result", "got")
_TYPES = range(1, 9)


class Dishonest:
    """The first `count` of `messages` (suffix of the topic, payload) that nobody honest says from run `run` on.

    forged: how many were left out so far.
    """

    def __init__(self, messages: Iterable[tuple[str, bytes]], count: int, run: int) -> None:
        self._messages = messages
        self._count = count
        self._run = run
        self.forged = 0

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        left = self._count
        for suffix, payload in self._messages:
            if not left:
                return
            if plausible(suffix, payload, self._run):
                self.forged += 1
                continue
            left -= 1
            yield suffix, payload


def plausible(suffix: str, payload: bytes, run: int) -> bool:
    """Whether an honest speaker of run `run` or a later one could have said so, as far as a look at it tells."""
    kind = suffix.partition("/")[0]
    if kind in _JSON:
        return _plausible_json(kind, payload, run)
    if kind == "put":
        return bool(payload) and payload[0] & 15 in (CHUNK, REMOVE)
    for one in _TYPES:
        try:
            number, _, _, _ = read_head(Reader(payload), one)
        except CoreError:
            continue
        if number >= run:
            return True
    return False


def _plausible_json(kind: str, payload: bytes, run: int) -> bool:
    try:
        record = json.loads(payload)
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict) or record.get("v") != 1:
        return False
    if kind in ("run", "rows", "step", "result"):
        number = record.get("run")
        return isinstance(number, int) and number >= run
    # A status of that node, or an answer to a transfer: nothing else is in it that could be wrong.
    return kind in ("status", "got", "dataset")
