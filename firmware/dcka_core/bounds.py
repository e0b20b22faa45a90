"""How large a run's messages can get. The host asks before it starts a run; no node needs this file."""

from dcka_core.seeding_record import BESIDE
from dcka_core.tree_messages import HASH_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dcka_core.record import Run


def varint_bytes(value: int) -> int:
    """Bytes of `value` as a varint."""
    size = 1
    while value > 0x7F:
        value >>= 7
        size += 1
    return size


def message_bound(run: "Run", groups: int = 1) -> int:
    """The most bytes that a consensus message of this run can have; `groups`: the most that a gossip row has."""
    size = len(run.members)
    # A set's worst case: every other node, a range each of two varints.
    index = varint_bytes(size)
    members = index + 2 * index * ((size + 1) // 2)
    # Byte, run, sender, boot, step, form or flags, epoch: numbers that grow slowly are allowed five bytes.
    head = 1 + 5 + 3 + 5 + 5 + 1 + 13
    counted = run.points * (size if run.kind == "gossip" else 1)
    commit = head + 2 * members + 2 * run.k * run.n + varint_bytes(counted) * run.k + 10
    if run.kind == "gossip":
        width = (run.modulus_bits + 7) // 8
        clusters = varint_bytes(run.k) * (run.k + 2)
        window = members + clusters + 1 + 2 * 4 * run.k * run.n
        return max(commit, head + 10 + groups * run.rows * width + window)
    if run.kind == "seeding":
        # Point, id, E and T in pieces of three bytes at most; a row without is one byte.
        offer = 3 * (run.n + BESIDE) + run.k
        return max(commit, head + HASH_BYTES + 3 + members + offer + 10)
    if run.kind == "tail":
        # A count in each number of each row, and all points before them.
        counts = run.k * (1 + run.n) * varint_bytes(run.points)
        return max(commit, head + HASH_BYTES + 3 + members + counts + 10)
    if run.kind == "survey":
        return max(commit, head + HASH_BYTES + 3 + members + _survey_sums(run) + 10)
    largest = run.points * ((1 << run.bits) - 1)
    sums = run.k * (varint_bytes(run.points) + run.n * varint_bytes(largest))
    whole = HASH_BYTES + members + sums + 10
    # Each difference is of two numbers up to the largest, in one more bit for its sign; so is what the count explains.
    differences = (
        run.k * (varint_bytes(2 * run.points) + run.n * varint_bytes(4 * largest)) + (run.k + 7) // 8
    )
    return max(commit, head + 3 + max(whole, differences))


def _survey_sums(run: "Run") -> int:
    """Counts in 2(B - 1) rows, or three of sums of 12 bits; a row without them is one byte."""
    count = varint_bytes(run.points)
    counting = 2 * (run.bins - 1)
    most = counting * (count + run.n * count) + run.k - counting
    if run.scale != "std":
        return most
    return max(most, 3 * (count + run.n * varint_bytes(4095 * run.points)) + run.k - 3)
