"""Starts that the whole network draws, and the orders of a node's own."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_data import laws
from scipy import stats

from dcka.reference import (
    Stream,
    distributed_plus_plus,
    exponential,
    local_indices,
    local_start,
    offer,
    partition_labels,
    snake_order,
    sorted_order,
)


def test_orders_by_hand() -> None:
    centres = np.array([[5, 1], [1, 9], [3, 4], [1, 2], [9, 0], [3, 4]])
    assert sorted_order(centres) == [3, 1, 2, 5, 0, 4]
    # ⌈√6⌉ = 3 strips of two: (3, 1), (2, 5), (0, 4), each by the second coordinate.
    assert snake_order(centres) == [3, 1, 2, 5, 4, 0]
    assert snake_order(centres[:, :1]) == sorted_order(centres[:, :1])


@laws
@given(st.integers(1, 40), st.integers(0, 1000))
def test_orders_are_permutations_and_forget_the_order_of_drawing(k: int, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    centres = numbers.integers(0, 5, (k, 2))
    shuffled = centres[numbers.permutation(k)]
    for order in (sorted_order, snake_order):
        assert sorted(order(centres)) == list(range(k))
        assert np.array_equal(centres[order(centres)], shuffled[order(shuffled)])


def test_local_indices_are_what_local_start_takes() -> None:
    points = np.arange(60).reshape(30, 2)
    assert np.array_equal(points[local_indices(30, 7, 3, 2)], local_start(points, 7, 3, 2))  # type: ignore[index]
    assert local_indices(6, 7, 3, 2) is None


@laws
@given(st.integers(0, 60), st.integers(1, 2**31 + 1), st.integers(0, 2**63 - 1), st.integers(1, 65535))
def test_partition_is_below_k_word_by_word(count: int, k: int, seed: int, node: int) -> None:
    stream = Stream(seed, b"partition" + node.to_bytes(4, "little"))
    assert partition_labels(count, k, seed, node).tolist() == [stream.below(k) for _ in range(count)]


@given(st.integers(0, 2**32 - 1))
def test_exponential_is_a_logarithm_to_40_bits(word: int) -> None:
    exact = (33 - math.log2(2 * word + 1)) * 2**40
    assert exponential(word) == pytest.approx(exact, abs=2, rel=2e-3 if word > 2**31 else 1e-9)


def test_exponential_at_its_ends_by_hand() -> None:
    assert exponential(0) == 33 << 40  # log2 of 1
    assert exponential(2**32 - 1) in (184, 185)  # −log2(1 − 2^-33) · 2^40 = 184.66


def test_wide_below_takes_two_words_and_skips_what_is_uneven() -> None:
    one, other = Stream(5, b"x"), Stream(5, b"x")
    words = [other.word() for _ in range(40)]
    pairs = [a * 2**32 + b for a, b in zip(words[::2], words[1::2], strict=True)]
    bound = (1 << 62) + 1  # 2^64 holds it three times, and a quarter is skipped
    kept = [pair % bound for pair in pairs if pair < 3 * bound]
    assert len(kept) < 20
    assert [one.wide_below(bound) for _ in kept] == kept
    for wrong in (0, (1 << 63) + 1):
        with pytest.raises(ValueError, match="not within 1 and 2\\^63"):
            one.wide_below(wrong)


def test_a_node_offers_nothing_of_weight_0() -> None:
    assert offer(np.array([0, 0]), 1, 1, 3) is None
    assert offer(np.empty(0, np.int64), 1, 1, 3) is None
    for seed in range(50):
        made = offer(np.array([0, 3, 0, 1, 0]), seed, 1, 1)
        assert made is not None and made.row in (1, 3) and made.total == 4


@pytest.mark.slow
def test_the_networks_draw_is_k_means_plus_plus() -> None:
    """Chi-square over all ordered pairs of points, duplicates and an empty node included: the distribution of k-means++
    over all points in one place."""
    nodes = [
        np.array([[0], [0], [1]]),
        np.empty((0, 1), np.int64),
        np.array([[1], [3], [7]]),
        np.array([[3]]),
    ]
    places = [(i, j) for i, own in enumerate(nodes) for j in range(len(own))]
    values = np.array([nodes[i][j][0] for i, j in places])
    expected = {}
    for a, first in enumerate(values):
        squared = (values - first) ** 2
        for b, weight in enumerate(squared):
            if weight:
                expected[a, b] = weight / squared.sum() / len(values)
    draws = 12_000
    found: Counter[tuple[int, int]] = Counter()
    for seed in range(draws):
        one, other = distributed_plus_plus(nodes, [1, 2, 7, 9], 2, seed)
        found[places.index(one), places.index(other)] += 1
    assert set(found) <= set(expected)  # nothing at distance 0 was ever drawn
    pairs = sorted(expected)
    result = stats.chisquare([found[pair] for pair in pairs], [draws * expected[pair] for pair in pairs])
    assert result.pvalue > 1e-3


def test_k_picks_are_distinct_points_and_too_few_are_refused() -> None:
    nodes = [np.array([[0, 0], [5, 5]]), np.array([[5, 5], [9, 0]])]
    for seed in range(20):
        picks = distributed_plus_plus(nodes, [1, 2], 3, seed)
        assert len({tuple(nodes[i][j]) for i, j in picks}) == 3
    with pytest.raises(ValueError, match="Only 3 of the points are distinct; 4 starting points need 4"):
        distributed_plus_plus(nodes, [1, 2], 4, 0)


def test_who_is_away_offers_nothing_and_what_was_drawn_of_it_stays() -> None:
    """By hand: node 1 has the only far point, and goes after it was drawn; of the others node 2 alone is there."""
    nodes = [np.array([[0]]), np.array([[500], [501]]), np.array([[502], [9000]])]
    picks = distributed_plus_plus(nodes, [1, 2, 3], 3, 4, [{1}, {2}, {2}])
    assert picks[0] == (0, 0) and {picks[1], picks[2]} == {(1, 0), (1, 1)}
    everybody = [{1, 2, 3}] * 3
    assert distributed_plus_plus(nodes, [1, 2, 3], 3, 4, everybody) == distributed_plus_plus(
        nodes, [1, 2, 3], 3, 4
    )
    with pytest.raises(ValueError, match="Only 1 of the points are distinct"):
        distributed_plus_plus(nodes, [1, 2, 3], 3, 4, [{1}, {1}, {2}])


def test_the_vectors_of_the_starts() -> None:
    """What the firmware's tests go by is what the reference says today."""
    file = Path(__file__).parents[1] / "vectors" / "starts.json"
    vectors = json.loads(file.read_text("utf-8"))
    for own in vectors["own"]:
        points = np.array(own["points"]).reshape(-1, own["n"])
        drawn = local_start(points, own["k"], int(own["seed"]), own["node"])
        for name, order in (("local", None), ("sorted", sorted_order), ("snake", snake_order)):
            made = drawn if drawn is None or order is None else drawn[order(drawn)]
            assert own[name] == (None if made is None else made.ravel().tolist())
        labels = partition_labels(len(points), own["k"], int(own["seed"]), own["node"])
        sums = np.zeros((own["k"], own["n"] + 1), dtype=np.int64)
        np.add.at(sums, labels, np.column_stack([np.ones(len(points), np.int64), points]))
        assert own["partition"] == sums.ravel().tolist()
    for plus in vectors["plus"]:
        ids = [int(node) for node in plus["points"]]
        tables = [np.array(flat, dtype=np.int64).reshape(-1, plus["n"]) for flat in plus["points"].values()]
        picks = distributed_plus_plus(tables, ids, plus["k"], int(plus["seed"]))
        said = [(one["winner"], one["centre"]) for one in plus["rounds"]]
        assert [(ids[place], tables[place][row].tolist()) for place, row in picks] == said
    for word, e in vectors["exponential"]:
        assert exponential(int(word)) == int(e)
