"""Messages that nobody should send: real ones changed, old ones again, and noise, on every topic of a network.

Pure and seeded: the same seed and the same real messages give the same ones, so that what is found is found again.
"""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

KEPT = 64
"""Real messages that are kept of each topic's kind, the latest."""

# What a network listens to, beside what was seen on it: a node's, and those that have no node.
_OF_NODES = ("rows", "put", "x/0", "x/1", "commit", "epoch", "status", "step", "result", "got")
_OF_ALL = ("run", "dataset")
_MOST_BYTES = 600
_OF_JSON = ("run", "rows", "status", "dataset", "step", "result", "got")
_JSON = (
    b"{",
    b"[]",
    b"null",
    b'{"v":1}',
    b'{"v":1,"run":-5}',
    b'{"v":1,"run":' + b"9" * 40 + b"}",
    b"[" * 400,
)
_KEYS = ("v", "run", "node", "boot", "kind", "members", "k", "step", "transfer", "next", "phases", "state")
_VALUES: tuple[Any, ...] = (None, True, 0, 1, -1, 1 << 70, 1.5, "", "\x00", "tree", [], {})


class Fuzzer:
    """seed: of all that is drawn. nodes: the ids whose topics are written to. topics: kinds of topics, without the
    network's name and the node's id; all there are where nothing is said.
    """

    def __init__(self, seed: int, nodes: list[int], topics: tuple[str, ...] = _OF_NODES + _OF_ALL) -> None:
        self.seed = seed
        self._chance = random.Random(seed)
        self._nodes = sorted(nodes)
        self._kinds = topics
        self._real: dict[str, list[tuple[str, bytes]]] = {}

    def learn(self, suffix: str, payload: bytes) -> None:
        """Keep a real message for later. suffix: the topic without `dcka/<net>/`."""
        kept = self._real.setdefault(_kind(suffix), [])
        kept.append((suffix, payload))
        del kept[:-KEPT]

    def messages(self, count: int | None = None) -> Iterator[tuple[str, bytes]]:
        """So many (suffix, payload); without end where no count is given. What is learnt meanwhile is taken in."""
        for _ in itertools.count() if count is None else range(count):
            yield self._message()

    def _message(self) -> tuple[str, bytes]:
        chance = self._chance
        kind = chance.choice(self._kinds)
        real = self._real.get(kind)
        if not real or chance.random() < 0.1:
            return self._topic(kind), self._noise(kind)
        suffix, payload = chance.choice(real)
        if chance.random() < 0.2:
            # Under another name, or on another topic altogether.
            suffix = self._topic(chance.choice(self._kinds) if chance.random() < 0.3 else kind)
        return suffix, self._changed(payload, real)

    def _topic(self, kind: str) -> str:
        return kind if kind in _OF_ALL else f"{kind}/{self._chance.choice(self._nodes)}"

    def _noise(self, kind: str) -> bytes:
        if kind in _OF_JSON and self._chance.random() < 0.5:
            known = self._chance.random() < 0.5
            return self._chance.choice(_JSON) if known else json.dumps(self._value(3)).encode()
        noise = self._chance.randbytes(self._chance.randrange(_MOST_BYTES))
        # With a good beginning it gets further: version 1, a type, run 1 to 3, a node.
        head = bytes([0x10 | self._chance.randrange(1, 9), self._chance.randrange(1, 4)])
        return noise if self._chance.random() < 0.5 else head + noise

    def _value(self, depth: int) -> Any:
        """Anything that JSON can hold, under the protocol's own keys."""
        chance = self._chance
        if depth == 0 or chance.random() < 0.3:
            return chance.choice(_VALUES)
        if chance.random() < 0.3:
            return [self._value(depth - 1) for _ in range(chance.randrange(5))]
        return {chance.choice(_KEYS): self._value(depth - 1) for _ in range(chance.randrange(8))}

    def _changed(self, payload: bytes, others: list[tuple[str, bytes]]) -> bytes:
        chance = self._chance
        data = bytearray(payload)
        way = chance.randrange(8)
        if way == 0 or not data:
            return payload
        place = chance.randrange(len(data))
        if way == 1:
            data[place] ^= 1 << chance.randrange(8)
        elif way == 2:
            data[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif way == 3:
            del data[place:]
        elif way == 4:
            data[place:place] = chance.randbytes(chance.randrange(1, 9))
        elif way == 5:
            del data[place : place + chance.randrange(1, 9)]
        elif way == 6:
            other = chance.choice(others)[1]
            data[place:] = other[place:]
        else:
            for _ in range(chance.randrange(2, 9)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data)


def _kind(suffix: str) -> str:
    """`x/0` of `x/0/3`, `run` of `run`."""
    return suffix.rpartition("/")[0] or suffix
