"""What a window of `gossip` floods: levels of the own mass, merged as sets and extremes are, and the decision."""

from support import raises

from dcka_core.codec import Reader
from dcka_core.errors import MessageError
from dcka_core.spread import Spread
from dcka_core.starts import Stream

K, N, SIZE = 3, 2, 4
EVERYONE = 15
# 256 levels a grid step, 15 bits of grid steps.
TOP = 1 << 23


def begun(mass, ready=0, moved=False):
    spread = Spread(K, N, SIZE)
    spread.begin(mass, ready, moved)
    return spread


def drawn(stream):
    """A node's window: some clusters without mass."""
    mass = []
    for _ in range(K):
        below = stream.below(1000) << 10 if stream.below(3) else 0
        mass.extend([below] + [below * stream.below(32768) for _ in range(N)])
    return begun(mass, stream.below(EVERYONE + 1), stream.below(2) == 1)


def written(spread, current=True):
    out = bytearray()
    spread.put(out, current)
    return bytes(out)


def heard(spread, payload):
    reader = Reader(payload)
    spread.read(reader, True)
    reader.end()
    return spread


def state(spread):
    return (spread.low, spread.high, spread.ready, spread.lacking, spread.moved)


def merged(windows):
    """An empty window that hears these."""
    spread = Spread(K, N, SIZE)
    for window in windows:
        heard(spread, written(window))
    return state(spread)


def test_the_levels_of_the_own_mass():
    spread = begun([4, 10, 7, 0, 0, 0, 3, 1, 98301], 5, True)
    assert spread.low == [640, 448, -1, -1, 85, 32767 * 256]
    assert spread.high == spread.low
    assert (spread.ready, spread.lacking, spread.moved) == (5, 0b010, True)


def test_a_ratio_above_the_grid_is_a_level_that_neighbours_take():
    """Floors can lift the ratio of tiny masses above the grid."""
    spread = begun([1, 70000, 32768, 2, 65535, 65537, 1, 1 << 60, 0])
    assert spread.high == [TOP, TOP, 32767 * 256 + 128, TOP, TOP, 0]
    assert state(heard(Spread(K, N, SIZE), written(spread)))[:2] == (spread.low, spread.high)


def test_a_window_is_read_as_it_was_written():
    stream = Stream(1, b"spread")
    for _ in range(40):
        spread = drawn(stream)
        assert merged([spread]) == state(spread)


def test_a_window_that_is_over_says_nothing():
    before = drawn(Stream(2, b"spread"))
    after = heard(drawn(Stream(2, b"spread")), written(drawn(Stream(3, b"spread")), False))
    assert state(after) == state(before)


def test_neither_order_nor_repetition_matters():
    stream = Stream(4, b"spread")
    for _ in range(15):
        a, b, c = drawn(stream), drawn(stream), drawn(stream)
        whole = merged([a, b, c])
        assert merged([c, a, b]) == whole
        assert merged([b, a, b, c, a]) == whole
        between = heard(heard(Spread(K, N, SIZE), written(b)), written(c))
        assert merged([a, between]) == whole


def test_reading_without_merging_changes_nothing():
    spread = drawn(Stream(5, b"spread"))
    before = [list(part) if isinstance(part, list) else part for part in state(spread)]
    reader = Reader(written(drawn(Stream(6, b"spread"))))
    spread.read(reader, False)
    reader.end()
    assert list(state(spread)) == before


def test_what_is_malformed_is_refused():
    payload = written(begun([4, 10, 7, 0, 0, 0, 3, 1, 98301], 5, True))
    for size in range(len(payload)):
        spread = Spread(K, N, SIZE)
        assert raises(MessageError, spread.read, Reader(payload[:size]), False).reason == "length", size
    # The byte after the two sets says whether somebody has moved.
    place = payload.index(b"\x01\x81\x05")
    for moved in (2, 255):
        wrong = payload[:place] + bytes([moved]) + payload[place + 1 :]
        assert raises(MessageError, Spread(K, N, SIZE).read, Reader(wrong), False).reason == "value"


def test_a_step_is_settled_when_all_are_ready_and_agree():
    agree = begun([4, 400, 400, 0, 0, 0, 4, 400, 400], EVERYONE)
    # The cluster without mass anywhere doesn't hinder.
    assert agree.settled(0)
    for missing in range(SIZE):
        agree.ready = EVERYONE & ~(1 << missing)
        assert not agree.settled(1000), missing


def test_a_step_is_settled_within_the_tolerance_only():
    spread = begun([4, 400, 400, 1, 7, 7, 4, 400, 400], EVERYONE)
    heard(spread, written(begun([4, 400, 400, 1, 7, 8, 4, 400, 400])))
    assert not spread.settled(255)
    assert spread.settled(256)


def test_a_cluster_with_mass_at_some_nodes_only_is_not_settled():
    mass = [4, 400, 400, 1, 7, 7, 4, 400, 400]
    spread = heard(begun(mass, EVERYONE), written(begun(mass[:3] + [0, 0, 0] + mass[6:])))
    assert not spread.settled(TOP)
    assert heard(begun(mass, EVERYONE), written(begun(mass))).settled(0)
