"""A board's bytes become lines, however they are cut; nothing in them reaches the terminal as a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcka.boards.console_text import MAX_LINE_BYTES, Lines, RealNames, node_in, readable

NAMES = {
    "dcka_core.tree": {"_7": "dcka_core.tree:._take_sums", "_8": "._heard"},
    "dcka_device.link": {"_7": "dcka_device.link:._connect"},
}


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_lines_are_the_same_however_the_bytes_are_cut(pieces: list[bytes]):
    cut, whole = Lines(), Lines()
    one_by_one = [line for piece in pieces for line in cut.feed(piece)] + cut.take()
    assert one_by_one == whole.feed(b"".join(pieces)) + whole.take()


@given(st.binary(max_size=200))
def test_whatever_comes_is_printable(data: bytes):
    assert all(sign.isprintable() or sign == "\t" for sign in readable(data))


def test_carriage_returns_go_and_what_is_no_text_is_shown():
    lines = Lines()
    assert lines.feed(b"caf\xc3\xa9 \xff\r\n\x1b[2J\tx\r\n>>> ") == ["café \\xff", "\\x1b[2J\tx"]
    assert lines.begun
    assert lines.take() == [">>> "]
    assert not lines.begun and lines.take() == []


def test_a_sign_that_was_cut_in_two_by_a_read_stays_whole():
    lines = Lines()
    assert lines.feed("temp °".encode()[:-1]) == []
    assert lines.feed("°".encode()[1:] + b"C\n") == ["temp °C"]


def test_a_line_without_an_end_is_cut_and_nothing_of_it_is_lost():
    lines = Lines()
    told = lines.feed(b"x" * (2 * MAX_LINE_BYTES + 5))
    assert [len(line) for line in told] == [MAX_LINE_BYTES] * 2
    assert lines.take() == ["xxxxx"]


def test_the_line_in_which_a_node_tells_its_id():
    assert node_in("dcka: node 3 of greenhouse, boot 12, firmware 0.1.0") == (3, "greenhouse")
    assert node_in("garbage dcka: node 3 of greenhouse, boot 12, firmware 0.1.0") == (3, "greenhouse")
    assert node_in("dcka: node 3 of green house, boot 12, firmware 0.1.0") is None
    assert node_in("dcka: ready") is None


CRASH = [
    "dcka: ready",
    "_7 is not touched here",
    "Traceback (most recent call last):",
    '  File "dcka_device.link", line 1, in _7',
    '  File "dcka_core.tree", line 1, in _7',
    "AttributeError: 'Tree' object has no attribute '_8'",
    "dcka: crash: AttributeError: 'Tree' object has no attribute '_8'",
    "dcka: node 3 of _8, boot 2, firmware 0.1.0",
]


def test_a_traceback_gets_its_real_names_line_by_line_and_nothing_else_does():
    names = RealNames(NAMES)
    assert [names.line(line) for line in CRASH] == [
        *CRASH[:3],
        '  File "dcka_device.link", in _connect',
        '  File "dcka_core.tree", in _take_sums',
        "AttributeError: 'Tree' object has no attribute '_heard'",
        "dcka: crash: AttributeError: 'Tree' object has no attribute '_heard'",
        CRASH[7],
    ]


def test_a_traceback_that_was_cut_by_a_reset_does_not_touch_what_follows():
    names = RealNames(NAMES)
    for line in CRASH[2:5]:
        names.line(line)
    names.line("ets Jul 29 2019 12:21:46")
    assert names.line("rst:0x1 _7") == "rst:0x1 _7"


@pytest.mark.parametrize("lines", [CRASH[2:7] * 2, CRASH[2:4] * 60])
def test_many_tracebacks_are_translated_one_as_the_other(lines: list[str]):
    names = RealNames(NAMES)
    assert [names.line(line) for line in lines].count(
        '  File "dcka_device.link", in _connect'
    ) == lines.count(CRASH[3])
