"""Random and mutated messages on every topic of a network, from a seed.

What an honest node or host could have said is left out, and counted: whoever may publish on another's topic can forge,
and what keeps him off is the broker's rules (`spoofed_neighbour`), not the look of his messages.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dcka_core.codec import Reader
from dcka_core.errors import CoreError
from dcka_core.messages import CHUNK, REMOVE, read_head

_JSON = ("run", "rows", "dataset", "status", "step", "result", "got")
_TYPES = range(1, 9)
_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)
MOST_BYTES = 300


class Fuzzer:
    """`samples`: by kind of topic (`x`, `commit`, `run`, …), payloads that were said in an earlier run. `run`: the
    number from which on a run's messages could be honest ones. `forged`: how many were left out."""

    def __init__(
        self, seed: int, nodes: Sequence[int], samples: Mapping[str, Sequence[bytes]], run: int
    ) -> None:
        self._chance = random.Random(seed)
        self._nodes = tuple(nodes)
        self._samples = {kind: tuple(known) for kind, known in samples.items() if known}
        self._run = run
        self.forged = 0

    def messages(self, count: int) -> Iterator[tuple[str, bytes]]:
        """So many (suffix of the topic, payload)."""
        made = 0
        while made < count:
            suffix = self._topic()
            payload = self._payload(suffix.partition("/")[0])
            if plausible(suffix, payload, self._run):
                self.forged += 1
                continue
            made += 1
            yield suffix, payload

    def _topic(self) -> str:
        chance, node = self._chance, self._chance.choice(self._nodes)
        kind = chance.choice(("x", "x", "commit", "epoch", "put", "got", *_JSON))
        if kind in ("run", "dataset"):
            # Everybody listens to the first: less often.
            return kind if chance.random() < 0.1 else f"step/{node}"
        return f"x/{chance.choice((0, 0, 0, 1))}/{node}" if kind == "x" else f"{kind}/{node}"

    def _payload(self, kind: str) -> bytes:
        chance = self._chance
        known = self._samples.get(kind) or self._samples.get("x") or (b"",)
        if chance.random() < 0.7:
            return self._mutated(bytearray(chance.choice(known)))
        if kind in _JSON and chance.random() < 0.5:
            return json.dumps(self._value(3)).encode()
        head = bytes([1 << 4 | chance.choice(_TYPES)]) if chance.random() < 0.7 else b""
        return head + chance.randbytes(chance.randrange(MOST_BYTES))

    def _mutated(self, payload: bytearray) -> bytes:
        chance = self._chance
        for _ in range(chance.choice((1, 1, 2, 4, 16))):
            place = chance.randrange(len(payload) + 1)
            way = chance.randrange(6)
            if way == 0 and place < len(payload):
                payload[place] ^= 1 << chance.randrange(8)
            elif way == 1 and place < len(payload):
                payload[place] = chance.choice(_INTERESTING)
            elif way == 2:
                del payload[place:]
            elif way == 3:
                payload[place:place] = chance.randbytes(chance.randrange(1, 9))
            elif way == 4:
                del payload[place : place + chance.randrange(1, 9)]
            else:
                payload[place : place + 4] = payload[: chance.randrange(1, 9)]
        return bytes(payload)

    def _value(self, depth: int) -> Any:
        """Anything that JSON can hold, with the protocol's own keys."""
        chance = self._chance
        if depth == 0 or chance.random() < 0.3:
            return chance.choice((None, True, 0, -1, 1 << 70, 1.5, "", "\x00", "tree", self._run - 1, [], {}))
        if chance.random() < 0.3:
            return [self._value(depth - 1) for _ in range(chance.randrange(5))]
        keys = (
            "v",
            "run",
            "node",
            "boot",
            "kind",
            "members",
            "k",
            "step",
            "transfer",
            "next",
            "phases",
            "state",
        )
        return {chance.choice(keys): self._value(depth - 1) for _ in range(chance.randrange(8))}


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
