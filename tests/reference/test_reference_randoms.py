"""The random numbers and the hashes, against values computed with another program (sha256sum)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_data import laws

from dcka.reference import Stream, local_start_hash, put_hash, start_hash

BY_HAND = [
    (1, b"shared", 0, "b4f21d1dde9b07a28b965b1d0baca4822fc2acdc9a624ce8eaed6f8715192e68"),
    (
        2**63 - 1,
        b"local\x02\x01\x00\x00",
        1,
        "eb083e524fc41d7c6f56a51ee1a0431a1eef59bb28189eb7360e684257fdf799",
    ),
    (0, b"", 0, "15ec7bf0b50732b49f8228e07d24365338f9e3ab994b00af08e5a3bffe55fd8b"),
]


@pytest.mark.parametrize(("seed", "label", "block", "digest"), BY_HAND)
def test_words_are_the_little_endian_words_of_the_blocks(
    seed: int, label: bytes, block: int, digest: str
) -> None:
    stream = Stream(seed, label)
    words = [stream.word() for _ in range(8 * (block + 1))][-8:]
    raw = bytes.fromhex(digest)
    assert words == [sum(raw[4 * i + j] << 8 * j for j in range(4)) for i in range(8)]


@laws
@given(st.integers(1, 2**32), st.integers(0, 2**63 - 1))
def test_below_skips_the_words_of_the_last_broken_multiple(bound: int, seed: int) -> None:
    stream, plain = Stream(seed, b"law"), Stream(seed, b"law")
    expected: list[int] = []
    while len(expected) < 20:
        word = plain.word()
        if word // bound < 2**32 // bound:
            expected.append(word % bound)
    assert [stream.below(bound) for _ in range(20)] == expected


def test_the_first_word_of_the_broken_multiple_is_skipped() -> None:
    class Canned(Stream):
        def word(self) -> int:
            return words.pop(0)

    words = [2**32 - 1, 2**32 - 2, 7]
    canned = Canned(0, b"")
    assert canned.below(3) == (2**32 - 2) % 3  # 2^32 mod 3 = 1: the last word alone is out
    assert canned.below(3) == 1


def test_below_one_takes_a_word() -> None:
    stream, plain = Stream(5, b""), Stream(5, b"")
    assert stream.below(1) == 0
    plain.word()
    assert stream.word() == plain.word()


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match=str(seed)):
        Stream(seed, b"")


@pytest.mark.parametrize("bound", [0, -3, 2**32 + 1])
def test_a_bound_out_of_range_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match=str(bound)):
        Stream(0, b"").below(bound)


def test_hashes_against_values_computed_elsewhere() -> None:
    assert start_hash(np.array([[1, 2], [515, 65535]])).hex() == "55a9f5914524dd25"
    assert local_start_hash(7).hex() == "3e682e725022272a"
    assert put_hash([[3, 5, 258]]) == "a5ae5e9559c280d3"


def test_a_centre_that_no_u16_holds_has_no_hash() -> None:
    with pytest.raises(ValueError, match="65536"):
        start_hash(np.array([[65536]]))
