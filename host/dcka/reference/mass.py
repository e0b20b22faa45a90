"""Fixed-point mass of `gossip`: shares by floor division, the remainder stays home (protocol, section 5).

x is int64 throughout, (N, K, n + 1), [..., 0] the mass x² of the counts and [..., 1:] the mass x¹ of the
sums. With b + ⌈log2(M + 1)⌉ + f ≤ 63 even all mass at one node is below 2^63, so no slot can overflow. What
multiplies mass (ratios in 1/256, counts times N) is done in Python's integers.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from dcka.reference.arrays import BoolArray, IntArray
from dcka.reference.graphs import Link, neighbours
from dcka.reference.grid import round_half_up

Send: TypeAlias = tuple[int, int, list[int]]
"""(sender, divisor, receivers), by position: each receiver gets x // divisor of what the sender has."""

PARTS = 256  # of a grid step, in which windows compare


def fraction_bits(nodes: int, points: int, bits: int) -> int:
    """f = 20 + ⌈log2 N⌉. Raises ValueError where b + ⌈log2(M + 1)⌉ + f exceeds 63."""
    f = 20 + (nodes - 1).bit_length()
    needed = bits + points.bit_length() + f
    if needed > 63:
        raise ValueError(
            f"{points} points of {bits} bits on {nodes} nodes need {needed} bits of mass; 63 is the limit."
        )
    return f


def groups(links: Iterable[Link], ids: Sequence[int]) -> list[Send]:
    """What is sent in a slot of a phase, with Metropolis' weights: divisor 1 + max(d_i, d_h) from i to h.

    Neighbours with the same divisor form one group.
    """
    place = {node: i for i, node in enumerate(ids)}
    heard = neighbours(links, ids)
    sends: list[Send] = []
    for node in ids:
        by_divisor: dict[int, list[int]] = {}
        for other in heard[node]:
            divisor = 1 + max(len(heard[node]), len(heard[other]))
            by_divisor.setdefault(divisor, []).append(place[other])
        sends += [(place[node], divisor, receivers) for divisor, receivers in sorted(by_divisor.items())]
    return sends


def exchange(x: IntArray, sends: Sequence[Send]) -> IntArray:
    """x after a slot in which everyone sends before it hears; the nodes' total stays, to the last bit."""
    after = x.copy()
    for sender, divisor, receivers in sends:
        share = x[sender] // divisor
        after[sender] -= len(receivers) * share
        for receiver in receivers:
            after[receiver] += share
    return after


def window_spread(x: IntArray) -> int | None:
    """The largest high − low over clusters and coordinates, low and high being the least and the greatest
    ⌊256·x¹/x²⌋ over the nodes: in 1/256 of a grid step.

    Clusters without mass anywhere are left out; None where one has mass at some node and none at another.
    """
    has = x[..., 0] > 0
    full = has.all(axis=0)
    if (has.any(axis=0) & ~full).any():
        return None
    if not full.any():
        return 0
    wide = x[:, full].astype(object)  # 256·x¹ does not fit 64 bits
    # Floors can lift the ratio of a very small mass above the grid; a message carries no more than 2^23.
    ratios = np.minimum(PARTS * wide[..., 1:] // wide[..., :1], PARTS << 15)
    return int((ratios.max(axis=0) - ratios.min(axis=0)).max())


def centres_of(x: IntArray, basis: IntArray, bits: int) -> tuple[IntArray, BoolArray]:
    """(centres (N, K, n), clusters that were without mass (N, K)): half up of x¹/x², or those of `basis`.

    `basis` is (N, K, n). Floors can lift the ratio of a very small mass above the grid; such a centre becomes
    the grid's end, 2^b − 1.
    """
    empty = x[..., 0] == 0
    centres = basis.copy()
    full = ~empty
    centres[full] = np.minimum(round_half_up(x[full][:, 1:], x[full][:, 0]), (1 << bits) - 1)
    return centres, empty


def estimated_counts(x: IntArray, f: int) -> IntArray:
    """(N, K): ⌊N·x²/2^f + ½⌋, what each node takes for the network's counts."""
    nodes = len(x)
    return np.asarray((2 * nodes * x[..., 0].astype(object) + (1 << f)) >> (f + 1), dtype=np.int64)
