"""From readings to the grid, and the parts that a node loads one at a time."""

from support import raises

from dcka_core.grid import bits_for, quantise
from dcka_core.parts import part


def test_the_bits_of_a_reading():
    """The largest b with n·(2^b − 1)² < 2^31, at most 15."""
    for n in range(1, 513):
        fitting = [bits for bits in range(1, 16) if n * ((1 << bits) - 1) ** 2 < 1 << 31]
        assert bits_for(n) == max(fitting), n
    assert [bits_for(n) for n in (1, 2, 3, 8, 9, 32, 33, 128, 129, 512)] == [
        15,
        15,
        14,
        14,
        13,
        13,
        12,
        12,
        11,
        11,
    ]


def test_dimensions_that_have_no_bits():
    for n in (0, -1, 513, 1000):
        assert str(n) in str(raises(ValueError, bits_for, n))


def test_readings_are_rounded_half_up():
    # Steps that floats have exactly.
    cases = ((0.0, 0), (0.24, 0), (0.25, 1), (0.5, 1), (0.74, 1), (0.75, 2), (-0.25, 0), (16383.5, 32767))
    for value, level in cases:
        assert quantise(value, 0.0, 0.5, 15) == level, value
    assert quantise(-99.75, -100.0, 0.25, 15) == 1
    assert quantise(7, 5, 1, 15) == 2


def test_readings_beyond_the_range_are_clipped():
    for bits in (11, 15):
        top = (1 << bits) - 1
        assert quantise(1e30, 0.0, 1.0, bits) == top
        assert quantise(-1e30, 0.0, 1.0, bits) == 0
        assert quantise(top + 0.4, 0.0, 1.0, bits) == top
        assert quantise(-0.6, 0.0, 1.0, bits) == 0


def test_what_is_no_reading_is_refused():
    for text in ("nan", "inf", "-inf"):
        assert "not a reading" in str(raises(ValueError, quantise, float(text), 0.0, 1.0, 15)), text


def test_each_part_can_be_loaded_alone():
    for name in ("record", "points", "intake", "starts", "tree", "epochs", "duty", "gossip"):
        module = part(name).__name__.split(".")[1]
        assert module in (name, name + "_session")
    assert part("tree").Session is not part("gossip").Session
    assert part("") is None
