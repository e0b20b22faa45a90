"""Starts that the whole network draws: random labels, and k-means++ over all nodes' points without moving them."""

import hashlib
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dcka.reference.arrays import IntArray
from dcka.reference.randoms import WORDS, Stream, seed_bytes

E_BITS = 40
"""Fraction bits of an exponential number: of its least value, 184, half a percent is lost to rounding."""
MANTISSA = 62

Pick: TypeAlias = tuple[int, int]
"""(position of the node, index of its point)."""


def partition_labels(count: int, k: int, seed: int, node_id: int) -> IntArray:
    """`partition`: a cluster for each of a node's `count` points, as they come: `below(K)` from
    Stream(seed, "partition" ‖ id as u32).

    Step 0 sums by these labels, not by centres. A cluster without points anywhere takes its shared centre.
    """
    prefix = seed_bytes(seed) + b"partition" + node_id.to_bytes(4, "little")
    limit = WORDS - WORDS % k
    found: list[NDArray[np.int64]] = []
    block, left = 0, count
    while left > 0:
        blocks = range(block, block + left // 8 + 1)
        block = blocks.stop
        digests = b"".join(hashlib.sha256(prefix + b.to_bytes(4, "little")).digest() for b in blocks)
        words = np.frombuffer(digests, dtype="<u4").astype(np.int64)
        found.append(words[words < limit][:left] % k)
        left -= len(found[-1])
    return np.concatenate(found) if found else np.empty(0, np.int64)


def exponential(word: int) -> int:
    """⌊2^40 · −log2((2w + 1) / 2^33)⌋, up to rounding in its last bits: an exponential number from a u32 word.

    log2 bit by bit: the mantissa, in 2^62 … 2^63, is squared and halved; all in whole numbers, so that every
    interpreter has the same bits.
    """
    value = 2 * word + 1
    whole = value.bit_length() - 1
    mantissa = value << (MANTISSA - whole)
    logarithm = whole
    for _ in range(E_BITS):
        mantissa = mantissa * mantissa >> MANTISSA
        bit = mantissa >> (MANTISSA + 1)
        mantissa >>= bit
        logarithm = 2 * logarithm + bit
    return (33 << E_BITS) - logarithm


class Offer(NamedTuple):
    """What a node offers in a round: `e`/`total` is its key, `row` its point."""

    e: int
    total: int
    row: int


def offer(weights: IntArray, seed: int, node_id: int, turn: int) -> Offer | None:
    """A node's offer in round `turn`, for its points' weights (m,): 1 in round 0, then D²; None where all are 0.

    From Stream(seed, "plus" ‖ id as u32 ‖ round as u32): a word makes E, then `wide_below(Σ weights)` chooses the first
    point at which the running sum of the weights exceeds it.
    """
    prefix = np.cumsum(weights)
    total = int(prefix[-1]) if len(prefix) else 0
    if total == 0:
        return None
    stream = Stream(seed, b"plus" + node_id.to_bytes(4, "little") + turn.to_bytes(4, "little"))
    e = exponential(stream.word())
    return Offer(e, total, int(np.searchsorted(prefix, stream.wide_below(total), side="right")))


def better(one: Offer, other: Offer) -> bool:
    """Whether E/ΣD² of `one` is below the other's; compared crosswise, so exactly. The lower id keeps a tie."""
    return one.e * other.total < other.e * one.total


def distributed_plus_plus(
    node_points: Sequence[IntArray],
    node_ids: Sequence[int],
    k: int,
    seed: int,
    present: Sequence[Collection[int]] | None = None,
) -> list[Pick]:
    """`kmeans++`: K picks, over all nodes' points (m_i, n), whole numbers; node_ids ascending.

    In each round a node offers a point drawn by D² among its own, with an exponential number of rate ΣD²: the least of
    the network's is a node with probability ΣD²_i / ΣD², so its point is a k-means++ draw over all points. Points at
    distance 0 are never offered. `present`: for each round the ids of those who offer, where some were away; what was
    drawn stays drawn. Raises ValueError where there are fewer than K distinct points.
    """
    weights = [np.ones(len(own), np.int64) for own in node_points]
    picks: list[Pick] = []
    for turn in range(k):
        there = node_ids if present is None else present[turn]
        offers = [
            offer(own, seed, node, turn) if node in there else None
            for own, node in zip(weights, node_ids, strict=True)
        ]
        best: tuple[int, Offer] | None = None
        for place, made in enumerate(offers):
            if made is not None and (best is None or better(made, best[1])):
                best = place, made
        if best is None:
            raise ValueError(f"Only {turn} of the points are distinct; {k} starting points need {k}.")
        picks.append((best[0], best[1].row))
        centre = node_points[best[0]][best[1].row]
        for place, own in enumerate(node_points):
            squared = np.square(own - centre).sum(axis=1)
            weights[place] = squared if turn == 0 else np.minimum(weights[place], squared)
    return picks
