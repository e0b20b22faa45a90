"""The messages of the methods that send float32, encoded to bytes, many at a time.

A message is the head that every message of ours has (docs/protocol.md, section 4: type and version, run, sender, boot,
step), a varint for the slot where a step has several, and float32 numbers, little-endian. Where only some clusters
travel, a bit a cluster says which, in ⌈K/8⌉ bytes before the numbers.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcka.bench.traffic import Counts
from dcka_core.codec import put_varint
from dcka_core.messages import SHARE, UP, put_head

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
RUN = BOOT = 1


def share(sender: int, step: int, slot: int, x: Floats, changed: NDArray[np.bool_] | None = None) -> bytes:
    """One message of gossip: `x` (K, n + 1), whole or the `changed` (K,) clusters alone."""
    out = put_head(SHARE, RUN, sender, BOOT, step)
    put_varint(out, slot)
    if changed is None:
        return bytes(out) + x.astype("<f4").tobytes()
    mask = np.packbits(changed, bitorder="little").tobytes()
    return bytes(out) + mask + x[changed].astype("<f4").tobytes()


def numbers(kind: int, sender: int, step: int, values: Floats) -> bytes:
    """One message of the tree: sums on their way up, or centres on their way down."""
    return bytes(put_head(kind, RUN, sender, BOOT, step)) + values.astype("<f4").tobytes()


def shares(ids: Sequence[int], step: int, slots: Sequence[int], x: Floats) -> list[Bytes]:
    """`share` of each of the nodes in each slot, x (S, N, K, n + 1): blocks of messages of one length, (messages,
    bytes), whose sizes `sizes` tells."""
    blocks = []
    values = np.ascontiguousarray(x, dtype="<f4").reshape(len(slots), len(ids), -1).view(np.uint8)
    for rows, columns, heads in _heads(ids, step, slots):
        block = np.concatenate([heads, values[np.ix_(rows, columns)]], axis=2)
        blocks.append(block.reshape(-1, block.shape[2]))
    return blocks


def sizes(ids: Sequence[int], step: int, slots: Sequence[int], blocks: Sequence[Bytes]) -> Counts:
    """(S, N): the length of each message in the blocks that `shares` made."""
    found = np.zeros((len(slots), len(ids)), dtype=np.int64)
    for (rows, columns, _), block in zip(_heads(ids, step, slots), blocks, strict=True):
        found[np.ix_(rows, columns)] = block.shape[1]
    return found


def changed_shares(
    ids: Sequence[int], step: int, slots: Sequence[int], x: Floats, changed: NDArray[np.bool_]
) -> tuple[Counts, bytes]:
    """The sizes (S, N) of `share` where only the clusters `changed` (S, N, K) travel, 0 where none does, and all
    these messages: first heads and masks, then numbers, each in the order of slots, nodes and clusters."""
    found = np.zeros(changed.shape[:2], dtype=np.int64)
    masks = np.packbits(changed, axis=2, bitorder="little")
    speaks = changed.sum(axis=2) > 0
    pieces = []
    for rows, columns, heads in _heads(ids, step, slots):
        place = np.ix_(rows, columns)
        fronts = np.concatenate([heads, masks[place]], axis=2)
        pieces.append(fronts[speaks[place]].tobytes())
        found[place] = fronts.shape[2] * speaks[place]
    body = x[changed].astype("<f4")
    pieces.append(body.tobytes())
    return found + changed.sum(axis=2) * body.shape[-1] * body.itemsize, b"".join(pieces)


def _heads(
    ids: Sequence[int], step: int, slots: Sequence[int]
) -> list[tuple[NDArray[np.intp], NDArray[np.intp], Bytes]]:
    """(slots, nodes, heads (slots, nodes, bytes)), by length: of ids and of slots there are two or three lengths."""
    nodes = [bytes(put_head(SHARE, RUN, node, BOOT, step)) for node in ids]
    times = []
    for slot in slots:
        out = bytearray()
        put_varint(out, slot)
        times.append(bytes(out))
    found = []
    for rows in _by_length(times):
        late = np.frombuffer(b"".join(times[row] for row in rows), np.uint8).reshape(len(rows), 1, -1)
        for columns in _by_length(nodes):
            early = np.frombuffer(b"".join(nodes[column] for column in columns), np.uint8)
            early = early.reshape(1, len(columns), -1)
            shape = (len(rows), len(columns))
            heads = np.concatenate(
                [
                    np.broadcast_to(early, (*shape, early.shape[2])),
                    np.broadcast_to(late, (*shape, late.shape[2])),
                ],
                axis=2,
            )
            found.append((rows, columns, heads))
    return found


def _by_length(pieces: Sequence[bytes]) -> list[NDArray[np.intp]]:
    lengths = np.array([len(piece) for piece in pieces])
    return [np.flatnonzero(lengths == length) for length in np.unique(lengths)]


__all__ = ["SHARE", "UP", "changed_shares", "numbers", "share", "shares", "sizes"]
