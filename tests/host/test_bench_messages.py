"""The float32 messages: what is counted is the length of what was encoded, and it can be read back."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.bench.float_messages import changed_shares, share, shares, sizes
from dcka_core.codec import Reader
from dcka_core.messages import SHARE, read_head

LAWS = settings(deadline=None, derandomize=True, max_examples=50)
IDS = st.lists(st.integers(1, 300), min_size=1, max_size=5, unique=True).map(sorted)
SLOTS = st.lists(st.integers(0, 300), min_size=1, max_size=6, unique=True).map(sorted)


def states(slots, ids, k, width, seed=0):
    numbers = np.random.default_rng(seed)
    return numbers.normal(size=(len(slots), len(ids), k, width)).astype(np.float32)


@LAWS
@given(IDS, SLOTS, st.integers(0, 200), st.integers(1, 10), st.integers(2, 4))
def test_many_at_once_are_the_same_messages(ids, slots, step, k, width):
    x = states(slots, ids, k, width)
    blocks = shares(ids, step, slots, x)
    found = sizes(ids, step, slots, blocks)
    one_by_one = {
        (s, i): share(node, step, slot, x[s, i]) for s, slot in enumerate(slots) for i, node in enumerate(ids)
    }
    assert {place: found[place] for place in one_by_one} == {
        place: len(message) for place, message in one_by_one.items()
    }
    rows = [row.tobytes() for block in blocks for row in block]
    assert sorted(rows) == sorted(one_by_one.values())
    assert sum(block.nbytes for block in blocks) == found.sum()


@LAWS
@given(IDS, SLOTS, st.integers(1, 10), st.integers(2, 4), st.randoms(use_true_random=False))
def test_changed_clusters_alone(ids, slots, k, width, chance):
    x = states(slots, ids, k, width)
    changed = np.array([chance.random() < 0.4 for _ in range(x[..., 0].size)]).reshape(x.shape[:3])
    found, encoded = changed_shares(ids, 3, slots, x, changed)
    total = 0
    for s, slot in enumerate(slots):
        for i, node in enumerate(ids):
            if not changed[s, i].any():
                assert found[s, i] == 0
                continue
            message = share(node, 3, slot, x[s, i], changed[s, i])
            assert found[s, i] == len(message)
            total += len(message)
    assert len(encoded) == total == found.sum()
    assert encoded.endswith(x[changed].tobytes())


def test_a_message_is_read_back():
    x = states([0], [9], 9, 3)[0, 0]
    changed = np.arange(9) % 4 == 1
    reader = Reader(share(9, 7, 200, x, changed))
    assert read_head(reader, SHARE) == (1, 9, 1, 7)
    assert reader.varint(1000) == 200
    mask = np.unpackbits(np.frombuffer(reader.take(2), np.uint8), bitorder="little")[:9].astype(bool)
    assert (mask == changed).all()
    assert (np.frombuffer(reader.take(4 * 3 * 2), "<f4").reshape(2, 3) == x[changed]).all()
    reader.end()
