"""Output: what becomes JSON, and what is refused before a byte is out."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcka.cli import logs
from dcka.cli.output import Output


def printed(record, **settings):
    stream = io.StringIO()
    Output(json_mode=True, stdout=stream, **settings).result(record)
    assert stream.getvalue().count("\n") == 1
    return json.loads(stream.getvalue())


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(st.text(), plain, max_size=4))
def test_json_comes_out_as_it_went_in(record):
    assert printed(record) == record


def test_numpy_paths_tuples_and_sets_become_json():
    record = {
        "f4": np.float32(0.5),
        "f8": np.float64(0.25),
        "i8": np.int64(-3),
        "u2": np.uint16(65535),
        "yes": np.bool_(True),
        "array": np.arange(4).reshape(2, 2),
        "path": Path("a") / "b",
        "tuple": (1, (2, 3)),
        "set": {3, 1, 2},
        "ids": {1: "a", 2: "b"},
    }
    assert printed(record) == {
        "f4": 0.5,
        "f8": 0.25,
        "i8": -3,
        "u2": 65535,
        "yes": True,
        "array": [[0, 1], [2, 3]],
        "path": str(Path("a") / "b"),
        "tuple": [1, [2, 3]],
        "set": [1, 2, 3],
        "ids": {"1": "a", "2": "b"},
    }


@pytest.mark.parametrize(
    ("record", "error", "words"),
    [
        ({"ssd": float("nan")}, ValueError, "ssd is nan"),
        ({"gossip": {"ssd": [1.0, float("inf")]}}, ValueError, r"gossip\.ssd\[1\] is inf"),
        ({"ssd": np.float64("-inf")}, ValueError, "ssd is -inf"),
        ({"centres": np.array([1.0, np.nan])}, ValueError, r"centres\[1\] is nan"),
        ({"node": object()}, TypeError, "node is a object"),
        ({"raw": b"x"}, TypeError, "raw is a bytes"),
        ({"by": {(1, 2): 3}}, TypeError, r"by has the name \(1, 2\)"),
    ],
)
@pytest.mark.parametrize("json_mode", [True, False])
def test_what_json_cannot_hold_is_refused_with_its_place_and_nothing_is_printed(
    record, error, words, json_mode
):
    stream = io.StringIO()
    with pytest.raises(error, match=words):
        Output(json_mode=json_mode, stdout=stream).result(record)
    assert stream.getvalue() == ""


def test_a_second_object_is_a_fault():
    output = Output(json_mode=True, stdout=io.StringIO())
    output.result({})
    with pytest.raises(RuntimeError, match="second result"):
        output.result({})


def test_people_get_the_text_or_a_key_a_line():
    stream = io.StringIO()
    output = Output(stdout=stream)
    output.result({"a": 1}, "one apple")
    output.result({"a": np.int64(1), "b": (2, 3)})
    assert stream.getvalue() == "one apple\na: 1\nb: [2, 3]\n"


def test_long_words_are_not_wrapped_and_details_wait_for_verbose(capsys):
    line = "word " * 60 + "[bold]end[/bold]"
    Output().say(line)
    Output().detail("hidden")
    with logs.listening():
        logs.set_level("debug")
        Output().detail("shown")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == line + "\nshown\n"
