"""A node's offers in k-means++: those of the vectors, and what weights, words and blocks have to do with them."""

from array import array
from json import load

from bus import make_points
from scenes import cloud
from support import vector_path

from dcka_core import kernels
from dcka_core.offers import MOST_E, exponential, make_offer, wide_below
from dcka_core.seeding import in_rows, is_less, key_of, numbers_of
from dcka_core.starts import Stream


def vectors():
    with open(vector_path("starts.json")) as file:
        return load(file)


def points_of(n, flat, per_block=None):
    points = make_points(n, 15, bytes(8), [32767] * n, flat)
    if per_block:
        points.blocks = []
        points.per_block = per_block
        for at in range(0, points.count, per_block):
            here = min(per_block, points.count - at)
            points.blocks.append((array("H", flat[at * n : (at + here) * n]), here))
    return points


def test_the_exponential_is_the_vectors():
    for word, e in vectors()["exponential"]:
        assert exponential(int(word)) == int(e), word


def test_the_exponential_stays_within_its_bounds_and_falls():
    words = [0, 1, 2, 5, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1]
    made = [exponential(word) for word in words]
    assert made[0] == MOST_E and made[-1] in (184, 185)
    for at in range(1, len(made)):
        assert made[at] < made[at - 1], words[at]


def test_wide_below_takes_two_words_and_skips_what_is_uneven():
    bound = (1 << 62) + 1
    words = Stream(5, b"x")
    pairs = [(words.word() << 32) + words.word() for _ in range(20)]
    kept = [pair % bound for pair in pairs if pair < 3 * bound]
    assert len(kept) < 20
    stream = Stream(5, b"x")
    assert [wide_below(stream, bound) for _ in kept] == kept
    assert wide_below(stream, 1) == 0
    assert 0 <= wide_below(stream, 1 << 63) < 1 << 63


def test_offers_are_the_vectors_whatever_the_blocks():
    seen = none = 0
    for vector in vectors()["plus"]:
        n = vector["n"]
        centres = []
        for turn, one in enumerate(vector["rounds"]):
            for node in vector["points"]:
                flat = vector["points"][node]
                said = one["offers"][node]
                for per_block in (None, 1, 3):
                    offer = make_offer(
                        points_of(n, flat, per_block), centres, turn, int(vector["seed"]), int(node)
                    )
                    if said is None:
                        assert offer is None, (vector["seed"], turn, node)
                        none += 1
                    else:
                        row = int(said[2])
                        wanted = (int(said[0]), int(said[1]), flat[row * n : (row + 1) * n])
                        assert offer == wanted, (vector["seed"], turn, node, per_block)
                        seen += 1
            centres = centres + one["centre"]
    assert seen > 90 and none > 10, (seen, none)


def test_points_of_weight_0_are_never_offered():
    """All points but one are centres already."""
    flat = [5, 5, 9, 9, 5, 5, 7, 1, 9, 9]
    for seed in range(30):
        offer = make_offer(points_of(2, flat), [5, 5, 9, 9], 2, seed, 3)
        assert offer[1:] == (20, [7, 1]), offer
    assert make_offer(points_of(2, flat), [5, 5, 9, 9, 7, 1], 3, 1, 3) is None
    assert make_offer(points_of(2, []), [], 0, 1, 3) is None


def test_the_largest_weights():
    """Opposite corners of the grid, in many points: the sums pass 32 bits, and the kernel's halves hold them."""
    count = 700
    points = points_of(2, [32767, 32767] * count)
    offer = make_offer(points, [0, 0], 1, 1, 1)
    assert offer[1:] == (count * 2 * 32767 * 32767, [32767, 32767])


def test_a_run_s_table_makes_room():
    points = points_of(2, cloud(1, 40))
    points.plan = kernels.plan(points, 9)
    make_offer(points, [1, 1], 1, 1, 1)
    assert points.plan is None


def test_offers_in_rows():
    for n in (1, 2, 3, 8, 9, 20):
        numbers = [(7919 * at) & 0xFFFF for at in range(1, n + 9)]
        rows = in_rows(numbers, n, 30 * (n + 1))
        assert numbers_of(rows, n) == numbers and max(rows[:: n + 1]) == 1 and len(rows) == 30 * (n + 1)


def test_the_smaller_offer_stays_and_the_lower_id_on_a_tie():
    def offer(e, total, node):
        pieces = [node]
        pieces += [e >> 32, e >> 16 & 0xFFFF, e & 0xFFFF]
        pieces += [total >> 48, total >> 32 & 0xFFFF, total >> 16 & 0xFFFF, total & 0xFFFF]
        return in_rows([3, 4] + pieces, 2, 18)

    nothing = [0] * 18
    assert key_of(offer(MOST_E, 1 << 62, 9), 2) == (MOST_E, 1 << 62)
    order = [
        offer(184, 1 << 62, 1),
        offer(5 << 40, (1 << 61) + 1, 2),
        offer(5 << 40, 1 << 61, 2),
        offer(10 << 40, 1 << 62, 3),
        offer(10 << 40, 1 << 62, 65535),
        offer(MOST_E, 1, 1),
        nothing,
    ]
    for one in range(len(order)):
        for other in range(len(order)):
            assert is_less(order[one], order[other], 2) == (one < other), (one, other)
