"""The text of a network file: broken TOML, odd encodings, and the lines of its keys."""

import pytest

from dcka.config import load, parse
from dcka.config.source import key_lines
from dcka.errors import UsageError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[run]\nk 9", ["line 2, column 3", "expected '='", "k 9"]),
        ("[run]\nschedule = tree", ["line 2, column 12", "quotes", "schedule = tree"]),
        ("[run]\nk =", ["line 2", "k ="]),
        ("[run]\nk = 1\nk = 2", ["line 3", "twice", "k = 2"]),
        ("[run]\nk = 1\nk = 2\n\n\n", ["line 3", "twice"]),
        ("[run]\n[data]\n[run]\n", ["line 3", "[run] is there twice"]),
        ("[run]\nk = 1,5", ["line 2, column 6", "point", "k = 1,5"]),
        ('[run]\nschedule = "tree', ["line 2", 'schedule = "tree']),
        ("[topology]\nphases = [[[1, 2]]", ["line 2", "unclosed array", "phases"]),
        ("[run", ["line 1", "[run"]),
        ('[network]\nname = "a\\q"', ["line 2"]),
    ],
)
def test_broken_toml_is_refused_with_line_column_and_the_line_itself(text, words):
    with pytest.raises(UsageError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith("network.toml, line ")
    assert ", column " in message
    assert "\n" not in message
    for word in words:
        assert word in message


def test_lines_of_keys_are_found_past_comments_arrays_and_texts():
    text = """\
# [run]
[network]  # a comment
"name" = '''
k = 5
[data]
'''
nodes = [
  1,
  2,
]
[topology]
phases = [[
  [1, 2],
  [2, 3]
]]
root = 1
[run]
k = 5
topology.split = 2
"""
    assert key_lines(text) == {
        ("network",): 2,
        ("network", "name"): 3,
        ("network", "nodes"): 7,
        ("topology",): 11,
        ("topology", "phases"): 12,
        ("topology", "root"): 16,
        ("run",): 17,
        ("run", "k"): 18,
        ("run", "topology", "split"): 19,
    }


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf[run]\nk = 3\n", b"[run]\r\nk = 3\r\n", b"[run]\nk = 3"])
def test_byte_order_marks_and_line_endings_do_not_matter(tmp_path, raw):
    file = tmp_path / "network.toml"
    file.write_bytes(raw)
    assert load(file).run.k == 3


def test_other_encodings_are_refused_by_name(tmp_path):
    file = tmp_path / "network.toml"
    file.write_bytes('[network]\nname = "Küche"\n'.encode("latin-1"))
    with pytest.raises(UsageError, match=r"network.toml, line 2: .*0xfc.*UTF-8"):
        load(file)
    file.write_bytes("[run]\n".encode("utf-16"))
    with pytest.raises(UsageError, match="UTF-16; save it as UTF-8"):
        load(file)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"there is no .*x\.toml.*dcka init --network"):
        load(tmp_path / "x.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path)
